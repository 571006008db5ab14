package workload

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every format passes this suite.
func TestEveryFormat(t *testing.T) {
	covered := map[string]bool{}
	for _, f := range fixtures() {
		covered[f.format] = true
		t.Run(f.format, func(t *testing.T) {
			t.Run("is detected and read", func(t *testing.T) {
				s := mustSeries(t, f.text, Options{})
				if s.Report.Format != f.format {
					t.Errorf("detected %s", s.Report.Format)
				}
				if s.Unit != f.unit || s.Step != f.step {
					t.Errorf("got %v every %v, want %v every %v", s.Unit, s.Step, f.unit, f.step)
				}
				sameValues(t, s.Values, f.values)
			})
			t.Run("is the same when named", func(t *testing.T) {
				sameValues(t, mustSeries(t, f.text, Options{Format: f.format}).Values, f.values)
			})
			t.Run("is the same packed", func(t *testing.T) {
				sameValues(t, mustSeries(t, string(packed(f.text)), Options{}).Values, f.values)
			})
			t.Run("is the same with Windows line ends and a byte order mark", func(t *testing.T) {
				text := strings.ReplaceAll(strings.ReplaceAll(f.text, "\r\n", "\n"), "\n", "\r\n")
				sameValues(t, mustSeries(t, "\ufeff"+text, Options{}).Values, f.values)
			})
			t.Run("is the same in reads of one byte", func(t *testing.T) {
				s, err := ReadSeries(iotestOneByte{strings.NewReader(f.text)}, f.format, Options{})
				if err != nil {
					t.Fatal(err)
				}
				sameValues(t, s.Values, f.values)
			})
			t.Run("selects", func(t *testing.T) {
				if f.one == "" {
					expectFault(t, f.text, Options{Select: "x"}, "select")
					return
				}
				sameValues(t, mustSeries(t, f.text, Options{Select: f.one}).Values, f.oneValues)
				expectFault(t, f.text, Options{Select: "nobody"}, "select")
				expectFault(t, f.text, Options{Select: "nowhere=1"}, "select")
			})
			t.Run("becomes requests only with what it needs", func(t *testing.T) {
				_, _, err := Read(strings.NewReader(f.text), f.format, Options{})
				if (err == nil) != (f.unit == Requests) {
					t.Errorf("without options: %v", err)
				}
				w, _, err := Read(strings.NewReader(f.text), f.format, f.options)
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Validate(); err != nil {
					t.Error(err)
				}
			})
			t.Run("names the field of a bad row, and may skip it", func(t *testing.T) {
				text := strings.TrimRight(f.text, "\r\n") + "\n" + f.bad + "\n"
				fault := expectFault(t, text, Options{}, f.badField)
				if want := strings.Count(text, "\n"); fault.Line != want {
					t.Errorf("line %d, want %d", fault.Line, want)
				}
				s := mustSeries(t, text, Options{SkipBad: true})
				sameValues(t, s.Values, f.values)
				if s.Report.Bad != 1 {
					t.Errorf("%d bad rows counted", s.Report.Bad)
				}
			})
			t.Run("refuses what is cut short", func(t *testing.T) {
				whole := packed(f.text)
				_, err := ReadSeries(bytes.NewReader(whole[:len(whole)-9]), f.format, Options{})
				if err == nil || !strings.Contains(err.Error(), "truncated") {
					t.Errorf("truncated gzip: %v", err)
				}
			})
			t.Run("refuses text that is not UTF-8", func(t *testing.T) {
				expectFault(t, f.text+"\xff\xfe\n", Options{Format: f.format}, "byte 1")
			})
			t.Run("refuses rows of the wrong width", func(t *testing.T) {
				if !strings.HasPrefix(f.text, "{") {
					expectFault(t, f.text+"1\n", Options{}, "columns")
				}
			})
			t.Run("refuses a file without rows", func(t *testing.T) {
				if _, err := ReadSeries(strings.NewReader(""), f.format, Options{Format: f.format}); err == nil {
					t.Error("an empty file was read")
				}
				head, _, _ := strings.Cut(f.text, "\n")
				if detect([][]byte{[]byte(head)}) != nil && slices.Contains([]string{"csv", "azure2021"}, f.format) {
					if _, err := ReadSeries(strings.NewReader(head), f.format, Options{}); err == nil {
						t.Error("a header alone was read")
					}
				}
			})
			t.Run("lists many faults briefly", func(t *testing.T) {
				text := strings.TrimRight(f.text, "\r\n") + "\n" + strings.Repeat(f.bad+"\n", 1000)
				_, err := ReadSeries(strings.NewReader(text), f.format, Options{})
				var faults *Faults
				if !errors.As(err, &faults) || len(faults.List) != maxFaults || faults.More < 1000-maxFaults {
					t.Errorf("got %v", err)
				}
			})
			t.Run("takes a longer step", func(t *testing.T) {
				s := mustSeries(t, f.text, Options{Step: 2 * f.step, Gaps: GapsZero})
				if s.Step != 2*f.step {
					t.Errorf("step %v", s.Step)
				}
			})
		})
	}
	for _, name := range formatNames() {
		if !covered[name] {
			t.Errorf("no fixture for %s", name)
		}
	}
}

func mustSeries(t *testing.T, text string, o Options) *Series {
	t.Helper()
	s, err := ReadSeries(strings.NewReader(text), "test", o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func expectFault(t *testing.T, text string, o Options, field string) Fault {
	t.Helper()
	_, err := ReadSeries(strings.NewReader(text), "test", o)
	var faults *Faults
	if !errors.As(err, &faults) {
		t.Fatalf("want a fault in %s, got %v", field, err)
	}
	for _, f := range faults.List {
		if f.Field == field {
			return f
		}
	}
	t.Fatalf("want a fault in %s, got %v", field, err)
	return Fault{}
}

func sameValues(t *testing.T, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d values, want %d", len(got), len(want))
	}
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Fatalf("value %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func packed(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.Bytes()
}

type iotestOneByte struct{ r *strings.Reader }

func (o iotestOneByte) Read(p []byte) (int, error) {
	if len(p) > 1 {
		p = p[:1]
	}
	return o.r.Read(p)
}

func TestGapsAreRefusedByDefault(t *testing.T) {
	text := "m_1,0,50,1,,,1,1,1\nm_1,30,70,1,,,1,1,1\n"
	fault := expectFault(t, text, Options{}, "time")
	if fault.Value != "10s to 30s" {
		t.Errorf("gap at %s", fault.Value)
	}
	sameValues(t, mustSeries(t, text, Options{Gaps: GapsHold}).Values, []float64{0.5, 0.5, 0.5, 0.7})
	sameValues(t, mustSeries(t, text, Options{Gaps: GapsZero}).Values, []float64{0.5, 0, 0, 0.7})
	sameValues(t, mustSeries(t, text, Options{Step: 20 * time.Second}).Values, []float64{0.5, 0.7})
}

func TestSumOfInstancesIsNotHalvedByALongerStep(t *testing.T) {
	text := "timestamp,msname,msinstanceid,metric,value\n0,a,1,HTTP_MCR,10\n0,a,2,HTTP_MCR,20\n60000,a,1,HTTP_MCR,50\n"
	sameValues(t, mustSeries(t, text, Options{Step: 2 * time.Minute}).Values, []float64{40})
	sameValues(t, mustSeries(t, text, Options{Combine: CombineMean}).Values, []float64{15, 50})
}

func TestStrayTimeIsAFaultNotGigabytes(t *testing.T) {
	expectFault(t, "app,func,end_timestamp,duration\na,f,1,0\na,f,8000000000,0\n", Options{Step: time.Second}, "time")
}
