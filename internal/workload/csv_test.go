package workload

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func TestPlainCSV(t *testing.T) {
	for _, c := range []struct {
		name, text string
		options    Options
		want       []float64
	}{
		{"a rate is a rate", "t_s,rps\n0,5\n60,6\n", Options{}, []float64{5, 6}},
		{"a count is divided by its bin", "t_s,requests\n0,60\n60,120\n", Options{}, []float64{1, 2}},
		{"other columns are left alone", "t_s,invocations,avg\n0,60,x\n60,120,y\n", Options{}, []float64{1, 2}},
		{"time may begin anywhere", "t_s,rps\n1700000000,5\n1700000001,6\n", Options{}, []float64{5, 6}},
		{"fields may be quoted", "\"t_s\",\"rps\"\n\"0\",\"5\"\n1,6\n", Options{}, []float64{5, 6}},
		{"blank lines are nothing", "t_s,rps\n0,5\n\n1,6\n\n", Options{}, []float64{5, 6}},
		{"a gap may be held", "t_s,rps\n0,5\n1,6\n4,7\n5,8\n", Options{Gaps: GapsHold}, []float64{5, 6, 6, 6, 7, 8}},
		{"a gap may be nothing", "t_s,rps\n0,5\n1,6\n4,7\n5,8\n", Options{Gaps: GapsZero}, []float64{5, 6, 0, 0, 7, 8}},
		{"kinds add up", "t_s,rps:a,rps:b\n0,5,1\n1,6,2\n", Options{}, []float64{6, 8}},
		{"longer bins are means", "t_s,rps\n0,5\n1,6\n2,7\n3,8\n", Options{Step: 2 * time.Second}, []float64{5.5, 7.5}},
		{"sorted fractions of a second", "t_s,rps\n0,5\n0.1,6\n0.2,7\n0.3,8\n", Options{}, []float64{5, 6, 7, 8}},
	} {
		t.Run(c.name, func(t *testing.T) { sameValues(t, mustSeries(t, c.text, c.options).Values, c.want) })
	}
}

func TestPlainCSVFaults(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // parts of the message, all required
	}{
		{"unsorted", "t_s,rps\n0,5\n1,6\n2,6\n1.5,6\n3,1\n4,1\n",
			[]string{`test: line 5: t_s: "1.5" must be later than the row before (2)`}},
		{"duplicate", "t_s,rps\n0,5\n1,6\n1,6\n2,7\n", []string{`line 4: t_s: "1" must come once`}},
		{"gap", "t_s,rps\n0,5\n1,6\n3,6\n4,6\n", []string{`line 4: t_s: "3" must be 2: there is a gap`}},
		{"uneven", "t_s,rps\n0,5\n1,6\n2.5,6\n3.5,6\n", []string{`line 4: t_s: "2.5" must be 2: rows are 1 s apart`}},
		{"every fault at once", "t_s,rps\n0,NaN\n1,-1\nx,3\n2,Inf\n3,\n4,1e999\n", []string{
			`line 2: rps: "NaN"`, `line 3: rps: "-1"`, `line 4: t_s: "x"`, `line 5: rps: "Inf"`, `line 6: rps: must be a number`,
			`line 7: rps: "1e999"`}},
		{"no value column", "t_s,hits\n0,1\n", []string{"columns", "must have a column rps"}},
		{"two value columns", "t_s,rps,requests\n0,1,1\n", []string{"must have one of"}},
		{"one row", "t_s,rps\n0,1\n", []string{"two rows"}},
		{"unknown layout", "a,b\n1,2\n", []string{"must be a known layout"}},
		{"open quote", "t_s,rps\n0,\"1\n", []string{"quote"}},
		{"hex is not a number", "t_s,rps\n0,0x10\n1,1_0\n", []string{`"0x10"`, `"1_0"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadSeries(strings.NewReader(c.text), "test", Options{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in:\n%v", part, err)
				}
			}
		})
	}
}

func TestFilledGapsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("t_s,rps\n")
	for i := range 30 {
		fmt.Fprintf(&b, "%d,1\n", i)
	}
	for i := range 20 {
		fmt.Fprintf(&b, "%d,1\n", 100*(i+1))
	}
	fault := expectFault(t, b.String(), Options{Gaps: GapsHold, mostBins: 1000}, "t_s")
	if !strings.Contains(fault.Want, "within 1000 bins") {
		t.Error(fault)
	}
}

func TestKindColumnsAreAMix(t *testing.T) {
	w, _, err := Read(strings.NewReader("t_s,rps:query,rps:buy\n0,30,10\n1,0,0\n2,5,15\n"), "test", Options{})
	if err != nil {
		t.Fatal(err)
	}
	load, err := w.For(twoKinds())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][2]float64{{10, 30}, {0, 0}, {15, 5}} {
		buy, _ := load.Rate(0, time.Duration(i)*time.Second)
		query, _ := load.Rate(1, time.Duration(i)*time.Second)
		if buy != want[0] || query != want[1] {
			t.Errorf("bin %d: buy %v query %v, want %v", i, buy, query, want)
		}
	}
}

// Times are checked even where values are bad, so that one message lists all faults.
func TestPlainCSVReportsTimesAndValuesTogether(t *testing.T) {
	_, err := ReadSeries(strings.NewReader("t_s,rps\n0,1\n0,2\nx,3\n60,NaN\n30,-4\n"), "bad.csv", Options{})
	if err == nil {
		t.Fatal("no fault found")
	}
	for _, want := range []string{`line 3: t_s: "0" must come once`, `line 4: t_s: "x"`, `line 5: rps: "NaN"`, `line 6: rps: "-4"`,
		`line 6: t_s: "30" must be later`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is missing from:\n%v", want, err)
		}
	}
}

func TestGapsMayBeLeftOpenInASeriesOnly(t *testing.T) {
	const text = "t_s,rps\n0,10\n60,20\n180,5\n"
	s, err := ReadSeries(strings.NewReader(text), "a.csv", Options{Gaps: GapsAbsent})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Values) != 4 || !math.IsNaN(s.Values[2]) || s.Values[3] != 5 || s.Report.Filled != 0 {
		t.Errorf("values %v, %d filled", s.Values, s.Report.Filled)
	}
	if _, _, err := Read(strings.NewReader(text), "a.csv", Options{Gaps: GapsAbsent}); err == nil || !strings.Contains(err.Error(),
		"must be hold or zero") {
		t.Errorf("error %v: a workload has no gaps", err)
	}
}
