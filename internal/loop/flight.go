package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// flight is a plan on its way: decided, and not yet with the cluster.
type flight struct {
	due      time.Time
	decision loadline.Decision
}

// ErrNotApplied is in the record of a plan that was still under way when the
// loop ended.
var ErrNotApplied = errors.New("the run ended before the plan was applied")

// launch sends a decision on its way. What is due now, or changes nothing, is
// done with at once.
func (l *Loop) launch(ctx context.Context, d loadline.Decision, due time.Time) error {
	if len(d.Plan.Services) == 0 {
		l.record(&d)
		return nil
	}
	// A quick decision may overtake a slow one; equals keep their order.
	i := len(l.inFlight)
	for i > 0 && l.inFlight[i-1].due.After(due) {
		i--
	}
	l.inFlight = slices.Insert(l.inFlight, i, flight{due: due, decision: d})
	return l.land(ctx)
}

// waitApplying waits until an instant and applies on the way what falls due.
func (l *Loop) waitApplying(ctx context.Context, until time.Time) error {
	for len(l.inFlight) > 0 && !l.inFlight[0].due.After(until) {
		if err := l.Clock.WaitUntil(ctx, l.inFlight[0].due); err != nil {
			return err
		}
		if err := l.land(ctx); err != nil {
			return err
		}
	}
	return l.Clock.WaitUntil(ctx, until)
}

// land applies every plan that is due.
func (l *Loop) land(ctx context.Context) error {
	now := l.Clock.Now()
	for len(l.inFlight) > 0 && !l.inFlight[0].due.After(now) {
		d := l.inFlight[0].decision
		l.inFlight = slices.Delete(l.inFlight, 0, 1)
		if err := l.Cluster.Apply(ctx, d.Plan); err != nil {
			d.Err = fmt.Errorf("apply: %w", err)
			l.notApplied(&d)
		} else {
			d.Applied = now
		}
		l.record(&d)
	}
	return ctx.Err()
}

// dropInFlight records the plans that will never arrive.
func (l *Loop) dropInFlight() {
	for i := range l.inFlight {
		d := &l.inFlight[i].decision
		d.Err = ErrNotApplied
		l.record(d)
	}
	l.inFlight = nil
}

// expected is the allocation once everything under way has arrived.
func (l *Loop) expected() []loadline.Allocation {
	l.arriving = append(l.arriving[:0], l.allocated...)
	for i := range l.inFlight {
		for _, p := range l.inFlight[i].decision.Plan.Services {
			l.arriving[p.Service] = l.arriving[p.Service].With(p.Setting)
		}
	}
	return l.arriving
}
