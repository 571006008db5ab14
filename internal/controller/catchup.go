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
	if m := r.memory; !m.At.IsZero() && now.Sub(m.At) <= 2*a.Needs.Period {
		a.guarded.Resume(m, now, now)
		return
	}
	m := resource.Recall(&r.newest)
	if m.At.IsZero() {
		return // nothing is known: the windows fill from now on
	}
	from := a.guarded.ReplayFrom(m, now)
	a.guarded.Resume(m, from, now)
	select {
	case r.c.replays <- struct{}{}:
		defer func() { <-r.c.replays }()
	default:
		return // many start at once: their windows fill pass by pass
	}
	ctx, cancel := context.WithTimeout(ctx, replayWithin)
	defer cancel()
	passes, err := a.replay(ctx, m, from, now)
	if err != nil {
		r.log.Info("the past was not read from Prometheus: nothing is reduced until the windows have filled", "passes", passes,
			"error", err)
	}
}

const (
	// replayWithin is how long reading the past from Prometheus may take: the first
	// pass, and with it the first raise, waits for it.
	replayWithin = 5 * time.Second
	// replaysAtOnce is for how many applications the past is read at the same time: a
	// new leader starts all of them at once.
	replaysAtOnce = 8
)

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
