package forecast

import (
	"bytes"
	"compress/gzip"
	"math"
	"strings"
	"testing"
	"time"
)

func TestTableKeepsGapsAsMissing(t *testing.T) {
	text := "t_s,cpu_util_percent,requests,note\n100,50,60,a\n110,,120,b\n140,20,30,c\n"
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(text)); err != nil || z.Close() != nil {
		t.Fatal("gzip")
	}
	for name, file := range map[string]string{"plain": text, "gzip": zipped.String()} {
		t.Run(name, func(t *testing.T) {
			f, err := ReadTable(strings.NewReader(file), name, TableOptions{Columns: []string{"cpu_util_percent", "requests"}})
			if err != nil {
				t.Fatal(err)
			}
			if f.Step != 10*time.Second || f.Start.Unix() != 100 || f.Bins() != 5 || f.Missing() != 3 {
				t.Fatalf("%+v, %d missing", f, f.Missing())
			}
			if f.Rows[0][0] != 0.5 || f.Rows[0][1] != 6 || !math.IsNaN(f.Rows[1][0]) || f.Rows[1][1] != 12 ||
				!math.IsNaN(f.Rows[2][1]) || f.Rows[4][0] != 0.2 {
				t.Errorf("%v", f.Rows)
			}
		})
	}
}

func TestTableWithoutTimes(t *testing.T) {
	f, err := ReadTable(strings.NewReader("a,b\n1,2\n3,4\n"), "x", TableOptions{Columns: []string{"b"}, Period: 5 * time.Minute})
	if err != nil || f.Step != 5*time.Minute || f.Rows[1][0] != 4 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestBadTablesAreRefused(t *testing.T) {
	for name, row := range map[string]struct{ file, want string }{
		"empty":                {"", "header"},
		"no time":              {"rps\n1\n", "t_s"},
		"no load":              {"t_s,x\n0,1\n", "name the column"},
		"one row":              {"t_s,rps\n0,1\n", "two rows"},
		"unsorted":             {"t_s,rps\n0,1\n10,1\n5,1\n", "line 4"},
		"a word":               {"t_s,rps\n0,1\n10,many\n", `"many"`},
		"off the grid":         {"t_s,rps\n0,1\n10,1\n25,1\n", "off the grid"},
		"a time without bound": {"t_s,rps\n0,1\n1e300,1\n", "time in seconds"},
		"too many bins":        {"t_s,rps\n0,1\n0.001,1\n8e9,1\n", "at most"},
		"an infinite value":    {"t_s,rps\n0,1\n10,Inf\n", "finite"},
		"a row too short":      {"t_s,rps\n0,1\n10\n", "line 3"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadTable(strings.NewReader(row.file), "x.csv", TableOptions{})
			if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "x.csv") {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
	_, err := ReadTable(strings.NewReader("t_s,rps\n0,1\n10,1\n"), "x", TableOptions{Columns: []string{"rp"}})
	if err == nil || !strings.Contains(err.Error(), `did you mean "rps"`) {
		t.Errorf("%v", err)
	}
}

func FuzzReadTable(f *testing.F) {
	f.Add("t_s,rps\n0,1\n60,2\n180,\n")
	f.Add("t_s,rps\n-5,1\n1e9,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		frame, err := ReadTable(strings.NewReader(text), "x", TableOptions{})
		if err == nil && frame.Validate() != nil {
			t.Fatalf("a frame with faults was read: %v", frame.Validate())
		}
	})
}

func TestResampleLeavesHolesHoles(t *testing.T) {
	nan := math.NaN()
	f := NewFrame("x", epoch, time.Minute, []float64{1, 3, nan, 5, nan, nan, 7})
	got, err := f.Resample(2 * time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if got.Bins() != 3 || got.Rows[0][0] != 2 || got.Rows[1][0] != 5 || !math.IsNaN(got.Rows[2][0]) {
		t.Errorf("%v", got.Rows)
	}
	if _, err := f.Resample(90 * time.Second); err == nil {
		t.Error("a step that is not a multiple was taken")
	}
}

func TestFaultsAreNamedAtOnce(t *testing.T) {
	err := Task{Horizons: []int{3, 2}, Levels: []float64{0.1}, Season: 1}.Validate()
	for _, want := range []string{"horizons", "levels", "season"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if err := (Frame{Rows: [][]float64{{1}}}).Validate(); err == nil || !strings.Contains(err.Error(), "step") ||
		!strings.Contains(err.Error(), "series") {
		t.Errorf("%v", err)
	}
	if err := NewFrame("x", epoch, time.Minute, []float64{math.Inf(1)}).Validate(); err == nil {
		t.Error("an infinite sample was taken")
	}
}
