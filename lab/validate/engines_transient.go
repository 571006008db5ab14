package validate

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// Transient is one scenario over time: a changing load, and plans during it.
type Transient struct {
	Name  string
	Cell  EngineCell
	Load  pieces
	Plans []timedPlan
	Until time.Duration
}

type timedPlan struct {
	at   time.Duration
	plan loadline.Plan
}

// pieces is a piecewise constant load.
type pieces []piece

type piece struct {
	from time.Duration
	rate float64
}

// Rate implements sim.Arrivals.
func (p pieces) Rate(_ int, t time.Duration) (float64, time.Duration) {
	at := 0
	for at+1 < len(p) && p[at+1].from <= t {
		at++
	}
	if at+1 < len(p) {
		return p[at].rate, p[at+1].from
	}
	return p[at].rate, sim.Never
}

// TransientResult is one scenario in both engines. It compares the share of requests
// over the SLO, by which policies are evaluated.
type TransientResult struct {
	Transient          Transient
	Event, Fluid       float64 // share of requests over the SLO, failures included
	EventP99, FluidP99 float64 // ms
}

// Transients are the published ones: a step, scale-out with start-up, overload
// and drain, each for a single service and a chain, in both CPU models.
func Transients() []Transient {
	var out []Transient
	for _, cpu := range []sim.CPUModel{sim.Quota, sim.Shared} {
		for _, shape := range []Shape{shapes[0], shapes[1]} {
			c := EngineCell{Shape: shape, CPU: cpu, Limit: 0.5, Replicas: 4, Demand: 10 * time.Millisecond, CV: 1}
			at := func(u float64) float64 { c.Utilisation = u; return c.Rate() }
			out = append(out,
				Transient{Name: "step from 40 % to 85 %", Cell: c, Until: 10 * time.Minute,
					Load: pieces{{0, at(0.4)}, {5 * time.Minute, at(0.85)}}},
				Transient{Name: "step to 150 %, doubled after 30 s", Cell: c, Until: 10 * time.Minute,
					Load:  pieces{{0, at(0.5)}, {4 * time.Minute, at(1.5)}},
					Plans: []timedPlan{{4*time.Minute + 30*time.Second, replicasOf(c, 8)}}},
				Transient{Name: "overload of 30 s, then drain", Cell: c, Until: 10 * time.Minute,
					Load: pieces{{0, at(0.5)}, {4 * time.Minute, at(1.4)}, {4*time.Minute + 30*time.Second, at(0.5)}}},
				Transient{Name: "scale-in from 4 to 3 at 60 %", Cell: c, Until: 10 * time.Minute,
					Load:  pieces{{0, at(0.6)}},
					Plans: []timedPlan{{5 * time.Minute, replicasOf(c, 3)}}},
			)
		}
	}
	return out
}

func replicasOf(c EngineCell, n int) loadline.Plan {
	var p loadline.Plan
	for i := range c.App().Services {
		p.Services = append(p.Services, loadline.ServicePlan{Service: i, Setting: loadline.Setting{Replicas: loadline.Some(n)}})
	}
	return p
}

// Run runs the scenario in both engines, the event engine with several seeds.
func (tr Transient) Run(seeds int) TransientResult {
	res := TransientResult{Transient: tr}
	sum := sim.NewHistogram(7)
	over, ended := 0.0, 0.0
	for s := range seeds {
		m := tr.play(event.New(tr.config(uint64(s))))
		sum.Merge(m.Kinds[0].Latency)
		over += m.Kinds[0].Over
		ended += m.Kinds[0].Ended
	}
	res.Event, res.EventP99 = over/ended, sum.Quantile(0.99)/1e6
	m := tr.play(fluid.New(tr.config(0), 5*time.Second))
	res.Fluid, res.FluidP99 = m.Kinds[0].Over/m.Kinds[0].Ended, m.Kinds[0].Latency.Quantile(0.99)/1e6
	return res
}

func (tr Transient) config(seed uint64) sim.Config {
	app := tr.Cell.App()
	app.Kinds[0].SLO.Latency = 250 * time.Millisecond
	app.Kinds[0].Timeout = 5 * time.Second
	return sim.Config{App: app, Load: tr.Load, Seed: seed, CPU: tr.Cell.CPU}
}

func (tr Transient) play(e sim.Engine) *sim.Meter {
	for _, p := range tr.Plans {
		e.AdvanceTo(p.at)
		e.Apply(p.plan)
	}
	e.AdvanceTo(tr.Until)
	e.Finish()
	return e.Meter()
}
