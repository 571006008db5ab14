package pool

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseNeighbours(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       Neighbours
	}{
		{"the issue's", "use=0.7,request=0.6,memory=0.5", Neighbours{Use: 0.7, Request: 0.6, Memory: 0.5}},
		{"requests are as the use", "use=0.85", Neighbours{Use: 0.85, Request: 0.85}},
		{"they want more than there is", "use=1.5", Neighbours{Use: 1.5, Request: 0.95}},
		{"requests of nothing", "use=0.5,request=0", Neighbours{Use: 0.5}},
		{"requests without use", "request=0.5,shape=constant", Neighbours{Request: 0.5}},
		{"a wave of an hour", "use=0.5,shape=diurnal,period=1h", Neighbours{Use: 0.5, Request: 0.5, Shape: Diurnal(time.Hour)}},
		{"their manners", "use=0.5,vary=0.3,burst=100ms,pods-per-core=2",
			Neighbours{Use: 0.5, Request: 0.5, Vary: 0.3, Burst: 100 * time.Millisecond, PodsPerCore: 2}},
		{"steady", "use=0.5,vary=0,burst=0s", Neighbours{Use: 0.5, Request: 0.5, Vary: -1, Burst: -1}},
		{"a file", "use=0.5,shape=office.csv", Neighbours{Use: 0.5, Request: 0.5, Shape: Shape{Name: "office.csv"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := ParseNeighbours(row.text)
			if err != nil || !reflect.DeepEqual(got, row.want) {
				t.Fatalf("%s is %+v (%v), want %+v", row.text, got, err, row.want)
			}
			if again, err := ParseNeighbours(got.String()); err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("it is written as %s, which is read as %+v (%v)", got, again, err)
			}
		})
	}
}

func TestWrongNeighboursAreRefused(t *testing.T) {
	for _, row := range []refusal{
		{"empty", "", []string{`"" must be key=value`}},
		{"every fault at once", "use=3,requests=0.5,memory=half,period=1h", []string{"use=3: must be a number from 0 to 2",
			`unknown key "requests"; did you mean "request"?`, "memory=half: must be a number from 0 to 0.95",
			"period is of shape=diurnal, and the shape is constant"}},
		{"wrong manners", "use=0.5,vary=-1,burst=1m,pods-per-core=0", []string{"vary=-1: must be a number from 0 to 2",
			"burst=1m: must be a time from 0s to 10s", "pods-per-core=0: must be a number from 0.1 to 100"}},
		{"a full node", "use=0.5,request=1", []string{"request=1: must be a number from 0 to 0.95"}},
		{"a wrong period", "use=0.5,shape=diurnal,period=1s", []string{"period=1s: must be a time from 1m to 168h"}},
		{"no shape", "use=0.5,shape=", []string{"shape=: must be constant, diurnal or the name of a file"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := ParseNeighbours(row.text)
			row.check(t, err)
		})
	}
}

func TestDiurnal(t *testing.T) {
	s := Diurnal(24 * time.Hour)
	mean := 0.0
	for _, f := range s.Factor {
		mean += f / float64(len(s.Factor))
	}
	if math.Abs(mean-1) > 1e-12 {
		t.Errorf("the mean is %v", mean)
	}
	if night, noon, next := s.At(0), s.At(12*time.Hour), s.At(24*time.Hour); night > 0.51 || noon < 1.49 || next != night {
		t.Errorf("midnight %v, noon %v, next midnight %v", night, noon, next)
	}
}

func TestReadShape(t *testing.T) {
	got, err := ReadShape(strings.NewReader("time_s,factor\n0,1\n30,2\n60,3\n"), "f.csv")
	want := Shape{Name: "f.csv", Step: 30 * time.Second, Factor: []float64{0.5, 1, 1.5}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v (%v), want %+v", got, err, want)
	}
	for _, row := range []refusal{
		{"other columns", "t,f\n0,1\n", []string{"f.csv: line 1: must have the columns time_s,factor"}},
		{"nothing", "", []string{"f.csv: line 1"}},
		{"every wrong row", "time_s,factor\n5,1\n30,-1\n70,x\n", []string{"line 2: time_s=5", "line 3: factor=-1", "line 4: time_s=70",
			"line 4: factor=x"}},
		{"a row too short", "time_s,factor\n0,1\n30\n", []string{"wrong number of fields"}},
		{"one row", "time_s,factor\n0,1\n", []string{"f.csv: 1 rows with a sum of 1: must be at least two"}},
		{"only zeros", "time_s,factor\n0,0\n30,0\n", []string{"some factor above 0"}},
		{"time stands still", "time_s,factor\n0,1\n0,1\n", []string{"line 3: time_s=0: must begin with 0 and go on in equal steps"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := ReadShape(strings.NewReader(row.text), "f.csv")
			row.check(t, err)
		})
	}
}

func FuzzParseNeighbours(f *testing.F) {
	for _, text := range []string{"use=0.7,request=0.7,memory=0.5", "use=0.5,shape=diurnal,period=1h", "use=1,shape=x.csv", "request=0.1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseNeighbours(text)
		if err != nil || n.String() == "" {
			return
		}
		again, err := ParseNeighbours(n.String())
		if err != nil || !reflect.DeepEqual(again, n) {
			t.Errorf("%q is written as %q, which is read as %+v (%v), not %+v", text, n, again, err, n)
		}
	})
}

func FuzzReadShape(f *testing.F) {
	f.Add("time_s,factor\n0,1\n30,2\n60,3\n")
	f.Add("time_s,factor\n0,1\n0,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadShape(strings.NewReader(text), "f.csv")
		if err != nil {
			return
		}
		mean := 0.0
		for _, x := range s.Factor {
			mean += x / float64(len(s.Factor))
		}
		if s.Step <= 0 || !(math.Abs(mean-1) < 1e-6) {
			t.Errorf("%q: step %v, mean %v", text, s.Step, mean)
		}
	})
}
