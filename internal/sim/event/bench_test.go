package event

import (
	"runtime"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// wantEvents is the required rate on one core.
const wantEvents = 3e6

func benchmark(b *testing.B, cfg sim.Config) {
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
	b.ReportMetric(rate/wantEvents, "of-asked")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/events, "allocs/event")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkEvents: one op is a second of simulated time.
func BenchmarkEvents(b *testing.B) {
	b.Run("one replica, shared", func(b *testing.B) {
		benchmark(b, sim.Config{App: station(loadline.Dist{Mean: ms(1), CV: 1}, 1, many, 0, 1), Load: constant{700}, CPU: sim.Shared})
	})
	b.Run("one replica, quota", func(b *testing.B) {
		benchmark(b, sim.Config{App: station(loadline.Dist{Mean: ms(1), CV: 1}, 1, many, 0, 1), Load: constant{700}})
	})
	b.Run("shop on two nodes, quota", func(b *testing.B) {
		benchmark(b, sim.Config{App: shop(), Load: constant{60, 20}})
	})
}
