package twin_test

import (
	"math"
	"strings"
	"testing"
	"time"

	. "github.com/loadline/loadline/internal/twin"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// synthetic is a history made of formulas: one service with 10 ms of CPU per request, and a
// load given step by step.
func synthetic(steps int, rate func(i int) float64) *history.History {
	h := &history.History{Start: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), Step: 15 * time.Second, Steps: steps}
	s := history.Service{Name: "web"}
	set := func(m history.ServiceMetric, f func(i int) float64) {
		s.Series[m] = history.NewSeries(steps)
		for i := range steps {
			s.Series[m][i] = float32(f(i))
		}
	}
	replicas := func(i int) float64 { return 1 + math.Floor(rate(i)/60) }
	busy := func(i int) float64 { return 0.01 * rate(i) / replicas(i) }
	set(history.Rate, rate)
	set(history.Ready, replicas)
	set(history.CPU, func(i int) float64 { return 0.01*rate(i) + 0.02*replicas(i) })
	set(history.CPURequest, func(int) float64 { return 0.5 })
	set(history.CPULimit, func(int) float64 { return 1 })
	set(history.MemoryRequest, func(int) float64 { return 128 << 20 })
	set(history.LatencyMean, func(i int) float64 { return 0.01 / (1 - busy(i)) })
	set(history.LatencyP99, func(i int) float64 { return 0.046 / (1 - busy(i)) })
	h.Services = []history.Service{s}
	h.Tidy()
	return h
}

func wavy(i int) float64 { return 60 + 45*math.Sin(float64(i)/60) + 3*math.Sin(float64(i)*1.7) }

// twoKinds is a service with two kinds of requests in changing shares.
func twoKinds(steps int) *history.History {
	h := synthetic(steps, wavy)
	buy, look := history.Calls{To: "web", Operation: "buy"}, history.Calls{To: "web", Operation: "look"}
	for _, c := range []*history.Calls{&buy, &look} {
		c.Series[history.CallRate] = history.NewSeries(steps)
	}
	for i := range steps {
		share := 0.3 + 0.2*math.Sin(float64(i)/300)
		buy.Series[history.CallRate][i], look.Series[history.CallRate][i] = float32(share*wavy(i)), float32((1-share)*wavy(i))
	}
	h.Calls = []history.Calls{buy, look}
	return h
}

func TestWhatCannotBeFittedIsRefused(t *testing.T) {
	slo := loadline.SLO{Percentile: 99, Latency: time.Second}
	for _, c := range []struct {
		name string
		h    *history.History
		o    Options
		want []string
	}{
		{"an empty history", &history.History{}, Options{}, []string{"empty", "pull or record"}},
		{"a history that is too short", synthetic(100, wavy), Options{},
			[]string{"too short", "25m0s in 100 steps", "at least 1h0m0s and 120 steps are needed", "use a longer one"}},
		{"a constant load", synthetic(2000, func(i int) float64 { return 50 + 0.2*math.Sin(float64(i)) }), Options{},
			[]string{"constant", "a day and a night"}},
		{"no load at all", synthetic(2000, func(int) float64 { return 0 }), Options{}, []string{"no requests", "a time with load"}},
		{"no request rate", without(history.Rate), Options{}, []string{`"rate"`, "of web", "--without web"}},
		{"nothing left", synthetic(1200, wavy), Options{Without: []string{"web"}}, []string{"no service to fit"}},
		{"a service to leave out that is not there", synthetic(1200, wavy), Options{Without: []string{"wep"}},
			[]string{`did you mean "web"`}},
		{"an objective for an unknown kind", twoKinds(2000), Options{Objectives: []Objective{{"buyy", slo}}},
			[]string{`"buyy"`, `did you mean "buy"`}},
		{"an objective that none can meet", twoKinds(2000), Options{Objectives: []Objective{{"buy", loadline.SLO{Percentile: 100}}}},
			[]string{"between 0 and 100"}},
		{"a held-out share of everything", twoKinds(2000), Options{HeldOut: 1}, []string{"held-out share 1", "at most 0.9"}},
		{"a delay that is none", twoKinds(2000), Options{Delay: history.Memory}, []string{"memory", "mean or a percentile"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Fit(c.h, c.o)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
}

func without(metrics ...history.ServiceMetric) *history.History {
	h := synthetic(1200, wavy)
	for _, m := range metrics {
		h.Services[0].Series[m] = nil
	}
	return h
}

func TestMissingDataIsReported(t *testing.T) {
	quiet := synthetic(1200, func(i int) float64 { return 0.1 * wavy(i) })
	gone := synthetic(1200, wavy)
	ghost := synthetic(1200, wavy).Services[0]
	ghost.Name = "ghost"
	for m := range ghost.Series {
		if s := ghost.Series[m]; s != nil {
			for i := 900; i < len(s); i++ {
				s[i] = float32(math.NaN())
			}
		}
	}
	gone.Services = append(gone.Services, ghost)
	noted := synthetic(1200, wavy)
	noted.Manifest.Notes = []string{"the clock jumped by 1h at noon"}

	for _, c := range []struct {
		name    string
		h       *history.History
		warns   []string
		assumed []string
	}{
		{"never near its limits", quiet, []string{"never near its limits", "queueing theory", "load test"}, nil},
		{"one replica count", quiet, []string{"fewer than two replica counts"}, nil},
		{"a service that vanished", gone, []string{"ghost disappeared", "2026-01-05T03:44:45Z", "left out"}, nil},
		{"a clock that jumped", noted, []string{"the clock jumped by 1h at noon"}, nil},
		{"no CPU", without(history.CPU), []string{`"cpu"`, "cannot say how many replicas are enough"},
			[]string{"services.web.cpu", "services.web.idle"}},
		{"no response times", without(history.LatencyMean, history.LatencyP99), []string{"its load-latency profile is assumed"},
			[]string{"services.web.cpu.cv", "services.web.wait"}},
		{"no replicas", without(history.Ready), []string{"one replica is assumed"}, nil},
		{"no limits", without(history.CPULimit), []string{"has no CPU limit"}, nil},
		{"no requests", without(history.CPURequest, history.MemoryRequest), nil,
			[]string{"services.web.size.cpu.request", "services.web.size.memory.request"}},
		{"no start-up, no memory", synthetic(1200, wavy), nil, []string{"services.web.startup", "services.web.memory"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tw := fit(t, c.h, Options{})
			warned(t, tw, c.warns...)
			for _, field := range c.assumed {
				found := false
				for _, a := range tw.Report.Assumed {
					found = found || a.Field == field
				}
				if !found {
					t.Errorf("%s is not listed as assumed", field)
				}
			}
			if tw.App.ServiceIndex("ghost") >= 0 {
				t.Error("what vanished is part of the twin")
			}
			if _, err := tw.Encode(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCirclesOfCallsAreCut(t *testing.T) {
	h := synthetic(1200, wavy)
	other := synthetic(1200, wavy).Services[0]
	other.Name = "shop"
	h.Services = append(h.Services, other)
	edge := func(from, to string, factor float32) history.Calls {
		c := history.Calls{From: from, To: to}
		c.Series[history.CallRate] = history.NewSeries(1200)
		for i := range 1200 {
			c.Series[history.CallRate][i] = factor * float32(wavy(i))
		}
		return c
	}
	h.Calls = []history.Calls{edge("", "web", 1), edge("web", "shop", 1), edge("shop", "web", 0.1), edge("web", "web", 0.2)}
	h.Tidy()
	tw := fit(t, h, Options{})
	warned(t, tw, "calls from shop to web would close a cycle")
	root := tw.App.Kinds[0].Root
	if len(root.Stages) != 1 || len(root.Stages[0][0].Stages) != 0 {
		t.Errorf("tree %+v, want web that calls shop", root)
	}
}

func TestRareKindsArePooled(t *testing.T) {
	h := synthetic(800, wavy)
	for k := range 30 {
		c := history.Calls{To: "web", Operation: string(rune('A' + k))}
		c.Series[history.CallRate] = history.NewSeries(800)
		for i := range 800 {
			c.Series[history.CallRate][i] = float32(wavy(i) * float64(k+1) / 465)
		}
		h.Calls = append(h.Calls, c)
	}
	tw := fit(t, h, Options{})
	if n := len(tw.App.Kinds); n != MaxKinds+1 {
		t.Fatalf("%d kinds", n)
	}
	w, err := Load(h, tw.App)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "requests, all kinds together", w.Rates[100], wavy(100), 0.01*wavy(100))
}
