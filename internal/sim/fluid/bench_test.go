package fluid

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
)

// station40 is an application the size of Train Ticket: 40 services, 4 kinds,
// call trees of 45 calls.
func station40() *loadline.App {
	app := &loadline.App{Name: "forty"}
	for i := range 40 {
		s := server(fmt.Sprint("s", i), lognormalCPU(1+float64(i%7), 0.8), 0.5, 200, 100, 1+i%3)
		s.Wait = loadline.Dist{Mean: 500 * time.Microsecond, CV: 1}
		s.IdleCPU = 0.01
		app.Services = append(app.Services, s)
	}
	for k := range 4 {
		count := k
		var stages func(above, depth int) [][]loadline.Call
		stages = func(above, depth int) [][]loadline.Call {
			if depth == 0 {
				return nil
			}
			var out [][]loadline.Call
			for range 2 {
				var stage []loadline.Call
				for range 1 + depth%2 {
					count++
					at := above + 1 + count*3%4 // callees have higher numbers: no cycles
					stage = append(stage, tree(at, stages(at, depth-1)...))
				}
				out = append(out, stage)
			}
			return out
		}
		app.Kinds = append(app.Kinds, loadline.Kind{
			Name: fmt.Sprint("k", k), Share: 1, Root: tree(9*k, stages(9*k, 3)...),
			SLO: loadline.SLO{Percentile: 99, Latency: 300 * time.Millisecond}, Timeout: 5 * time.Second,
		})
	}
	return app
}

// wave is a load that changes at every step, like a day seen every 15 s.
type wave struct{ mean, swing, period float64 }

func (w wave) Rate(kind int, t time.Duration) (float64, time.Duration) {
	at := t.Truncate(15 * time.Second)
	return w.mean * (1 + w.swing*math.Sin(at.Seconds()/w.period*2*math.Pi+float64(kind))), at + 15*time.Second
}

// wantSteps is the required rate on one core.
const wantSteps = 1.5e6

func BenchmarkStep(b *testing.B) {
	for _, bench := range []struct {
		name    string
		load    sim.Arrivals
		noise   bool
		read    bool
		crowded bool
	}{
		{"constant", constant{5, 5, 5, 5}, false, false, false},
		{"a day", wave{5, .6, 86400}, false, false, false},
		{"a day, read every step", wave{5, .6, 86400}, false, true, false},
		{"a day on crowded nodes", wave{5, .6, 86400}, false, false, true},
		{"an hour", wave{5, .6, 3600}, false, false, false},
		{"noise", constant{5, 5, 5, 5}, true, false, false},
	} {
		b.Run(bench.name, func(b *testing.B) {
			app := station40()
			cfg := sim.Config{App: app, Load: bench.load}
			if bench.crowded {
				for i := range app.Services {
					app.Services[i].Size.CPULimit = 0
					app.Services[i].Size.CPURequest = .05
				}
				app.Nodes = []loadline.Node{{Name: "a", Cores: 8, Memory: 1 << 40}, {Name: "b", Cores: 8, Memory: 1 << 40}}
				cfg.Cluster.Neighbours = pool.Neighbours{Use: .45, Request: .4}
			}
			e := New(cfg, 15*time.Second)
			if bench.noise {
				e.AddNoise()
			}
			var r sim.Reading
			e.AdvanceTo(10 * time.Minute)
			e.Read(&r)
			b.ReportAllocs()
			t := e.now
			for b.Loop() {
				t += 15 * time.Second
				e.AdvanceTo(t)
				if bench.read {
					e.Read(&r)
				}
			}
			rate := float64(b.N*len(app.Services)) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "service-steps/s")
			b.ReportMetric(rate/wantSteps, "of-asked")
		})
	}
}
