package controller

import (
	"context"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/resource"
)

// catchUp gives the guards of an application what they would know if this process had
// always run it: what the status says of changes and watched reductions, and what
// Prometheus has stored of the last minutes. Guards that an earlier spec had in this
// process hand on everything they know.
func (r *runner) catchUp(ctx context.Context, a *application) {
	now := r.c.Now()
	if m := r.memory; !m.At.IsZero() {
		a.guarded.Resume(m, now, now)
		return
	}
	m := resource.Recall(&r.newest)
	if m.At.IsZero() {
		return // nothing is known: the windows fill from now on
	}
	from := a.guarded.ReplayFrom(m, now)
	a.guarded.Resume(m, from, now)
	ctx, cancel := context.WithTimeout(ctx, replayWithin)
	defer cancel()
	passes, err := a.replay(ctx, m, from, now)
	if err != nil && ctx.Err() == nil {
		r.log.Warn("past not read from Prometheus; nothing is reduced until the windows have filled", "error", err)
	} else {
		r.log.Debug("past read from Prometheus", "from", from, "passes", passes)
	}
}

// replayWithin is how long reading the past from Prometheus may take.
const replayWithin = 20 * time.Second

// replay shows the guards the passes from an instant until now, as Prometheus has
// stored them.
func (a *application) replay(ctx context.Context, m guard.Memory, from, now time.Time) (passes int, err error) {
	if err := a.cluster.look(ctx); err != nil {
		return 0, err
	}
	is := a.cluster.Allocation(nil)
	var o loadline.Observation
	for at := from; at.Before(now); at = at.Add(a.Needs.Period) {
		if err := a.cluster.past(ctx, at, m, &o); err != nil {
			return passes, err
		}
		a.guarded.Replay(at, &o, is)
		passes++
	}
	return passes, nil
}

// past fills an observation with what Prometheus has stored of an instant. The API
// server knows the pods of now only: see guard.AsOf.
func (c *cluster) past(ctx context.Context, at time.Time, m guard.Memory, into *loadline.Observation) error {
	c.begin(into, at)
	if err := c.measure(ctx, at, into); err != nil {
		return err
	}
	for i := range into.Services {
		guard.AsOf(&into.Services[i], at, m.ReducedSince(c.app.App.Services[i].Name, at))
	}
	return nil
}
