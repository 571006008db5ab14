package profile

import (
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
)

// Size of the run: the table of docs/slosplit.md is made with -windows 2000 -first 100, the
// threshold was chosen with -windows 2000 -first 1.
var (
	runWindows = flag.Int("windows", 150, "unchanged windows of each service; from 1000 on all services are watched")
	runFirst   = flag.Uint64("first", 100, "first seed")
	runAt      = flag.Float64("threshold", DefaultThreshold, "of the monitor")
)

// watched are the services of the measured table: those of two applications with different
// mixes of CPU, waiting and calls, at rates that the event engine simulates fast.
var watched = []struct{ app, service string }{
	{"bookinfo", "productpage"}, {"bookinfo", "details"}, {"bookinfo", "reviews"}, {"bookinfo", "ratings"},
	{"sockshop", "front-end"}, {"sockshop", "catalogue"}, {"sockshop", "orders"}, {"sockshop", "carts"},
}

const runWindow = 30 * time.Second

// swell is a load that varies between a fifth and four fifths of the capacity, with a second
// wave on top, so that all windows differ.
type swell struct{ most float64 }

func (s swell) Rate(_ int, t time.Duration) (float64, time.Duration) {
	x := t.Hours()
	part := 0.5 + 0.22*math.Sin(2*math.Pi*x/1.5) + 0.08*math.Sin(2*math.Pi*x*5.3)
	return s.most * part, t + 5*time.Second
}

// alive is a service with its windows and its profile.
type alive struct {
	profile *Profile
	alone   *loadline.App
	most    float64
}

var liveServices = sync.OnceValues(func() ([]alive, error) {
	var list []alive
	for i, w := range watched {
		if *runWindows < 1000 && i%2 == 1 {
			continue // half of them are enough for a test
		}
		m, err := apps.Load(w.app)
		if err != nil {
			return nil, err
		}
		at := m.App.ServiceIndex(w.service)
		p, err := Measure(context.Background(), m.App, at, Options{Percentile: 99, Seeds: 2})
		if err != nil {
			return nil, err
		}
		alone, most, err := isolate(m.App, at)
		if err != nil {
			return nil, err
		}
		list = append(list, alive{p, alone, most})
	}
	return list, nil
})

const runReplicas = 2

// windows of two instances from a time on, under a part of their capacity, with visits that
// take k times as long.
func (a alive) windows(part, k float64, seed uint64, from time.Duration, n int) []Window {
	app := *a.alone
	app.Services = slices.Clone(a.alone.Services)
	s := &app.Services[0]
	s.Replicas, s.Bounds.MinReplicas, s.Bounds.MaxReplicas = runReplicas, runReplicas, runReplicas
	s.CPU.Mean = time.Duration(float64(s.CPU.Mean) * k)
	s.Wait.Mean = time.Duration(float64(s.Wait.Mean) * k)
	app.Nodes = slices.Clone(a.alone.Nodes)
	app.Nodes[0].Cores, app.Nodes[0].Memory = runReplicas*app.Nodes[0].Cores, runReplicas*app.Nodes[0].Memory
	load := later{swell{a.most * runReplicas * part}, from}
	e := event.New(sim.Config{App: &app, Load: load, Seed: seed})
	const begin = 20 * time.Second
	e.AdvanceTo(begin)
	m := &e.Meter().Services[0]
	before, since := sim.NewHistogram(sim.ExporterBits), sim.NewHistogram(sim.ExporterBits)
	var list []Window
	for i := range n {
		before.CopyFrom(m.Own)
		arrived, ended := m.Arrived, m.Ended
		e.AdvanceTo(begin + time.Duration(i+1)*runWindow)
		since.CopyFrom(m.Own)
		since.Sub(before)
		list = append(list, Window{
			At: sim.Epoch.Add(from + time.Duration(i+1)*runWindow), Load: (m.Arrived - arrived) / runWindow.Seconds() / runReplicas,
			Latency: since.Quantile(a.profile.Percentile/100) / 1e9, Visits: m.Ended - ended,
		})
	}
	return list
}

// changed is the true curve with visits that take k times as long.
func (a alive) changed(t *testing.T, k float64) *Curve {
	app := *a.alone
	app.Services = slices.Clone(a.alone.Services)
	s := &app.Services[0]
	s.CPU.Mean, s.Wait.Mean = time.Duration(float64(s.CPU.Mean)*k), time.Duration(float64(s.Wait.Mean)*k)
	p, err := Measure(context.Background(), &app, 0, Options{Percentile: 99, Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Curve()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type later struct {
	swell
	from time.Duration
}

func (l later) Rate(kind int, t time.Duration) (float64, time.Duration) {
	rate, until := l.swell.Rate(kind, t+l.from)
	return rate, until - l.from
}

// TestMonitorRarelyAlarmsForNothing: unchanged windows of the event engine, under a varying
// load.
func TestMonitorRarelyAlarmsForNothing(t *testing.T) {
	list, err := liveServices()
	if err != nil {
		t.Fatal(err)
	}
	windows, alarms := 0, 0
	for i, a := range list {
		m, err := NewMonitor(a.profile, MonitorConfig{Threshold: *runAt})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range a.windows(1, 1, *runFirst+uint64(i), 0, *runWindows) {
			if c, changed := m.Observe(w); changed {
				t.Logf("%s at %v: %v", a.profile.Service, sim.Since(w.At), c)
				if c.Kind == Jumped {
					alarms++
				}
			}
		}
		tally := m.Tally()
		windows += tally.Windows
		t.Logf("%-12s %d windows, %d skipped, %d alarms, spread %.2f, usual %.3f", a.profile.Service, tally.Windows, tally.Skipped,
			tally.Changes, m.spread.value(), m.usual.mean)
	}
	t.Logf("%d alarms in %d windows", alarms, windows)
	if most := 1 + windows/1000; alarms > most {
		t.Errorf("%d alarms in %d windows, at most one in a thousand is allowed", alarms, windows)
	}
}

// TestMonitorNoticesJumps within a few windows, and estimates their size.
func TestMonitorNoticesJumps(t *testing.T) {
	list, err := liveServices()
	if err != nil {
		t.Fatal(err)
	}
	const before = 40
	repeats, after := max(1, *runWindows/400), max(40, *runWindows/20)
	for _, jump := range []struct {
		factor float64
		within float64 // windows, in the median
	}{{2, 3}, {1.3, 6}, {0.7, 5}, {1.15, 25}} {
		if jump.factor == 1.15 && *runWindows < 1000 {
			continue // not detectable within a short test
		}
		t.Run(fmt.Sprint(jump.factor), func(t *testing.T) {
			part := min(1, 1/jump.factor) // within the capacity before and after
			var took, off []float64
			missed := 0
			for i, a := range list {
				truth := a.changed(t, jump.factor)
				for r := range repeats {
					seed := *runFirst + uint64(i+100*r)
					from := time.Duration(r) * 13 * time.Minute
					m, err := NewMonitor(a.profile, MonitorConfig{Threshold: *runAt})
					if err != nil {
						t.Fatal(err)
					}
					for _, w := range a.windows(part, 1, seed, from, before) {
						m.Observe(w)
					}
					noticed := 0
					for j, w := range a.windows(part, jump.factor, seed+50, from+before*runWindow, after) {
						if _, changed := m.Observe(w); changed && noticed == 0 {
							noticed = j + 1
						}
					}
					if noticed == 0 {
						missed++
						took = append(took, math.Inf(1))
						continue
					}
					took = append(took, float64(noticed))
					found, err := m.Profile().Curve()
					if err != nil {
						t.Fatal(err)
					}
					for _, load := range []float64{0.3, 0.45, 0.6, 0.72} {
						load *= truth.MaxLoad()
						off = append(off, math.Abs(found.At(min(load, found.MaxLoad()))/truth.At(load)-1))
					}
				}
			}
			slices.Sort(took)
			slices.Sort(off)
			n := len(took)
			t.Logf("x%v: noticed in %v windows in the median, %v in nine of ten, %d of %d not within %d; the new curve is off by "+
				"%.0f %% in the median, %.0f %% in nine of ten",
				jump.factor, median(took), took[n*9/10], missed, n, after, 100*median(off), 100*off[len(off)*9/10])
			if median(took) > jump.within {
				t.Errorf("noticed in %v windows in the median, want %v", median(took), jump.within)
			}
			if median(off) > 0.25 { // most of it had not been observed yet
				t.Errorf("the new curves are off by %v in the median", median(off))
			}
		})
	}
}
