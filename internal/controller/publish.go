package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/resource"
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
	if now.Sub(r.written) < quietFor && equalCalm(r.status, status) && !wantsMore(r.status, status) {
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

// writeAhead stores a plan in the status before it is applied: the sizes, replicas and
// brownouts that it leads to. A plan that browns out needs the finalizer, too.
func (r *runner) writeAhead(ctx context.Context, a *application, plan loadline.Plan) error {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	l := r.latest.Load()
	status := a.cluster.planned(r.newest, plan)
	resource.Remember(&status, a.guarded.Memory(a.cluster.passTime()))
	status.ObservedGeneration, status.Agent = l.Generation, r.c.Agent
	if len(status.BrownedOut) > 0 {
		if err := r.c.setFinalizer(ctx, l, true); err != nil {
			return err
		}
		r.finalizer = true
	}
	if reflect.DeepEqual(r.status, status) {
		return nil
	}
	if err := r.patch(ctx, l, status); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	recorded := len(status.BrownedOut) > len(r.status.BrownedOut)
	r.newest, r.status = status, status
	if recorded {
		return r.checkRecorded(ctx, l)
	}
	return nil
}

// checkRecorded checks that brownouts are in the stored status: the API server drops
// fields that its definition of the resource does not have.
func (r *runner) checkRecorded(ctx context.Context, l *v1alpha1.LoadLine) error {
	var stored v1alpha1.LoadLine
	if err := r.c.Live.Get(ctx, client.ObjectKeyFromObject(l), &stored); err != nil {
		return fmt.Errorf("read the status: %w", err)
	}
	if len(stored.Status.BrownedOut) < len(r.status.BrownedOut) {
		return errors.New("the API server does not store status.brownedOut: its definition of LoadLine is of an earlier version: " +
			"apply deploy/crd")
	}
	return nil
}

// syncFinalizer removes the finalizer once the stored status has no brownouts, and adds
// it where others have removed it.
func (r *runner) syncFinalizer(ctx context.Context, l *v1alpha1.LoadLine) {
	needed := len(r.status.BrownedOut) > 0
	has := controllerutil.ContainsFinalizer(l, v1alpha1.BrownoutFinalizer) || !needed && r.finalizer
	if r.c.DryRun || needed == has || !l.DeletionTimestamp.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	err := r.c.setFinalizer(ctx, l, needed)
	switch {
	case err == nil:
		r.finalizer = needed
	case !apierrors.IsNotFound(err) && ctx.Err() == nil:
		r.log.Warn("finalizer not updated", "error", err)
	}
}

// publishFailure reports why the application does not run, and when it restarts.
func (r *runner) publishFailure(ctx context.Context, err error, wait time.Duration) {
	l := r.latest.Load()
	r.log.Warn("LoadLine failed", "error", err, "restartIn", wait)
	now := r.c.Now()
	status := *r.newest.DeepCopy()
	status.ObservedGeneration, status.Mode, status.Agent = l.Generation, l.Spec.Mode, r.c.Agent
	if wait >= longestRetry && !r.c.DryRun { // it has failed for about a minute: nothing else ends its brownouts
		failed := *l
		failed.Status = status
		var unrestored error
		status.BrownedOut, unrestored = r.restoreAll(ctx, &failed, "the LoadLine fails", l.Pause())
		err = errors.Join(err, unrestored)
	}
	ready := notReady(err)
	ready.message = fmt.Sprintf("%s (next attempt in %v)", ready.message, wait)
	setConditions(&status, l.Generation, now, map[string]verdict{
		v1alpha1.ConditionReady:  ready,
		v1alpha1.ConditionActive: no(v1alpha1.ReasonNotReady, "see Ready"),
	})
	if err := r.write(ctx, l, status, now); err != nil {
		r.log.Warn("status not written", "error", err)
	}
	r.syncFinalizer(ctx, l)
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
