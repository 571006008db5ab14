package pool

import (
	"math"
	"reflect"
	"testing"
)

func TestParsePrices(t *testing.T) {
	want := Prices{Currency: "EUR", CoreHour: 0.03, GiBHour: 0.004, Instances: map[string]float64{"m5.xlarge": 0.2, "e2-standard-4": 0.1}}
	got, err := ParsePrices("core=0.03,gib=0.004,m5.xlarge=0.2,e2-standard-4=0.1,currency=EUR")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v (%v), want %+v", got, err, want)
	}
	file := "core_hour: 0.03\ngib_hour: 0.004\ncurrency: EUR\ninstances:\n  m5.xlarge: 0.2\n  e2-standard-4: 0.1\n"
	if got, err = ReadPrices([]byte(file), "p.yaml"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("from a file: %+v (%v), want %+v", got, err, want)
	}
	if again, err := ParsePrices(got.String()); err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("it is written as %s, which is read as %+v (%v)", got, again, err)
	}
}

func TestWrongPricesAreRefused(t *testing.T) {
	for _, row := range []refusal{
		{"every fault at once", "core=0,gb=0.1,m5.xlage=0.2,m5.large=cheap,r5.large=-1,currency=euro", []string{
			"core=0: must be a number from 1e-06 to 10000", `unknown key "gb"; did you mean "gib"?`,
			`unknown key "m5.xlage"; did you mean "m5.xlarge"?`, "m5.large=cheap: must be a number", "r5.large=-1: must be a number",
			"currency=euro: must be three capital letters, such as EUR"}},
		{"empty", "", []string{`"" must be key=value`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := ParsePrices(row.text)
			row.check(t, err)
		})
	}
	for _, row := range []refusal{
		{"every fault of a file", "core_hours: 1\ngib_hour: x\ninstances: {m5.hug: 1, m5.large: 0}\ncurrency: e\n", []string{
			`prices in p.yaml: unknown key "core_hours"; did you mean "core_hour"?`, "gib_hour=x: must be a number",
			`unknown instance type "m5.hug"`, "m5.large=0: must be a number", "currency=e"}},
		{"a list of instances", "instances: [m5.large]\n", []string{"line 1: instances must be a map"}},
		{"an empty file", "", []string{"the file is empty"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := ReadPrices([]byte(row.text), "p.yaml")
			row.check(t, err)
		})
	}
	if _, err := ReadPrices([]byte("- core_hour"), "p.yaml"); err == nil {
		t.Error("a list was accepted")
	}
}

func TestPriceOf(t *testing.T) {
	m5, _ := TypeNamed("m5.xlarge")
	own := Type{Name: "own", Cores: 4, Memory: 16 * gib}
	for _, row := range []struct {
		name   string
		prices Prices
		of     Type
		want   float64
	}{
		{"the list price", Prices{}, m5, 0.192},
		{"the price table wins", Prices{Instances: map[string]float64{"m5.xlarge": 0.1}}, m5, 0.1},
		{"by cores and memory, which is N2's price", Prices{}, own, 0.194236},
		{"by other prices of cores and memory", Prices{CoreHour: 1, GiBHour: 0.5}, own, 12},
	} {
		if got := row.prices.Of(row.of); math.Abs(got-row.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

// N2 is priced by cores and memory: the table agrees with its unit prices.
func TestListPricesAgree(t *testing.T) {
	for _, name := range []string{"n2-standard-8", "n2-highcpu-8", "n2-highmem-8"} {
		listed, _ := TypeNamed(name)
		computed := listed
		computed.Price = 0
		if a, b := (Prices{}).Of(listed), (Prices{}).Of(computed); math.Abs(a-b) > 1e-6 {
			t.Errorf("%s is listed at %v, and its cores and memory cost %v", name, a, b)
		}
	}
}

func FuzzParsePrices(f *testing.F) {
	f.Add("core=0.03,gib=0.004,m5.xlarge=0.2,currency=EUR")
	f.Add("c5.large=1e-3")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePrices(text)
		if err != nil {
			return
		}
		again, err := ParsePrices(p.String())
		if p.String() != "" && (err != nil || !reflect.DeepEqual(again, p)) {
			t.Errorf("%q is written as %q, which is read as %+v (%v), not %+v", text, p, again, err, p)
		}
	})
}

func FuzzReadPrices(f *testing.F) {
	f.Add([]byte("core_hour: 0.03\ncurrency: EUR\ninstances:\n  m5.xlarge: 0.2\n"))
	f.Add([]byte("instances: [1]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := ReadPrices(text, "p.yaml"); err == nil {
			if err := (Cluster{Prices: p}).Validate(); err != nil {
				t.Errorf("%q was accepted, and is refused later: %v", text, err)
			}
		}
	})
}
