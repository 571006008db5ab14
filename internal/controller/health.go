package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Work of an application has deadlines, so that a slow Prometheus or API server delays a pass and does
// not keep it. What goes on for much longer does not heed its deadline: a deadlock, or a computation
// without end. Then the process must be restarted, since nothing else ends it.
const (
	// passPeriods and minPass are the deadline of a pass: a reading takes one period at most, and the
	// writes of many services a few seconds.
	passPeriods = 4
	minPass     = 2 * time.Minute
	// openWithin is the deadline of assembling an application, which reads some objects.
	openWithin = 2 * time.Minute
	// stuckAfter is how many deadlines work may take until it counts as stuck.
	stuckAfter = 3
)

// passWithin is the deadline of a pass.
func passWithin(period time.Duration) time.Duration { return max(passPeriods*period, minPass) }

// pulse is the work that a runner does now. It may be read at any time.
type pulse struct{ now atomic.Pointer[working] }

type working struct {
	what     string
	began    time.Time
	deadline time.Duration
}

// work runs something with a deadline, and shows it meanwhile.
func (p *pulse) work(ctx context.Context, what string, now time.Time, within time.Duration, do func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	p.now.Store(&working{what, now, within})
	defer p.now.Store(nil)
	do(ctx)
}

// stuck is what has gone on for too long; empty = nothing.
func (p *pulse) stuck(now time.Time) string {
	w := p.now.Load()
	if w == nil || now.Sub(w.began) <= stuckAfter*w.deadline {
		return ""
	}
	return fmt.Sprintf("%s since %v, which has a deadline of %v", w.what, now.Sub(w.began).Round(time.Second), w.deadline)
}

// Alive returns an error if the loop of an application is stuck: only a restart helps.
func (c *Controller) Alive() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var stuck []string
	for name, r := range c.runs {
		if what := r.pulse.stuck(c.Now()); what != "" {
			stuck = append(stuck, name.String()+": "+what)
		}
	}
	if len(stuck) == 0 {
		return nil
	}
	slices.Sort(stuck)
	return errors.New("stuck: " + strings.Join(stuck, "; "))
}

// Health answers probes. As a runnable of the manager it is started when the caches are in sync, in
// standbys too.
type Health struct {
	Controller *Controller
	synced     atomic.Bool
}

// Start notes that the caches are in sync.
func (h *Health) Start(ctx context.Context) error {
	h.synced.Store(true)
	<-ctx.Done()
	h.synced.Store(false)
	return nil
}

// NeedLeaderElection is false: standbys answer probes.
func (h *Health) NeedLeaderElection() bool { return false }

// Live returns an error if the process must be restarted.
func (h *Health) Live() error { return h.Controller.Alive() }

// Ready returns an error until the caches are in sync, and if a loop is stuck.
func (h *Health) Ready() error {
	if !h.synced.Load() {
		return errors.New("the caches of the API server's objects are not in sync")
	}
	return h.Controller.Alive()
}
