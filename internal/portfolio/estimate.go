package portfolio

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/sim/fluid"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
)

// Limits of an estimate.
const (
	// LeastLoad is the shortest load that deployments are estimated under.
	LeastLoad = time.Hour
	// mostWork is the service-passes of all deployments of one estimate. It bounds the load that a
	// large application is estimated under, whatever the speed of the machine.
	mostWork = 30_000
	warmUp   = 10 * time.Minute // from the first replicas; not evaluated
)

// ErrTooSlow is an estimate that took more CPU time than it may.
var ErrTooSlow = errors.New("the estimate takes too much CPU time")

// Question is what deployments are estimated with. Everything is as a LoadLine runs.
type Question struct {
	App      *loadline.App // the twin
	Load     *RecordedLoad
	Guard    guard.Settings
	Axes     []string
	Interval time.Duration
	Prices   pool.Prices
	// Pace is called after each simulated scrape, to wait, and ends the estimate if it returns an
	// error. It may be nil.
	Pace func() error
}

// Candidate to estimate: the policy of its notation, or a policy that is made anew for it.
type Candidate struct {
	Deployment
	Decider func() (loadline.Policy, error) // nil = by the notation
}

// Estimate of a deployment, by the twin in the fluid engine.
type Estimate struct {
	Label    string
	PerMonth float64
	Over     float64 // share of the requests over the SLO or failed
}

// Within is the question under as much of the load as the work of so many deployments allows.
func (q Question) Within(deployments int) Question {
	passes := mostWork / max(len(q.App.Services)*deployments, 1)
	q.Load = q.Load.Since(max(time.Duration(passes)*q.Interval, LeastLoad).Truncate(loadStep))
	return q
}

// Ask for one deployment. The same question has the same answer.
func (q Question) Ask(ctx context.Context, c Candidate) (Estimate, error) {
	if q.Load.Duration() < LeastLoad {
		return Estimate{}, fmt.Errorf("the load is known for %v, an estimate needs %v", q.Load.Duration(), LeastLoad)
	}
	if err := fluid.Check(q.App); err != nil {
		return Estimate{}, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	first := make([]float64, len(q.App.Kinds))
	for k := range first {
		first[k], _ = q.Load.Rate(k, 0)
	}
	spec := simulate.Spec{
		App: apps.SizedFor(q.App, first, 0.5), Load: q.Load, Policy: c.Policy, Guard: c.Fallback, Axes: q.Axes, Engine: "fluid",
		Duration: q.Load.Duration(), WarmUp: warmUp, Seed: 1, Begin: q.Load.From, Cluster: pool.Cluster{Prices: q.Prices},
		Hooks: simulate.Hooks{Progress: func(time.Duration) {
			if q.Pace == nil {
				return
			}
			if err := q.Pace(); err != nil {
				stop(err)
			}
		}},
	}
	if c.Fallback != "" {
		spec.GuardSettings, spec.Interval = &q.Guard, q.Interval
	}
	if c.Decider != nil {
		p, err := c.Decider()
		if err != nil {
			return Estimate{}, err
		}
		spec.Decider, spec.Policy = p, c.Label
	}
	out, err := simulate.Run(ctx, spec)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return Estimate{}, fmt.Errorf("estimate %s: %w", c.Label, err)
	}
	return Estimate{c.Label, pipeline.PerMonth(&out.Result, q.Prices), float64(out.Result.Degraded())}, nil
}
