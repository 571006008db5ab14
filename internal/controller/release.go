package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
)

// confirmAfter is when a workload that KEDA scales is looked at again after it was
// restored: KEDA polls once in 30 s by default.
const confirmAfter = 40 * time.Second

// release restores the brownouts of a LoadLine that this process does not run any
// more: it is being deleted, or another agent runs it now. Then it removes the
// finalizer. A pause does not stop it: nothing would restore the workloads later.
func (c *Controller) release(ctx context.Context, cached *v1alpha1.LoadLine) (reconcile.Result, error) {
	name := client.ObjectKeyFromObject(cached)
	if c.DryRun || !c.releases(cached) {
		c.releaser(name, nil)
		return reconcile.Result{}, nil
	}
	var l v1alpha1.LoadLine // the cache may be behind what we wrote
	err := c.Live.Get(ctx, name, &l)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if err != nil || !c.releases(&l) {
		c.releaser(name, nil)
		return reconcile.Result{}, nil
	}
	r := c.releaser(name, &l)
	if wait := r.restoreAfter.Sub(c.Now()); wait > 0 { // woken by something else, such as its own status
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	why := "the LoadLine is being deleted"
	if l.DeletionTimestamp.IsZero() {
		why = fmt.Sprintf("another agent runs the LoadLine (label %s)", v1alpha1.AgentLabel)
	}
	left, err := r.restoreAll(ctx, &l, why, v1alpha1.Pause{})
	status := *l.Status.DeepCopy()
	status.BrownedOut = left
	if err != nil {
		wait := r.restoreRetry.next(0)
		r.restoreAfter = c.Now().Add(wait)
		r.reportUnrestored(ctx, &l, status, err, wait)
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if len(left) > 0 {
		return reconcile.Result{RequeueAfter: confirmAfter}, nil
	}
	if l.DeletionTimestamp.IsZero() { // a LoadLine that is being deleted needs no status
		if err := r.patch(ctx, &l, status); err != nil {
			return reconcile.Result{}, fmt.Errorf("remove status.brownedOut of %s: %w", name, err)
		}
	}
	if err := c.setFinalizer(ctx, &l, false); err != nil {
		return reconcile.Result{}, err
	}
	c.releaser(name, nil)
	return reconcile.Result{}, nil
}

// releases reports whether this process is the one to restore what a LoadLine has
// browned out.
func (c *Controller) releases(l *v1alpha1.LoadLine) bool {
	browned := l.Status.Agent == c.Agent
	if !l.DeletionTimestamp.IsZero() {
		return controllerutil.ContainsFinalizer(l, v1alpha1.BrownoutFinalizer) && (c.ours(l) || browned)
	}
	return !c.ours(l) && browned && len(l.Status.BrownedOut) > 0
}

// releaser is a runner that makes no passes: it keeps the back-off of a release. A nil
// LoadLine ends it.
func (c *Controller) releaser(name types.NamespacedName, l *v1alpha1.LoadLine) *runner {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l == nil {
		delete(c.released, name)
		return nil
	}
	r := c.released[name]
	if r == nil {
		r = c.newRunner(l)
		c.released[name] = r
	}
	r.latest.Store(l)
	r.startFrom(l)
	return r
}

// restoreAll restores the workloads of all entries of a status, except those that are
// paused, and returns the entries that are left. Without a pause, annotations of
// workloads do not count either.
func (r *runner) restoreAll(ctx context.Context, l *v1alpha1.LoadLine, why string, pause v1alpha1.Pause) ([]v1alpha1.BrownedOut, error) {
	work := r.c.restorer(l.Namespace)
	var left []v1alpha1.BrownedOut
	var faults []error
	for _, b := range l.Status.BrownedOut {
		if pause.Of(b.Service) {
			left = append(left, b)
			continue
		}
		how := restoringOf(b)
		how.EvenPaused = pause.Reason == ""
		done, err := r.restore(ctx, l, work, orphan{b, why}, how)
		if err != nil {
			faults = append(faults, err)
		}
		if !done {
			left = append(left, b)
		}
	}
	return left, errors.Join(faults...)
}

// reportUnrestored writes the condition and the Event of a release that failed.
func (r *runner) reportUnrestored(ctx context.Context, l *v1alpha1.LoadLine, status v1alpha1.LoadLineStatus, err error,
	wait time.Duration) {
	r.log.Warn("brownout not restored", "error", err, "retryIn", wait)
	setConditions(&status, l.Generation, r.c.Now(), map[string]verdict{
		v1alpha1.ConditionReady:  no(v1alpha1.ReasonBrownoutNotRestored, fmt.Sprintf("%v (next attempt in %v)", err, wait)),
		v1alpha1.ConditionActive: no(v1alpha1.ReasonNotReady, "see Ready"),
	})
	if err := r.write(ctx, l, status, r.c.Now()); err != nil {
		r.log.Warn("status not written", "error", err)
	}
}

// setFinalizer adds or removes the finalizer of brownouts.
func (c *Controller) setFinalizer(ctx context.Context, of *v1alpha1.LoadLine, on bool) error {
	name := client.ObjectKeyFromObject(of)
	var err error
	for range 5 {
		var l v1alpha1.LoadLine
		err = c.Live.Get(ctx, name, &l)
		if apierrors.IsNotFound(err) && !on {
			return nil
		}
		if err == nil && l.UID != of.UID {
			err = apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("loadlines").GroupResource(), l.Name)
		}
		if err != nil {
			break
		}
		base := l.DeepCopy()
		if on && !controllerutil.AddFinalizer(&l, v1alpha1.BrownoutFinalizer) ||
			!on && !controllerutil.RemoveFinalizer(&l, v1alpha1.BrownoutFinalizer) {
			return nil
		}
		err = c.Client.Patch(ctx, &l, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
		if !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil {
		verb := "remove"
		if on {
			verb = "add"
		}
		return fmt.Errorf("%s finalizer %s of LoadLine %s: %w", verb, v1alpha1.BrownoutFinalizer, name, err)
	}
	return nil
}

// restorerIn restores workloads of a namespace, whatever LoadLine they belong to.
func (c *Controller) restorerIn(namespace string) restorer {
	return kube.New(kube.Options{Client: c.Client, Live: c.Live, Namespace: namespace, Now: c.Now})
}
