package fluid

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
)

func TestTransients(t *testing.T) {
	if os.Getenv("TRANS") == "" {
		t.Skip()
	}
	type scen struct {
		name    string
		c       cell
		factors steps // times load 1.0
		plan    func(e sim.Engine, at time.Duration)
		timeout time.Duration
		step    time.Duration
	}
	scale := func(n int, when time.Duration) func(e sim.Engine, at time.Duration) {
		return func(e sim.Engine, at time.Duration) {
			if at == when {
				e.Apply(loadline.Plan{Services: []loadline.ServicePlan{{Service: 0, Setting: loadline.Setting{Replicas: loadline.Some(n)}}}})
			}
		}
	}
	up := steps{{0, .5}, {120 * time.Second, .9}}
	over := steps{{0, .6}, {120 * time.Second, 1.5}, {180 * time.Second, .6}}
	mild := steps{{0, .6}, {120 * time.Second, 1.1}, {300 * time.Second, .6}}
	stay := steps{{0, .6}, {120 * time.Second, 1.5}}
	var all []scen
	for m := range 2 {
		base := cell{cpu: sim.CPUModel(m), load: 1, limit: 1, demand: 10, cv: 1, replicas: 2, depth: 1}
		three := base
		three.depth = 3
		small := base
		small.limit, small.workers = .5, 16
		all = append(all,
			scen{"step", base, up, nil, 0, 15 * time.Second},
			scen{"overload", base, over, nil, 0, 15 * time.Second},
			scen{"overload 60s steps", base, over, nil, 0, 60 * time.Second},
			scen{"overload, timeout", base, over, nil, 2 * time.Second, 15 * time.Second},
			scen{"mild overload", base, mild, nil, 0, 15 * time.Second},
			scen{"overload, scale out", base, stay, scale(4, 150*time.Second), 0, 15 * time.Second},
			scen{"overload of chain", three, over, nil, 0, 15 * time.Second},
			scen{"chain, timeout", three, over, nil, 2 * time.Second, 15 * time.Second},
			scen{"few workers", small, over, nil, 0, 15 * time.Second},
			scen{"few workers timeout", small, over, nil, 3 * time.Second, 15 * time.Second},
			scen{"scale in", base, steps{{0, .3}}, scale(1, 150*time.Second), 0, 15 * time.Second},
		)
	}
	for _, s := range all {
		app, rate := s.c.app()
		app.Kinds[0].Timeout = s.timeout
		load := append(steps{}, s.factors...)
		for i := range load {
			load[i].rate *= rate
		}
		run := func(e sim.Engine) *sim.Meter {
			for at := 15 * time.Second; at <= 6*time.Minute; at += 15 * time.Second {
				e.AdvanceTo(at)
				if s.plan != nil {
					s.plan(e, at)
				}
			}
			e.Finish()
			return e.Meter()
		}
		cfg := sim.Config{App: app, Load: load, CPU: s.c.cpu}
		var ev [6]float64
		const n = 5
		for seed := range n {
			cfg.Seed = uint64(seed)
			m := run(event.New(cfg))
			k := m.Kinds[0]
			for i, v := range []float64{k.Over / k.Ended, k.Failed / k.Ended, k.TimedOut / k.Ended, k.Latency.Quantile(.99) / 1e9, m.Services[0].CPUSeconds, m.Services[0].CoreSeconds} {
				ev[i] += v / n
			}
		}
		m := run(New(cfg, s.step))
		k := m.Kinds[0]
		fmt.Printf("%-20s model %d over %.3f (event %.3f) failed %.3f (%.3f) timedout %.3f (%.3f) p99 %.2fs (%.2fs) cpu %.1f (%.1f) cost %.1f (%.1f)\n", s.name, s.c.cpu,
			k.Over/k.Ended, ev[0], k.Failed/k.Ended, ev[1], k.TimedOut/k.Ended, ev[2], k.Latency.Quantile(.99)/1e9, ev[3], m.Services[0].CPUSeconds, ev[4], m.Services[0].CoreSeconds, ev[5])
	}
}
