package simulate

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim"
)

// ramp is no load for a minute, then one that doubles at half time.
type ramp struct{}

func (ramp) Rate(_ int, t time.Duration) (float64, time.Duration) {
	switch {
	case t < time.Minute:
		return 0, time.Minute
	case t < 5*time.Minute:
		return 30, 5 * time.Minute
	}
	return 60, sim.Never
}

// twoServices is a web service that calls a shop half of the time.
func twoServices() *loadline.App {
	web := loadline.Service{
		Name: "web", CPU: loadline.Dist{Mean: 10 * time.Millisecond, CV: 1}, Workers: 32, Backlog: 64,
		Memory: loadline.Memory{Base: 50 << 20}, Startup: loadline.Dist{Mean: 5 * time.Second}, Replicas: 2,
		Size:   loadline.Size{CPURequest: 0.2, CPULimit: 0.5, MemoryRequest: 64 << 20, MemoryLimit: 128 << 20},
		Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 10, MinCPU: 0.1, MaxCPU: 1, MinMemory: 32 << 20, MaxMemory: 1 << 30},
	}
	shop := web
	shop.Name, shop.CPU = "shop", loadline.Dist{Mean: 4 * time.Millisecond, CV: 1}
	shop.Size.CPULimit, shop.Size.MemoryLimit = 0, 0
	return &loadline.App{
		Name:     "two",
		Services: []loadline.Service{web, shop},
		Kinds: []loadline.Kind{{
			Name: "get", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond},
			Root: loadline.Call{Service: 0, Probability: 1, Times: 1, Work: 1, Stages: [][]loadline.Call{{
				{Service: 1, Probability: 0.5, Times: 1, Work: 1},
			}}},
		}},
		Nodes: []loadline.Node{{Name: "n", Cores: 16, Memory: 32 << 30}},
	}
}

func spec(engine string) HistorySpec {
	return HistorySpec{
		App: twoServices(), Load: ramp{}, Workload: "ramp", Policy: "hpa", Engine: engine,
		Duration: 10 * time.Minute, Step: 15 * time.Second, Seed: 3,
	}
}

func run(t *testing.T, s HistorySpec) *history.History {
	t.Helper()
	h, err := RecordHistory(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func eachEngine(t *testing.T, f func(t *testing.T, engine string)) {
	for _, engine := range Engines() {
		t.Run(engine, func(t *testing.T) { f(t, engine) })
	}
}

func TestAHistoryHoldsWhatTheRunMeasured(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		s := spec(engine)
		h := run(t, s)
		out, err := Run(context.Background(), s.simulation())
		if err != nil {
			t.Fatal(err)
		}
		if h.Steps != 40 || h.Start != sim.Epoch.Add(15*time.Second) || h.Duration() != s.Duration {
			t.Fatalf("%d steps from %v, want 40 from the end of the first", h.Steps, h.Start)
		}
		for i, name := range []string{"web", "shop"} {
			m := &out.Meter.Services[i]
			service := h.Service(name)
			near(t, name+" arrived", total(service.Series[history.Rate], 15), m.Arrived, 1e-6)
			near(t, name+" CPU", total(service.Series[history.CPU], 15), m.CPUSeconds, 1e-6)
			near(t, name+" busy", total(service.Series[history.Concurrency], 15), m.BusySeconds, 1e-6)
		}
		web, users, calls := h.Service("web"), h.Calls[0], h.Calls[1]
		if users.From != "" || users.To != "web" || users.Operation != "get" || calls.From != "web" || calls.To != "shop" ||
			len(h.Calls) != 2 {
			t.Fatalf("calls %+v, want those of users to web, and those of web to shop", h.Calls)
		}
		near(t, "requests", total(users.Series[history.CallRate], 15), out.Meter.Kinds[0].Arrived, 1e-6)
		near(t, "calls per visit", total(calls.Series[history.CallRate], 15)/total(web.Series[history.Rate], 15), 0.5, 0.02)
		for m, want := range map[history.ServiceMetric]float64{
			history.CPURequest: 0.2, history.CPULimit: 0.5, history.MemoryRequest: 64 << 20, history.MemoryLimit: 128 << 20,
		} {
			near(t, m.String(), float64(web.Series[m][20]), want, 1e-6)
		}
	})
}

func TestWhatDidNotHappenIsAbsent(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		h := run(t, spec(engine))
		web, shop := h.Service("web"), h.Service("shop")
		if v, present := web.Series[history.Rate].Get(0); !present || v != 0 {
			t.Errorf("rate %v, present %v: no request arrived in the first minute, which is a measured 0", v, present)
		}
		for m := history.LatencyMean; m <= history.LatencyP99; m++ {
			if v, present := web.Series[m].Get(0); present {
				t.Errorf("%v is %v although nothing ended", m, v)
			}
			if _, present := web.Series[m].Get(10); !present {
				t.Errorf("%v is absent under load", m)
			}
		}
		if _, present := h.Calls[1].Series[history.CallMean].Get(0); present {
			t.Error("the calls have a mean time although none was made")
		}
		if shop.Series[history.CPULimit] != nil || shop.Series[history.MemoryLimit] != nil {
			t.Error("shop has no limits, but there are values of them")
		}
		names := map[string]bool{}
		for _, a := range h.Manifest.Absent {
			names[a.Of+" "+a.Metric] = true
			if a.Reason == "" {
				t.Errorf("%s is absent without a reason", a.Metric)
			}
		}
		if names["service rate"] || names["service cpu_limit"] {
			t.Errorf("absent %v: they are there", names)
		}
	})
}

func TestStartUpIsThatOfPodsSeenStarting(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		h := run(t, spec(engine))
		web := h.Service("web")
		s := web.Series[history.Startup]
		if s.Present() == 0 || s.Present() > 10 {
			t.Fatalf("%d steps with start-ups, want a few", s.Present())
		}
		for i := range s {
			if v, present := s.Get(i); present && math.Abs(v-5) > 0.1 {
				t.Errorf("step %d: a start-up of %v s, want 5 s: the initial pods do not count", i, v)
			}
		}
		if first, last := web.Series[history.Desired][0], web.Series[history.Desired][h.Steps-1]; last <= first {
			t.Errorf("%v replicas asked for at first and %v at last: the policy did not follow", first, last)
		}
	})
}

// A step of 20 s under scrapes of 15 s ends between readings.
func TestStepsThatEndBetweenReadingsGetTheirShare(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		even, uneven := spec(engine), spec(engine)
		uneven.Step = 20 * time.Second
		a, b := run(t, even), run(t, uneven)
		if b.Steps != 30 {
			t.Fatalf("%d steps, want 30", b.Steps)
		}
		for i := range a.Services {
			x, y := &a.Services[i], &b.Services[i]
			for _, m := range []history.ServiceMetric{history.Rate, history.CPU, history.Concurrency, history.Ready, history.Memory} {
				near(t, x.Name+" "+m.String(), total(y.Series[m], 20), total(x.Series[m], 15), 1e-5)
			}
			near(t, x.Name+" p99", peak(y.Series[history.LatencyP99]), peak(x.Series[history.LatencyP99]), 0.3)
		}
		// Between 60 s and 75 s the first requests arrive; the step from 60 s to 80 s includes
		// all of that and a third of the next.
		rate := a.Service("web").Series[history.Rate]
		want := (float64(rate[4])*15 + float64(rate[5])*5) / 20
		near(t, "rate of the step that ends at 80 s", float64(b.Service("web").Series[history.Rate][3]), want, 1e-5)
	})
}

func TestScrapesEverySecondMakeTheSameSteps(t *testing.T) {
	s := spec("event")
	s.Policy = "kpa"
	h := run(t, s)
	if h.Steps != 40 {
		t.Fatalf("%d steps, want 40", h.Steps)
	}
	near(t, "rate", float64(h.Service("web").Series[history.Rate][10]), 30, 0.2)
}

func TestAnUnfinishedStepIsLeftOut(t *testing.T) {
	s := spec("fluid")
	s.Duration, s.Step = 100*time.Second, 20*time.Second
	if h := run(t, s); h.Steps != 4 { // the last scrape is at 90 s
		t.Errorf("%d steps, want 4", h.Steps)
	}
}

func TestLossAndNoiseAreKept(t *testing.T) {
	clean, s := spec("fluid"), spec("fluid")
	s.Policy, clean.Policy = "static", "static"
	s.Perturb = Perturb{MetricsLoss: 0.2, CPUNoise: 0.1}
	a, b := run(t, clean), run(t, s)
	x, y := a.Service("web"), b.Service("web")
	if n := y.Series[history.Rate].Present(); n == 40 || n < 20 {
		t.Errorf("%d of 40 steps are present at a loss of 20 %%", n)
	}
	differ := 0
	for i := range y.Series[history.CPU] {
		if v, present := y.Series[history.CPU].Get(i); present && v != float64(x.Series[history.CPU][i]) {
			differ++
		}
	}
	if differ < 15 {
		t.Errorf("only %d values of CPU are noisy", differ)
	}
}

func TestTheSameSeedGivesTheSameHistory(t *testing.T) {
	s := spec("event")
	s.Perturb.CPUNoise = 0.1
	a, b := run(t, s), run(t, s)
	for m := range a.Services[0].Series {
		x, y := a.Services[0].Series[m], b.Services[0].Series[m]
		if len(x) != len(y) {
			t.Fatalf("%v: %d and %d values", history.ServiceMetric(m), len(x), len(y))
		}
		for i := range x {
			if math.Float32bits(x[i]) != math.Float32bits(y[i]) {
				t.Fatalf("%v differs at step %d", history.ServiceMetric(m), i)
			}
		}
	}
	if !reflect.DeepEqual(a.Manifest, b.Manifest) {
		t.Errorf("manifests differ:\n%+v\n%+v", a.Manifest, b.Manifest)
	}
}

func TestBadSpecsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(*HistorySpec)
	}{
		{"a step below a second", "at least 1s", func(s *HistorySpec) { s.Step = 10 * time.Millisecond }},
		{"a step of broken milliseconds", "whole milliseconds", func(s *HistorySpec) { s.Step = time.Second + time.Microsecond }},
		{"a step longer than the run", "shorter than one step", func(s *HistorySpec) { s.Step = time.Hour }},
		{"a step shorter than the scrapes", "choose a step of at least 15s", func(s *HistorySpec) { s.Step = 5 * time.Second }},
		{"no such policy", "unknown policy", func(s *HistorySpec) { s.Policy = "hpb" }},
		{"no duration", "longer than 0", func(s *HistorySpec) { s.Duration = 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spec("fluid")
			c.change(&s)
			_, err := RecordHistory(context.Background(), s)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestAStoppedRunGivesNoHistory(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := spec("fluid")
	s.Progress = func(at time.Duration) {
		if at > time.Minute {
			cancel()
		}
	}
	if _, err := RecordHistory(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// total is the sum of the present values, times the step.
func total(s history.Series, step float64) float64 {
	sum := 0.0
	for i := range s {
		if v, present := s.Get(i); present {
			sum += v * step
		}
	}
	return sum
}

func peak(s history.Series) float64 {
	top := 0.0
	for i := range s {
		if v, present := s.Get(i); present {
			top = max(top, v)
		}
	}
	return top
}

func near(t *testing.T, what string, got, want, off float64) {
	t.Helper()
	if !(math.Abs(got-want) <= off*math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
