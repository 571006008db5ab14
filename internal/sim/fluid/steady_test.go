package fluid_test

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// steadyLoad is a constant load by kind.
type steadyLoad []float64

func (c steadyLoad) Rate(kind int, _ time.Duration) (float64, time.Duration) {
	return c[kind], sim.Never
}

// stationsOf is each service of an application as it is deployed.
func stationsOf(app *loadline.App) []*fluid.Station {
	all, topology := fluid.NewStations(app), formulation.NewTopology(app)
	stations := make([]*fluid.Station, len(app.Services))
	for i := range app.Services {
		s, g := &app.Services[i], &topology.Services[i]
		work := g.CPU / (s.CPU.Mean.Seconds() * s.VersionCPU())
		stations[i] = all.Of(i, s.Replicas, s.Size, work, g.Below, []float64{work})
	}
	return stations
}

func TestStationsAgreeWithTheEngineInSteadyState(t *testing.T) {
	for _, name := range []string{"boutique", "bookinfo", "sockshop"} {
		model, err := apps.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		app := model.App
		for i := range app.Services {
			app.Services[i].Replicas = 4
		}
		shares := 0.0
		for k := range app.Kinds {
			shares += app.Kinds[k].Share
		}
		load := make(steadyLoad, len(app.Kinds))
		for k := range load {
			load[k] = 40 * app.Kinds[k].Share / shares
		}
		engine := fluid.New(sim.Config{App: app, Load: load, WarmUp: time.Minute}, 5*time.Second)
		engine.AdvanceTo(5 * time.Minute)
		engine.Finish()
		for i, s := range stationsOf(app) {
			m := &engine.Meter().Services[i]
			rate := m.Arrived / (5 * time.Minute).Seconds()
			if m.Own.Count() == 0 || rate > 0.9*s.Saturation() {
				continue
			}
			want, got := m.Own.Quantile(0.99)/1e9, s.Latency(rate, 0, 0.99)
			if math.Abs(got-want) > 0.25*want+0.001 {
				t.Errorf("%s %s at %.1f visits/s: p99 %.2f ms, the engine has %.2f ms", name, app.Services[i].Name, rate, 1e3*got, 1e3*want)
			}
		}
	}
}

func within(seconds float64) []loadline.SLO {
	return []loadline.SLO{{Percentile: 99, Latency: time.Duration(seconds * float64(time.Second))}}
}

func TestCapacityIsWhereTheLatencyMeetsTheTime(t *testing.T) {
	model, err := apps.Load("boutique")
	if err != nil {
		t.Fatal(err)
	}
	app := model.App
	for i, s := range stationsOf(app) {
		unloaded := s.Latency(0.01*s.Saturation(), 0, 0.99)
		capacity := s.Capacity(within(5 * unloaded))
		below, above := s.Latency(0.99*capacity, 0, 0.99), s.Latency(1.02*capacity, 0, 0.99)
		if capacity <= 0 || below > 5*unloaded || above < 5*unloaded {
			t.Errorf("%s: capacity %.1f of %.1f visits/s, p99 %.4f s below and %.4f s above it, %.4f s allowed", app.Services[i].Name, capacity,
				s.Saturation(), below, above, 5*unloaded)
		}
		if none := s.Capacity(within(unloaded / 2)); none != 0 {
			t.Errorf("%s: %.1f visits/s within half of what an idle one takes", app.Services[i].Name, none)
		}
		if !math.IsInf(s.Latency(1.01*s.Saturation(), 0, 0.99), 1) {
			t.Errorf("%s: a steady state beyond saturation", app.Services[i].Name)
		}
	}
}

func BenchmarkStation(b *testing.B) {
	model, err := apps.Load("boutique")
	if err != nil {
		b.Fatal(err)
	}
	app := model.App
	all := fluid.NewStations(app)
	b.Run("make", func(b *testing.B) {
		for b.Loop() {
			all.Of(0, 4, app.Services[0].Size, 1, 0.01, []float64{1})
		}
	})
	s := all.Of(0, 4, app.Services[0].Size, 1, 0.01, []float64{1})
	b.Run("capacity", func(b *testing.B) {
		for b.Loop() {
			s.Capacity(within(0.2))
		}
	})
}
