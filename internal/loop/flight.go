package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// flight is a plan in flight: decided, and not yet applied.
type flight struct {
	due      time.Time
	pass     uint64
	decision loadline.Decision
}

// ErrNotApplied is recorded for a plan that was still in flight when the run
// ended.
var ErrNotApplied = errors.New("the run ended before the plan was applied")

// apply puts the plan in flight for the policy's delay. A plan that is due now is
// applied and recorded at once, as is a decision without a plan.
func (l *Loop) apply(ctx context.Context, p *Pass) error {
	if len(p.Decision.Plan.Services) == 0 && !p.Decision.Plan.Reserve.Set {
		l.recordPass(p)
		return nil
	}
	due := p.Decision.At
	if !l.Immediate {
		due = due.Add(l.Policy.Needs().Delay)
	}
	// A quick decision may overtake a slow one; those due together keep their order.
	i := len(l.inFlight)
	for i > 0 && l.inFlight[i-1].due.After(due) {
		i--
	}
	l.inFlight = slices.Insert(l.inFlight, i, flight{due: due, pass: l.passes, decision: p.Decision})
	return l.applyDue(ctx)
}

// WaitUntil waits until an instant and applies the plans that fall due on the
// way.
func (l *Loop) WaitUntil(ctx context.Context, until time.Time) error {
	for len(l.inFlight) > 0 && !l.inFlight[0].due.After(until) {
		if err := l.Clock.WaitUntil(ctx, l.inFlight[0].due); err != nil {
			return err
		}
		if err := l.applyDue(ctx); err != nil {
			return err
		}
	}
	return l.Clock.WaitUntil(ctx, until)
}

// applyDue applies every plan that is due.
func (l *Loop) applyDue(ctx context.Context) error {
	now := l.Clock.Now()
	for len(l.inFlight) > 0 && !l.inFlight[0].due.After(now) {
		l.landed = l.inFlight[0]
		l.inFlight = slices.Delete(l.inFlight, 0, 1)
		d := &l.landed.decision
		if err := l.Cluster.Apply(ctx, d.Plan); err != nil {
			d.Err = fmt.Errorf("apply: %w", err)
			l.reserve = loadline.Opt[loadline.Room]{} // planned again
		} else {
			d.Applied = now
		}
		if l.landed.pass == l.passes {
			l.pass.Decision = *d
			l.recordPass(&l.pass)
			continue
		}
		l.record(d)
		l.reuse(d.Plan)
	}
	return ctx.Err()
}

// reuse keeps a recorded plan's memory for the next one: training makes millions
// of plans.
func (l *Loop) reuse(plan loadline.Plan) {
	if cap(plan.Services) > 0 {
		l.spare = append(l.spare, plan.Services[:0])
	}
}

// takeSpare is empty memory for a plan; nil if there is none.
func (l *Loop) takeSpare() []loadline.ServicePlan {
	n := len(l.spare)
	if n == 0 {
		return nil
	}
	plan := l.spare[n-1]
	l.spare = l.spare[:n-1]
	return plan
}

// dropInFlight records the plans that will not be applied.
func (l *Loop) dropInFlight() {
	for i := range l.inFlight {
		d := &l.inFlight[i].decision
		d.Err = ErrNotApplied
		l.record(d)
	}
	l.inFlight = l.inFlight[:0]
}

// expecting is a cluster that knows of plans in flight which this loop has not
// made, such as a recorded one.
type expecting interface {
	// InFlight appends the allocation of each service with those plans.
	InFlight(into []loadline.Allocation) []loadline.Allocation
}

// expected is the allocation once all plans in flight are applied.
func (l *Loop) expected() []loadline.Allocation {
	if c, ok := l.Cluster.(expecting); ok {
		l.arriving = c.InFlight(l.arriving[:0])
	} else {
		l.arriving = append(l.arriving[:0], l.allocated...)
	}
	for i := range l.inFlight {
		for _, p := range l.inFlight[i].decision.Plan.Services {
			l.arriving[p.Service] = l.arriving[p.Service].With(p.Setting)
		}
	}
	return l.arriving
}
