package prom

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
)

// client of a server that is asked in the tests' own way.
func client(t *testing.T, s Server) *Client {
	t.Helper()
	c, err := NewClient(s)
	if err != nil {
		t.Fatal(err)
	}
	c.retry.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return c
}

// pull of the simulated run, from its first whole window to its end.
func pull(c *Client, dir, namespace string) *Pull {
	return &Pull{
		Client: c, Dir: dir, Namespace: namespace, Step: 15 * time.Second, Since: simulated,
		Until: sim.Time(simulated), Now: sim.Time(simulated + time.Hour), By: "test",
	}
}

func mustPull(t *testing.T, p *Pull) (*Report, *history.History) {
	t.Helper()
	report, err := p.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Read(p.Dir, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return report, h
}

// alike says how the pulled series of a metric must compare with the recorded
// one.
type alike int

const (
	equal          alike = iota // at every step
	windowed                    // to the mean of the steps of the window, within 2 % at most steps
	bucketed                    // in the same bucket of Istio's at most steps, else nearly always in the next
	gauge                       // but for the few steps in which a pod came or went
	rare                        // where it is present
	partly                      // as gauge, where it is present
	partlyWindowed              // as windowed, where the whole window is present in both
	absent                      // Istio does not show it
)

var serviceLikeness = map[history.ServiceMetric]alike{
	history.Rate: windowed, history.Errors: windowed, history.LatencyMean: windowed, history.Concurrency: windowed,
	history.LatencyP50: bucketed, history.LatencyP90: bucketed, history.LatencyP95: bucketed, history.LatencyP99: bucketed,
	history.Queue: absent, history.CPU: windowed, history.Memory: gauge, history.Throttled: windowed,
	history.Ready: equal, history.Desired: equal, history.Restarts: equal, history.Startup: rare,
	history.CPURequest: equal, history.CPULimit: equal, history.MemoryRequest: equal, history.MemoryLimit: equal,
}

func TestPullBringsBackWhatWentIn(t *testing.T) {
	w := prometheus(t)
	report, got := mustPull(t, pull(client(t, Server{URL: w.url}), t.TempDir(), "shop"))
	if len(report.Services) != len(w.app.Services) || len(got.Services) != len(w.app.Services) {
		t.Errorf("services %v, want those of %s", report.Services, w.app.Name)
	}
	for _, s := range got.Services {
		want := w.recorded.Service(s.Name)
		for _, m := range loadline.ServiceTable.Columns() {
			compare(t, s.Name+" "+m.String(), serviceLikeness[m], s.Series[m], want.Series[m], w.recorded)
		}
	}
	calls := 0
	for _, c := range got.Calls {
		for _, want := range w.recorded.Calls {
			if c.From != want.From || c.To != want.To {
				continue
			}
			calls++
			for m := range history.CallMetrics {
				kind := windowed
				switch {
				case m >= history.CallP50 && c.From != "":
					kind = absent // the engines have no histogram of calls
				case m >= history.CallP50:
					kind = bucketed
				}
				compare(t, fmt.Sprintf("%q to %s %s", c.From, c.To, m), kind, c.Series[m], want.Series[m], w.recorded)
			}
		}
	}
	if calls != len(w.recorded.Calls) || calls != len(got.Calls) {
		t.Errorf("%d calls of %d recorded and %d pulled are the same", calls, len(w.recorded.Calls), len(got.Calls))
	}
	checkNodes(t, got, w.recorded)
	m := report.Manifest
	if m.Preset != "istio" || !m.Complete || m.Source != "prometheus "+w.url || m.Namespace != "shop" {
		t.Errorf("manifest %+v", m)
	}
	if !reflect.DeepEqual(m.Autoscalers, w.recorded.Manifest.Autoscalers) || len(m.Autoscalers) != len(w.app.Services) {
		t.Errorf("autoscalers %+v, want %+v", m.Autoscalers, w.recorded.Manifest.Autoscalers)
	}
	if today, err := policy.TodayOf(w.app, got.Manifest.Autoscalers); err != nil || today.Spec != todaysPolicy {
		t.Errorf("today's policy is %q: %v", today.Spec, err)
	}
	if len(m.Absent) != 1 || m.Absent[0].Metric != "queue" || m.Absent[0].Cost == "" || m.Absent[0].Reason == "" {
		t.Errorf("absent: %v", m.Absent)
	}
	if !slices.ContainsFunc(m.Notes, func(n string) bool { return strings.HasPrefix(n, "call latency_p99: NaN") }) {
		t.Errorf("notes do not tell of NaN: %q", m.Notes)
	}
}

// checkNodes compares the nodes: those that have pods of the application, and only then.
func checkNodes(t *testing.T, got, want *history.History) {
	t.Helper()
	if len(want.Nodes) == 0 || len(got.Nodes) != len(want.Nodes) {
		t.Fatalf("%d nodes were pulled, want the %d that were recorded", len(got.Nodes), len(want.Nodes))
	}
	for i, n := range got.Nodes {
		if n.Name != want.Nodes[i].Name {
			t.Errorf("node %d is %s, want %s", i, n.Name, want.Nodes[i].Name)
		}
		for _, m := range loadline.NodeTable.Columns() {
			kind := partly
			if m.About().Aggregation == loadline.PerSecond {
				kind = partlyWindowed
			}
			compare(t, n.Name+" "+m.String(), kind, n.Series[m], want.Nodes[i].Series[m], want)
			if value, _ := n.Series[m].Get(100); !(value > 0) {
				t.Errorf("%s %s is %v at step 100, want above 0", n.Name, m, value)
			}
		}
	}
}

// compare holds a pulled series against the recorded one; both have the same
// instants.
func compare(t *testing.T, name string, kind alike, got, want history.Series, h *history.History) {
	t.Helper()
	if kind == absent {
		if got.Present() > 0 {
			t.Errorf("%s: %d values, want none", name, got.Present())
		}
		return
	}
	off, compared, wild := 0, 0, 0
	for i := 4; i < h.Steps; i++ { // the first window is not whole
		g, ok := got.Get(i)
		wanted, present := want.Get(i)
		if kind == partlyWindowed && (!ok || want[i-3:i+1].Present() < 4) {
			continue
		}
		if kind == windowed || kind == bucketed || kind == partlyWindowed {
			wanted, present = mean(want[i-3:i+1]), true
		}
		if ok != present && !math.IsNaN(wanted) {
			t.Errorf("%s at step %d: %v (%v), want %v (%v)", name, i, g, ok, wanted, present)
			return
		}
		if !ok {
			continue
		}
		compared++
		far := false
		switch kind {
		case bucketed:
			apart := bucketOf(g) - bucketOf(wanted)
			if far = apart != 0; apart < -1 || apart > 1 {
				wild++
			}
		case windowed, partlyWindowed:
			far = math.Abs(g-wanted) > 0.02*math.Abs(wanted)+1e-3
		default:
			far = math.Abs(g-wanted) > 1e-3*math.Abs(wanted)
		}
		if far {
			off++
		}
	}
	most := map[alike]float64{windowed: 0.1, bucketed: 0.25, gauge: 0.02, partly: 0.02, partlyWindowed: 0.1}[kind]
	if kind != rare && kind != partly && kind != partlyWindowed && compared < h.Steps-4 || float64(off) > most*float64(compared) || float64(wild) > 0.01*float64(compared) {
		t.Errorf("%s: %d of %d steps are off, %d far off", name, off, compared, wild)
	}
}

func mean(s history.Series) float64 {
	sum, n := 0.0, 0
	for i := range s {
		if v, ok := s.Get(i); ok {
			sum += v
			n++
		}
	}
	return sum / float64(n)
}

func bucketOf(seconds float64) int {
	bounds := []float64{0.5, 1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}
	i, _ := slices.BinarySearch(bounds, seconds*1000)
	return i
}

func TestPullOfOddSeries(t *testing.T) {
	w := prometheus(t)
	report, got := mustPull(t, pull(client(t, Server{URL: w.url}), t.TempDir(), "odd"))
	value := func(service string, m history.ServiceMetric, step int) (float64, bool) {
		return got.Service(service).Series[m].Get(step)
	}
	for step := 8; step < got.Steps-1; step++ { // the last step ends after the last scrape
		if v, ok := value("restarted", history.Rate, step); !ok || v < 7 || v > 10.01 {
			t.Fatalf("step %d: a counter that is reset has rate %v (%v), want 10, or less by what the restart lost", step, v, ok)
		}
		v, ok := value("late", history.Rate, step)
		// Its first window is not full.
		if step < 240 && ok || step > 243 && (!ok || math.Abs(v-20) > 0.01) {
			t.Fatalf("step %d: a series that begins late has rate %v (%v)", step, v, ok)
		}
		v, ok = value("vanished", history.Rate, step)
		if there := step < 238; there && (!ok || math.Abs(v-40) > 0.01) || step > 243 && ok {
			t.Fatalf("step %d: a service that vanished has rate %v (%v)", step, v, ok)
		}
		if v, ok := value("restarted", history.Errors, step); !ok || v != 0 {
			t.Fatalf("step %d: errors are %v (%v), want 0: there were requests and none failed", step, v, ok)
		}
		if v, ok := value("restarted", history.LatencyP99, step); step != 239 && (!ok || math.Abs(v-0.1) > 1e-6) {
			t.Fatalf("step %d: p99 above the last bound is %v (%v), want the bound", step, v, ok)
		}
		if _, ok := value("vanished", history.LatencyP99, step); ok {
			t.Fatalf("step %d: a histogram without bounds has a p99", step)
		}
		// Step i ends at the instant of scrape i+1.
		v, ok = value("restarted", history.Memory, step)
		if there := (step+1)%3 == 0; ok != there || there && v != 1000 {
			t.Fatalf("step %d: memory is %v (%v)", step, v, ok)
		}
	}
	if got, want := report.Manifest.Autoscalers, []history.Autoscaler{{
		Name: "keda-hpa-restarted", Service: "restarted", MinReplicas: 2, MaxReplicas: 12,
		Targets: []history.AutoscalerTarget{{Metric: "s0-prometheus", Type: history.AverageValue, Value: 35}},
	}}; !reflect.DeepEqual(got, want) {
		t.Errorf("autoscalers %+v, want %+v", got, want)
	}
	var names []string
	for _, a := range report.Manifest.Absent {
		names = append(names, a.Of+" "+a.Metric)
	}
	for _, want := range []string{"service cpu", "service latency_mean", "service ready", "call latency_mean"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not among the absent: %v", want, names)
		}
	}
	if slices.Contains(names, "service errors") {
		t.Error("errors are absent, want zero")
	}
}

func TestPresetsReadTheirExporters(t *testing.T) {
	w := prometheus(t)
	c := client(t, Server{URL: w.url})
	for namespace, row := range map[string]struct {
		preset          string
		calls, internal bool
		queue           float64
	}{
		"mesh":         {preset: "linkerd", calls: true, internal: true},
		"edge":         {preset: "nginx-ingress", calls: true},
		"traced":       {preset: "otel-spanmetrics", calls: true, internal: true},
		"instrumented": {preset: "otel-http", calls: true, internal: true},
		"functions":    {preset: "knative", queue: 10 * 0.02},
	} {
		t.Run(row.preset, func(t *testing.T) {
			p := pull(c, t.TempDir(), namespace)
			p.Since = 10 * time.Minute
			report, h := mustPull(t, p)
			if report.Manifest.Preset != row.preset {
				t.Fatalf("preset %s was found", report.Manifest.Preset)
			}
			check := func(what string, s history.Series, want float64) {
				t.Helper()
				if v, ok := s.Get(h.Steps - 1); !ok || math.Abs(v-want) > 1e-3*want {
					t.Errorf("%s is %v (%v), want %v", what, v, ok, want)
				}
			}
			web := h.Service("web")
			check("rate", web.Series[history.Rate], 10)
			check("errors", web.Series[history.Errors], 1)
			check("mean", web.Series[history.LatencyMean], 0.05)
			check("p50", web.Series[history.LatencyP50], (0.025+0.1)/2) // the middle of the bucket
			check("concurrency", web.Series[history.Concurrency], 0.5)
			if row.queue > 0 {
				check("queue", web.Series[history.Queue], row.queue)
				check("desired", web.Series[history.Desired], 3)
			}
			if row.internal {
				check("rate of store", h.Service("store").Series[history.Rate], 20)
			}
			wanted := 0
			for _, c := range h.Calls {
				switch {
				case c.From == "" && c.To == "web":
					wanted++
					check("calls of users", c.Series[history.CallRate], 10)
					check("failures of users' calls", c.Series[history.CallErrors], 1)
					check("mean of users' calls", c.Series[history.CallMean], 0.05)
				case c.From == "web" && c.To == "store":
					wanted++
					check("calls of web", c.Series[history.CallRate], 20)
					check("mean of calls of web", c.Series[history.CallMean], 0.02)
				default:
					t.Errorf("calls from %q to %q", c.From, c.To)
				}
			}
			want := map[bool]int{true: 1}[row.calls] + map[bool]int{true: 1}[row.internal]
			if wanted != want {
				t.Errorf("%d kinds of calls, want %d", wanted, want)
			}
		})
	}
}
