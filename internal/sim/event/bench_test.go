package event

import (
	"runtime"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// Required rates on one core: one application by itself, and beside neighbours, whose own
// events do not count.
const (
	wantEvents        = 3e6
	wantCrowdedEvents = 4e6
)

func benchmark(b *testing.B, cfg sim.Config, want float64) {
	e := New(cfg)
	e.AdvanceTo(10 * time.Second) // let the slices grow first
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := e.Events()
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n++ {
		e.AdvanceTo(e.time() + time.Second)
	}
	b.StopTimer()
	runtime.ReadMemStats(&after)
	events := float64(e.Events() - start)
	rate := events / b.Elapsed().Seconds()
	b.ReportMetric(rate, "events/s")
	b.ReportMetric(rate/want, "of-asked")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/events, "allocs/event")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkEvents: one op is a second of simulated time.
func BenchmarkEvents(b *testing.B) {
	b.Run("one replica, shared", func(b *testing.B) {
		benchmark(b, sim.Config{App: station(loadline.Dist{Mean: ms(1), CV: 1}, 1, many, 0, 1), Load: constant{700}, CPU: sim.Shared},
			wantEvents)
	})
	b.Run("one replica, quota", func(b *testing.B) {
		benchmark(b, sim.Config{App: station(loadline.Dist{Mean: ms(1), CV: 1}, 1, many, 0, 1), Load: constant{700}}, wantEvents)
	})
	b.Run("shop on two nodes, quota", func(b *testing.B) {
		benchmark(b, sim.Config{App: shop(), Load: constant{60, 20}}, wantEvents)
	})
	b.Run("shop x10 on 16 nodes beside neighbours at 70 %", func(b *testing.B) {
		benchmark(b, crowdedShop(0.7), wantCrowdedEvents)
	})
}

// crowdedShop is the shop for ten times its load on 16 nodes of 4 cores, without CPU limits.
func crowdedShop(use float64) sim.Config {
	app := shop()
	app.Nodes = nil
	onNodes(app, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4)
	for i := range app.Services {
		app.Services[i].Replicas *= 10
		app.Services[i].Size.CPULimit = 0
		app.Services[i].Size.CPURequest /= 3
		app.Services[i].IdleCPU = 0.01
	}
	return sim.Config{App: app, Load: constant{600, 200}, Cluster: neighbours(use, use/2, 0)}
}

// BenchmarkNeighbours advances the same application with and without neighbours in turn, and
// reports the ratio of their speeds: how much of the speed neighbours leave.
func BenchmarkNeighbours(b *testing.B) {
	alone, crowded := New(crowdedShop(0)), New(crowdedShop(0.7))
	alone.AdvanceTo(10 * time.Second)
	crowded.AdvanceTo(10 * time.Second)
	rate := func(e *Engine, spent *time.Duration, events *uint64) {
		before, from := e.Events(), time.Now()
		e.AdvanceTo(e.time() + 200*time.Millisecond)
		*spent += time.Since(from)
		*events += e.Events() - before
	}
	var spent [2]time.Duration
	var events [2]uint64
	for b.Loop() {
		rate(alone, &spent[0], &events[0])
		rate(crowded, &spent[1], &events[1])
	}
	with, without := float64(events[1])/spent[1].Seconds(), float64(events[0])/spent[0].Seconds()
	b.ReportMetric(with, "events/s")
	b.ReportMetric(with/without, "of-alone")
	b.ReportMetric(0, "ns/op")
}
