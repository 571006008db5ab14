package profile_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
)

func rng() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// wave rises and falls every quarter of an hour.
type wave struct{ low, high float64 }

func (w wave) Rate(_ int, t time.Duration) (float64, time.Duration) {
	return w.low + (w.high-w.low)*(0.5-0.5*math.Cos(2*math.Pi*t.Minutes()/15)), t + 5*time.Second
}

// TestFitAgreesWithMeasure: profiles of services without calls from a recorded cluster agree
// with those measured alone in the event engine.
func TestFitAgreesWithMeasure(t *testing.T) {
	m, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	// A front without smoothing, so that details gets the users' arrivals.
	page := m.App.ServiceIndex("productpage")
	m.App.Services[page].Replicas = 8
	h, err := simulate.RecordHistory(context.Background(), simulate.HistorySpec{
		App: m.App, Load: wave{20, 110}, Workload: "wave", Policy: "static", Engine: "event", Duration: time.Hour, Seed: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	list, missing, err := profile.Fit(h, "details", profile.FitOptions{Percentile: 99}, rng())
	if err != nil || len(list) != 1 || len(missing) > 0 {
		t.Fatalf("%d profiles, lacking %v: %v", len(list), missing, err)
	}
	p := list[0]
	at := m.App.ServiceIndex("details")
	if p.IncludesCalls || p.Size != profile.Size(m.App.Services[at].Size) || len(p.Points) < 5 {
		t.Fatalf("%+v", p)
	}
	truth, err := profile.Measure(context.Background(), m.App, at, profile.Options{Percentile: 99, Seeds: 2})
	if err != nil {
		t.Fatal(err)
	}
	curve, err := truth.Curve()
	if err != nil {
		t.Fatal(err)
	}
	for _, pt := range p.Points {
		want := curve.At(pt.Load)
		t.Logf("%.4g visits/s: %.4g +- %.2g s, measured %.4g s (%+.0f %%)", pt.Load, pt.Latency, pt.Error, want, 100*(pt.Latency/want-1))
		if !(pt.Error > 0) || math.Abs(pt.Latency-want) > 0.15*want+3*pt.Error {
			t.Errorf("%v visits/s: %v +- %v s, measured %v", pt.Load, pt.Latency, pt.Error, want)
		}
	}
	again, _, err := profile.Fit(h, "details", profile.FitOptions{Percentile: 99}, rng())
	if err != nil || !slices.Equal(again[0].Points, p.Points) {
		t.Errorf("another time it is another: %v", err)
	}
	callers, _, err := profile.Fit(h, "reviews", profile.FitOptions{Percentile: 99}, rng())
	if err != nil || len(callers) != 1 || !callers[0].IncludesCalls {
		t.Errorf("reviews calls ratings: %+v, %v", callers, err)
	}
	set := profile.Set{Profiles: callers}
	if found := set.Find(&m.App.Services[m.App.ServiceIndex("reviews")], 99); found != nil {
		t.Error("a profile with calls was taken for the service's own")
	}
}

// TestMonitorInAWholeApplication: a release in a recorded history is detected and located.
func TestMonitorInAWholeApplication(t *testing.T) {
	m, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	details := m.App.ServiceIndex("details")
	spec := simulate.HistorySpec{App: m.App, Load: wave{20, 80}, Workload: "wave", Policy: "static:replicas=3", Engine: "event",
		Duration: time.Hour, Seed: 9}
	spec.Perturb.Disturbances = []sim.Disturbance{{At: 40 * time.Minute, Version: &sim.VersionChange{Service: details, CPUFactor: 1.5}}}
	h, err := simulate.RecordHistory(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"details", "ratings"} {
		list, _, err := profile.Fit(h.Cut(0, 100), service, profile.FitOptions{Percentile: 95}, rng())
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %v, %v", service, list, err)
		}
		monitor, err := profile.NewMonitor(&list[0], profile.MonitorConfig{})
		if err != nil {
			t.Fatal(err)
		}
		then, err := profile.NewServiceHistory(h.Cut(100, h.Steps), service, 95)
		if err != nil {
			t.Fatal(err)
		}
		var first *profile.Change
		for _, w := range then.Windows {
			if c, changed := monitor.Observe(w); changed && first == nil {
				first = &c
			}
		}
		switch {
		case service == "ratings" && first != nil:
			t.Errorf("ratings did not change: %v", first)
		case service == "details" && first == nil:
			t.Error("the release was not noticed")
		case service == "details":
			late := first.At.Sub(sim.Epoch.Add(40 * time.Minute))
			t.Logf("%v, %v after the release", first, late)
			if late < 0 || late > 3*time.Minute || first.Factor < 1.1 || first.Factor > 1.6 { // its waiting time does not change
				t.Errorf("noticed %v after the release: %v", late, first)
			}
		}
	}
}

// hand is a history of one service, an hour of quarter minutes.
func hand(change func(i int, s *history.Service)) *history.History {
	const steps = 240
	h := &history.History{Start: sim.Epoch, Step: 15 * time.Second, Steps: steps, Services: []history.Service{{Name: "web"}}}
	s := &h.Services[0]
	for m := range s.Series {
		s.Series[m] = history.NewSeries(steps)
	}
	for i := range steps {
		rate := 40 + 20*math.Sin(float64(i)/9)
		for m, v := range map[history.ServiceMetric]float64{
			history.Rate: rate, history.Errors: 0, history.LatencyMean: 0.02, history.LatencyP95: 0.03 + rate/1000, history.Ready: 2,
			history.CPURequest: 0.2, history.CPULimit: 0.5,
		} {
			s.Series[m][i] = float32(v)
		}
		if change != nil {
			change(i, s)
		}
	}
	h.Calls = []history.Calls{{To: "web"}}
	return h
}

func TestFitByHand(t *testing.T) {
	none := float32(math.NaN())
	for _, c := range []struct {
		name              string
		change            func(i int, s *history.Service)
		profiles, missing int
		check             func(t *testing.T, list []profile.Profile, missing []profile.Missing)
	}{
		{"latency is a line", nil, 1, 0, func(t *testing.T, list []profile.Profile, _ []profile.Missing) {
			for _, pt := range list[0].Points {
				if want := 0.03 + 2*pt.Load/1000; math.Abs(pt.Latency/want-1) > 0.02 {
					t.Errorf("%+v, want %v", pt, want)
				}
			}
		}},
		{"two sizes make two profiles", func(i int, s *history.Service) {
			if i >= 120 {
				s.Series[history.CPULimit][i] = 1
				s.Series[history.LatencyP95][i] /= 2
			}
		}, 2, 0, func(t *testing.T, list []profile.Profile, _ []profile.Missing) {
			if list[0].Size.CPULimit != 0.5 || list[1].Size.CPULimit != 1 || list[0].Points[0].Latency < 1.5*list[1].Points[0].Latency {
				t.Errorf("%+v", list)
			}
		}},
		{"a size that lasted a minute is named", func(i int, s *history.Service) {
			if i >= 230 {
				s.Series[history.CPULimit][i] = 1
			}
		}, 1, 1, func(t *testing.T, _ []profile.Profile, missing []profile.Missing) {
			if missing[0].Size.CPULimit != 1 || !strings.Contains(missing[0].Reason, "9 usable steps, at least 12 are needed") {
				t.Errorf("%+v", missing[0])
			}
		}},
		{"missing is not zero", func(i int, s *history.Service) { s.Series[history.LatencyP95][i] = none }, 0, 1,
			func(t *testing.T, _ []profile.Profile, missing []profile.Missing) {
				if !strings.Contains(missing[0].Reason, "steps have missing values") {
					t.Errorf("%+v", missing[0])
				}
			}},
		{"too few visits tell no tail", func(i int, s *history.Service) { s.Series[history.Rate][i] = 1 }, 0, 1,
			func(t *testing.T, _ []profile.Profile, missing []profile.Missing) {
				if !strings.Contains(missing[0].Reason, "239 have too few visits") {
					t.Errorf("%+v", missing[0])
				}
			}},
		{"where visits fail it is saturated", func(i int, s *history.Service) {
			if s.Series[history.Rate][i] > 50 {
				s.Series[history.Errors][i] = 10
			}
		}, 1, 0, saturatedAbout25},
		{"where queues grow it is saturated", func(i int, s *history.Service) {
			if s.Series[history.Rate][i] > 50 {
				s.Series[history.Concurrency][i] = float32(10 + 30*(i%5))
			} else {
				s.Series[history.Concurrency][i] = 1
			}
		}, 1, 0, saturatedAbout25},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, missing, err := profile.Fit(hand(c.change), "web", profile.FitOptions{Percentile: 95}, rng())
			if err != nil || len(list) != c.profiles || len(missing) != c.missing {
				t.Fatalf("%+v, lacking %+v: %v", list, missing, err)
			}
			c.check(t, list, missing)
		})
	}
}

func saturatedAbout25(t *testing.T, list []profile.Profile, _ []profile.Missing) {
	if at, known := list[0].Saturation(); !known || at < 24 || at > 28 {
		t.Errorf("saturated at %v, %v: %+v", at, known, list[0].Points)
	}
}

func TestPastRefuses(t *testing.T) {
	h := hand(nil)
	if _, err := profile.NewServiceHistory(h, "wob", 95); err == nil || !strings.Contains(err.Error(), `no service "wob"`) {
		t.Errorf("%v", err)
	}
	if _, err := profile.NewServiceHistory(h, "web", 98); err == nil || !strings.Contains(err.Error(), "choose one of [50 90 95 99]") {
		t.Errorf("%v", err)
	}
	h.Calls = nil
	if p, err := profile.NewServiceHistory(h, "web", 95); err != nil || !p.IncludesCalls {
		t.Errorf("without any calls it is unknown whether it makes some: %v", err)
	}
}
