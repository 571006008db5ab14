package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

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
// for long.
func (r *runner) write(ctx context.Context, l *v1alpha1.LoadLine, status v1alpha1.LoadLineStatus, now time.Time) {
	if r.c.DryRun {
		return
	}
	r.events.conditions(l, r.status.Conditions, status.Conditions)
	if now.Sub(r.written) < quietFor && equalCalm(r.status, status) {
		return
	}
	if reflect.DeepEqual(r.status, status) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	if err := r.patch(ctx, l, status); err != nil {
		if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			r.log.Warn("status not written", "error", err)
		}
		return
	}
	r.status, r.written = status, now
}

// patch the status only: while we hold the lease, no other process writes it.
func (r *runner) patch(ctx context.Context, l *v1alpha1.LoadLine, status v1alpha1.LoadLineStatus) error {
	base := l.DeepCopy()
	base.Status = *r.status.DeepCopy()
	changed := base.DeepCopy()
	changed.Status = status
	err := r.c.Client.Status().Patch(ctx, changed, client.MergeFrom(base))
	return client.IgnoreNotFound(err)
}

// publishFailure reports why the application does not run, and when it restarts.
func (r *runner) publishFailure(ctx context.Context, err error, wait time.Duration) {
	l := r.latest.Load()
	r.log.Warn("LoadLine failed", "error", err, "restartIn", wait)
	now := r.c.Now()
	status := *r.status.DeepCopy()
	status.ObservedGeneration, status.Mode = l.Generation, l.Spec.Mode
	ready := notReady(err)
	ready.message = fmt.Sprintf("%s (next attempt in %v)", ready.message, wait)
	setConditions(&status, l.Generation, now, map[string]verdict{
		v1alpha1.ConditionReady:  ready,
		v1alpha1.ConditionActive: no(v1alpha1.ReasonNotReady, "see Ready"),
	})
	r.write(ctx, l, status, now)
}

// publishStandby reports that this process no longer decides. The process that
// takes over reports otherwise within an interval.
func (r *runner) publishStandby() {
	if r.c.DryRun || !r.c.ending() {
		return
	}
	l := r.latest.Load()
	status := *r.status.DeepCopy()
	setConditions(&status, l.Generation, r.c.Now(), map[string]verdict{
		v1alpha1.ConditionActive: {"Unknown", v1alpha1.ReasonStandby, "the process that decided has ended"},
	})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := r.patch(ctx, l, status); err != nil {
		r.log.Debug("last status not written", "error", err)
	}
}
