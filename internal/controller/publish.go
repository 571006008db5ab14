package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/loadline/loadline/api/v1alpha1"
)

const (
	// quietFor is how long a status may go unwritten in which nothing but figures
	// has changed.
	quietFor = 30 * time.Second
	// renewAfter is how often another model is looked for.
	renewAfter = 30 * time.Second
	// writeWithin is how long the API server may take to store a status.
	writeWithin = 5 * time.Second
)

// write the status if it has changed in more than figures, or has not been written
// for long. The error wraps errStale: a status that could not be written for another
// reason is written later.
func (r *runner) write(ctx context.Context, l *v1alpha1.LoadLine, status v1alpha1.LoadLineStatus, now time.Time) error {
	r.newest = status
	if r.c.DryRun {
		return nil
	}
	r.events.conditions(l, r.status.Conditions, status.Conditions)
	if now.Sub(r.written) < quietFor && equalCalm(r.status, status) {
		return nil
	}
	if reflect.DeepEqual(r.status, status) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	if err := r.patch(ctx, l, status); err != nil {
		if errors.Is(err, errStale) {
			return err
		}
		if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			r.log.Warn("status not written", "error", err)
		}
		return nil
	}
	r.status, r.written = status, now
	return nil
}

// publishFailure reports why the application does not run, and when it restarts.
func (r *runner) publishFailure(ctx context.Context, err error, wait time.Duration) {
	l := r.latest.Load()
	r.log.Warn("LoadLine failed", "error", err, "restartIn", wait)
	now := r.c.Now()
	status := *r.newest.DeepCopy()
	status.ObservedGeneration, status.Mode = l.Generation, l.Spec.Mode
	ready := notReady(err)
	ready.message = fmt.Sprintf("%s (next attempt in %v)", ready.message, wait)
	setConditions(&status, l.Generation, now, map[string]verdict{
		v1alpha1.ConditionReady:  ready,
		v1alpha1.ConditionActive: no(v1alpha1.ReasonNotReady, "see Ready"),
	})
	if err := r.write(ctx, l, status, now); err != nil {
		r.log.Warn("status not written", "error", err)
	}
}

// publishStandby reports that this process no longer decides. The process that
// takes over reports otherwise within an interval.
func (r *runner) publishStandby() {
	if r.c.DryRun || !r.c.ending() {
		return
	}
	l := r.latest.Load()
	status := *r.newest.DeepCopy()
	setConditions(&status, l.Generation, r.c.Now(), map[string]verdict{
		v1alpha1.ConditionActive: {"Unknown", v1alpha1.ReasonStandby, "the process that decided has ended"},
	})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := r.patch(ctx, l, status); err != nil {
		r.log.Debug("last status not written", "error", err)
	}
}
