package papers

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

// trial is a run in the event engine: the source of all final figures.
type trial struct {
	app      *loadline.App
	load     *workload.Workload
	policy   string             // by name, or
	model    *formulation.Model // trained, or
	decider  loadline.Policy
	seed     uint64
	warmUp   time.Duration
	restarts bool
	disturb  []sim.Disturbance
	decision func(*loadline.Decision)
	scrape   func(*sim.Reading, *sim.ControlPlane)
	cpuTime  func() time.Duration // of the calling thread
}

func (t trial) run(ctx context.Context) (*simulate.Outcome, error) {
	load, err := t.load.For(t.app)
	if err != nil {
		return nil, err
	}
	if t.model != nil {
		if t.decider, err = formulation.NewPolicy(t.model, t.app); err != nil {
			return nil, err
		}
	}
	spec := simulate.Spec{
		App: t.app, Load: load, Workload: t.load.Name, Policy: t.policy, Decider: t.decider, Engine: "event",
		Duration: t.load.Duration(), Seed: t.seed, WarmUp: t.warmUp, Hooks: simulate.Hooks{Decision: t.decision, Scrape: t.scrape,
			CPUTime: t.cpuTime},
	}
	spec.Perturb.ResizeRestarts, spec.Perturb.Disturbances = t.restarts, t.disturb
	out, err := simulate.Run(ctx, spec)
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%s on %s: %w", t.policy, t.app.Name, err)
	}
	return out, err
}

// appNamed is a copy of an embedded application.
func appNamed(name string) (*loadline.App, error) {
	m, err := apps.Load(name)
	if err != nil {
		return nil, err
	}
	return m.App, nil
}

// lively is a stretch of a load with much variation, though not the most: one in ten stretches
// has a larger sum of changes from bin to bin. The most extreme stretch of one part of a trace
// has no counterpart in another, and settings chosen on it fit nothing else.
func lively(w *workload.Workload, length time.Duration) (*workload.Workload, error) {
	n := int(length / w.Step)
	if n < 1 || len(w.Rates) <= n {
		return w, nil
	}
	moves := make([]float64, len(w.Rates)-n+1)
	for i := range moves {
		for j := i + 1; j < i+n; j++ {
			moves[i] += math.Abs(w.Rates[j] - w.Rates[j-1])
		}
	}
	want := slices.Sorted(slices.Values(moves))[len(moves)*9/10]
	at := slices.Index(moves, want)
	return w.Slice(time.Duration(at)*w.Step, time.Duration(at+n)*w.Step)
}
