package importer

import (
	"compress/gzip"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/workload"
)

// files writes "name: text" files and imports them.
func files(t *testing.T, o Options, texts ...string) (*history.History, error) {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for _, text := range texts {
		name, body, _ := strings.Cut(text, "\n")
		path := filepath.Join(dir, strings.TrimSpace(name))
		if err := os.WriteFile(path, []byte(body), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return Files(paths, o)
}

func value(t *testing.T, h *history.History, service string, m history.ServiceMetric, step int) (float64, bool) {
	t.Helper()
	s := h.Service(service)
	if s == nil {
		t.Fatalf("no service %s", service)
	}
	return s.Series[m].Get(step)
}

func expect(t *testing.T, h *history.History, service string, m history.ServiceMetric, step int, want float64) {
	t.Helper()
	got, present := value(t, h, service, m, step)
	if math.IsNaN(want) {
		if present {
			t.Errorf("%s of %s is %v at step %d, want it absent", m, service, got, step)
		}
		return
	}
	if !present || math.Abs(got-want) > 1e-6*math.Max(1, want) {
		t.Errorf("%s of %s is %v (present %v) at step %d, want %v", m, service, got, present, step, want)
	}
}

var absent = math.NaN()

func TestAColumnPerMetric(t *testing.T) {
	h, err := files(t, Options{}, `services.csv
time,service,rate,latency_p99_ms,cpu_m,memory_mib,throttled_percent,ready,colour
2026-03-01T00:00:15Z,web,41.5,87,310,100,5,2,red
2026-03-01T00:00:30Z,web,0,,325,,NaN,2,
2026-03-01T00:01:00Z,web,40,90,-,1,0,3,blue
2026-03-01T00:00:30Z,shop,7,,,,,,
`)
	if err != nil {
		t.Fatal(err)
	}
	if h.Step != 15*time.Second || h.Steps != 4 || !h.Start.Equal(time.Date(2026, 3, 1, 0, 0, 15, 0, time.UTC)) {
		t.Fatalf("%d steps of %v from %v", h.Steps, h.Step, h.Start)
	}
	expect(t, h, "web", history.Rate, 0, 41.5)
	expect(t, h, "web", history.Rate, 1, 0) // measured
	expect(t, h, "web", history.Rate, 2, absent)
	expect(t, h, "web", history.LatencyP99, 0, 0.087)
	expect(t, h, "web", history.LatencyP99, 1, absent)
	expect(t, h, "web", history.CPU, 0, 0.31)
	expect(t, h, "web", history.CPU, 3, absent)
	expect(t, h, "web", history.Memory, 0, 100<<20)
	expect(t, h, "web", history.Throttled, 0, 0.05)
	expect(t, h, "shop", history.Rate, 0, absent)
	expect(t, h, "shop", history.Rate, 1, 7)
	if len(h.Manifest.Notes) != 1 || !strings.Contains(h.Manifest.Notes[0], "colour") {
		t.Errorf("notes %q, want one that names the column left out", h.Manifest.Notes)
	}
	if h.Manifest.Source != "import services.csv" || len(h.Manifest.Absent) == 0 {
		t.Errorf("manifest %+v", h.Manifest)
	}
}

func TestARowPerValueAndOtherSpellings(t *testing.T) {
	h, err := files(t, Options{}, "long.csv\n"+
		"\ufeffTimestamp;Service;Metric;Value\r\n"+
		"1772323215;web;rate;10\r\n"+
		"1772323230;web;CPU;0.5\r\n"+
		"1772323215000;web;latency p99 ms;20\r\n")
	if err != nil {
		t.Fatal(err)
	}
	expect(t, h, "web", history.Rate, 0, 10)
	expect(t, h, "web", history.CPU, 1, 0.5)
	expect(t, h, "web", history.LatencyP99, 0, 0.02)
}

func TestCallsAndServicesComeTogether(t *testing.T) {
	h, err := files(t, Options{}, `web.csv
time,rate,cpu
2026-03-01 00:00:15,10,0.1
2026-03-01 00:00:30,11,0.2
`, `calls.csv
time,from,to,operation,rate,latency_mean_ms
2026-03-01 00:00:30,users,web,GET /,10,20
2026-03-01 00:00:45,web,shop,,5,
`)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, h, "web", history.CPU, 1, 0.2)
	if h.Steps != 3 || len(h.Calls) != 2 {
		t.Fatalf("%d steps and calls %v", h.Steps, h.Calls)
	}
	users, inner := &h.Calls[0], &h.Calls[1]
	if users.From != "" || users.To != "web" || users.Operation != "GET /" || inner.From != "web" || inner.To != "shop" {
		t.Errorf("calls %v and %v", users, inner)
	}
	if v, present := users.Series[history.CallMean].Get(1); !present || math.Abs(v-0.02) > 1e-6 {
		t.Errorf("mean %v, present %v", v, present)
	}
	if v, present := inner.Series[history.CallRate].Get(2); !present || v != 5 {
		t.Errorf("rate %v, present %v", v, present)
	}
}

func TestTimesThatJitterAreMovedAndReported(t *testing.T) {
	h, err := files(t, Options{}, `a.csv
time,rate
100.000,1
115.0,2
130.002,3
145,4
160,5
`)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, h, "a", history.Rate, 2, 3)
	if h.Step != 15*time.Second || len(h.Manifest.Notes) != 1 || !strings.Contains(h.Manifest.Notes[0], "2ms off") {
		t.Errorf("step %v, notes %q", h.Step, h.Manifest.Notes)
	}
}

func TestEveryFaultIsNamed(t *testing.T) {
	for _, c := range []struct {
		name string
		text []string
		want []string
	}{
		{"bad rows, all of them", []string{`a.csv
time,service,rate,throttled
soon,web,1,0
15,web,-1,0
30,web,x,40
45,,1,0
60,web,1
75,web,Inf,0
`}, []string{
			`a.csv: line 2: time: "soon" must be a time such as`, `line 3: rate: "-1" must be a number of at least 0 (per second)`,
			`line 4: rate: "x"`,
			`line 4: throttled: "40" must be a share from 0 to 1; name the column throttled_percent`,
			"line 5: service: must name a service",
			`line 6: columns: "3" must be 4`, `line 7: rate: "Inf"`,
		}},
		{"a metric that is misspelt", []string{"a.csv\ntime,service,rate,latency_p9\n0,web,1,2\n"},
			[]string{`line 1: columns: "latency_p9" must be a metric; did you mean latency_p9`}},
		{"no metric at all", []string{"a.csv\ntime,service,colour\n0,web,red\n"}, []string{"must have a column per metric (rate, errors"}},
		{"a metric named in a row", []string{"a.csv\ntime,service,metric,value\n0,web,rte,1\n"},
			[]string{`line 2: metric: "rte" must be a metric`, `did you mean "rate"`}},
		{"one metric in two columns", []string{"a.csv\ntime,rate,cpu,cpu_m\n0,1,2,3\n"}, []string{`"cpu_m" must be there once`}},
		{"calls to nowhere", []string{"a.csv\ntime,from,to,rate\n0,web,,1\n"},
			[]string{"line 2: to: must name the service that is called"}},
		{"services and calls in one file", []string{"a.csv\ntime,service,from,to,rate\n0,a,b,c,1\n"},
			[]string{"calls go in a file of their own"}},
		{"no rows", []string{"a.csv\ntime,service,rate\n"}, []string{"the file has no values"}},
		{"only absent values", []string{"a.csv\ntime,service,rate\n0,web,\n15,web,NaN\n"}, []string{"the file has no values"}},
		{"one instant", []string{"a.csv\ntime,service,rate\n0,web,1\n"}, []string{"one instant only", "--step"}},
		{"a value that comes twice", []string{"a.csv\ntime,service,rate\n0,web,1\n15,web,2\n15,web,3\n"},
			[]string{`line 4: rate: "3" must come once per step: there is a value for web at 1970-01-01T00:00:15Z already`}},
		{"two files with the same", []string{"a.csv\ntime,service,rate\n0,web,1\n15,web,2\n",
			"b.csv\ntime,service,rate\n15,web,2\n30,web,2\n"}, []string{"b.csv: line 2: rate", "must come once"}},
		{"two files with different steps", []string{"a.csv\ntime,rate\n0,1\n15,2\n", "b.csv\ntime,rate\n0,1\n60,2\n"},
			[]string{"a.csv has a row every 15s", "b.csv every 1m0s"}},
		{"a clock that jumped by half a step", []string{"a.csv\ntime,rate\n0,1\n15,2\n30,2\n52,3\n"},
			[]string{"line 5: time", "the clock jumped, or the step is another"}},
		{"a stray time stamp", []string{"a.csv\ntime,rate\n0,1\n15,2\n1772323215,2\n"},
			[]string{"line 4: time: 2026-03-01T00:00:15Z must lie within", "stray time stamp"}},
		{"a quote that does not close", []string{"a.csv\ntime,service,rate\n0,\"web,1\n"}, []string{"line 2", "must be a row of values"}},
		{"no layout at all", []string{"a.csv\nhello\n"}, []string{"a.csv", "must be a known layout"}},
		{"an empty file", []string{"a.csv\n"}, []string{"the file is empty"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := files(t, Options{}, c.text...)
			if err == nil {
				t.Fatalf("no error, but %d steps", h.Steps)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error\n%v\nwant in it\n%s", err, want)
				}
			}
		})
	}
	_, err := files(t, Options{}, "a.csv\ntime,rate\nx,1\n")
	if f := (workload.Fault{}); !errors.As(err, &f) || f.Line != 2 || f.Field != "time" || f.Value != "x" {
		t.Errorf("fault %+v", f)
	}
	if _, err := Files([]string{"no/such/file.csv"}, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestManyFaultsAreCounted(t *testing.T) {
	_, err := files(t, Options{}, "a.csv\ntime,rate\n"+strings.Repeat("x,1\n", 100))
	if err == nil || !strings.Contains(err.Error(), "and 80 more") || strings.Count(err.Error(), "\n") > 25 {
		t.Errorf("error %v", err)
	}
}

func TestTracesBecomeOneService(t *testing.T) {
	h, err := files(t, Options{Service: "shop"}, "rates.csv\nt_s,rps:query,rps:buy\n0,10,30\n60,0,20\n")
	if err != nil {
		t.Fatal(err)
	}
	if h.Step != time.Minute || !h.Start.Equal(sim.Epoch.Add(time.Minute)) {
		t.Errorf("step %v from %v: a bin's value is of the step that ends with it", h.Step, h.Start)
	}
	expect(t, h, "shop", history.Rate, 0, 40)
	expect(t, h, "shop", history.Rate, 1, 20)
	if len(h.Calls) != 2 || h.Calls[0].Operation != "buy" || h.Calls[0].To != "shop" {
		t.Fatalf("calls %v", h.Calls)
	}
	if v, _ := h.Calls[0].Series[history.CallRate].Get(0); v != 30 {
		t.Errorf("buy is %v, want 30", v)
	}

	began := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	h, err = files(t, Options{Cores: 8, Start: began}, "machine.csv\nt_s,cpu_util_percent\n0,50\n10,25\n")
	if err != nil {
		t.Fatal(err)
	}
	expect(t, h, "machine", history.CPU, 0, 4)
	expect(t, h, "machine", history.Rate, 0, absent)
	if !h.Start.Equal(began.Add(10 * time.Second)) {
		t.Errorf("start %v", h.Start)
	}

	_, err = files(t, Options{}, "rates.csv\nt_s,rps\n0,10\n60,x\n")
	if f := (workload.Fault{}); !errors.As(err, &f) || f.Line != 3 {
		t.Errorf("error %v, want that of the trace reader", err)
	}
}

func TestAGapInATraceIsAbsent(t *testing.T) {
	gappy := "rates.csv\nt_s,rps:a,rps:b\n0,10,10\n60,20,0\n180,5,5\n"
	h, err := files(t, Options{}, gappy)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, h, "rates", history.Rate, 1, 20)
	expect(t, h, "rates", history.Rate, 2, absent)
	expect(t, h, "rates", history.Rate, 3, 10)
	if v, present := h.Calls[0].Series[history.CallRate].Get(2); present {
		t.Errorf("kind a is %v in the gap", v)
	}
	if len(h.Manifest.Notes) != 1 || !strings.Contains(h.Manifest.Notes[0], "1 of 4 steps have no reading") {
		t.Errorf("notes %q", h.Manifest.Notes)
	}
	h, err = files(t, Options{Trace: workload.Options{Gaps: workload.GapsHold, Peak: 200}}, gappy)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, h, "rates", history.Rate, 2, 200)
}

func TestALoneValueIsNamedByAnOption(t *testing.T) {
	text := "cpu.csv\ntimestamp,value\n2014-02-14 14:30:00,132\n2014-02-14 14:35:00,140\n"
	h, err := files(t, Options{Service: "db", Trace: workload.Options{Metric: "cpu_m"}}, text)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, h, "db", history.CPU, 0, 0.132)
	for metric, want := range map[string]string{"": "--metric must name it", "cpuu": "did you mean cpu"} {
		if _, err := files(t, Options{Trace: workload.Options{Metric: metric}}, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("metric %q: error %v, want %q in it", metric, err, want)
		}
	}
}

func TestGzipIsReadAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.csv.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	z.Write([]byte("time,rate\n0,1\n15,2\n"))
	z.Close()
	f.Close()
	h, err := Files([]string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, h, "web", history.Rate, 1, 2)
	data, _ := os.ReadFile(path)
	if err := os.WriteFile(path, data[:len(data)-12], 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Files([]string{path}, Options{}); err == nil || !strings.Contains(err.Error(), "cannot be read: unexpected EOF") {
		t.Errorf("error %v, want one about a torn file", err)
	}
}

// An imported history can be written and read back.
func TestAnImportCanBeKept(t *testing.T) {
	h, err := files(t, Options{}, "web.csv\ntime,rate\n0,0\n15,2\n45,3\n")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "past")
	if err := history.Write(dir, h); err != nil {
		t.Fatal(err)
	}
	back, err := history.Read(dir, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, back, "web", history.Rate, 0, 0)
	expect(t, back, "web", history.Rate, 2, absent)
}

func FuzzTable(f *testing.F) {
	f.Add("time,service,rate\n0,web,1\n15,web,2\n")
	f.Add("time,from,to,rate_per_min\n0,a,b,1\n15,a,b,2\n")
	f.Add("timestamp;metric;value\n2026-03-01;cpu_m;3\n")
	f.Add("time\trate\n1e300\t1\n-5\t2\n")
	f.Fuzz(func(t *testing.T, text string) {
		if first, _, _ := strings.Cut(text, "\n"); !isTable([]byte(first)) {
			return // traces are fuzzed in their own package
		}
		s, err := read(strings.NewReader(text), "fuzz.csv", Options{})
		if err != nil {
			return
		}
		h, err := join([]*sheet{s}, 0)
		if err != nil {
			return
		}
		h.Tidy()
		if h.Steps < 1 || h.Step < time.Millisecond || len(h.Services)+len(h.Calls) == 0 {
			t.Fatalf("%d steps of %v", h.Steps, h.Step)
		}
		for _, s := range h.Services {
			for m, series := range s.Series {
				for _, v := range series {
					if v < 0 || math.IsInf(float64(v), 0) {
						t.Fatalf("%v is %v", history.ServiceMetric(m), v)
					}
				}
			}
		}
	})
}
