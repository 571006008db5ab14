package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/kube"
)

// A brownout scales a workload to zero. So that this never lasts longer than the
// brownout, three steps are made in this order, and undone in the reverse order: the
// LoadLine gets a finalizer, status.brownedOut gets an entry, the workload is scaled.
// Wherever a process ends in between, the next one finds an entry for every workload
// that a brownout has scaled to zero, and a finalizer wherever there are entries.
//
// Usually the guard or the policy ends a brownout. Where neither will, the brownout is
// an orphan, and its workload is restored at the next pass (runner), or when the
// LoadLine is deleted or changes its agent (release.go).

// restorer restores workloads: kube.Workloads.
type restorer interface {
	Restore(ctx context.Context, how kube.Restoring) (raised bool, err error)
}

// orphan is a brownout that neither the guard nor the policy will end.
type orphan struct {
	v1alpha1.BrownedOut
	why string
}

// resumeBrownouts continues the brownouts in the status, as far as they may be.
func (c *cluster) resumeBrownouts(l *v1alpha1.LoadLine) {
	for _, b := range brownouts(l) {
		i, why := c.whyOrphaned(b)
		if why != "" {
			c.orphans = append(c.orphans, orphan{b, why})
			continue
		}
		c.desired[i].before = loadline.Some(int(b.Replicas))
	}
	for i := range c.desired {
		if c.desired[i].brownout && !c.mayBrownOut(i) {
			c.desired[i].brownout = false
		}
	}
	for _, o := range c.orphans {
		if i := c.serviceOf(o.TargetRef); i >= 0 {
			c.desired[i].brownout = false
		}
	}
}

// brownouts are the entries of a status. Earlier versions wrote none: their brownouts
// are read from the services.
func brownouts(l *v1alpha1.LoadLine) []v1alpha1.BrownedOut {
	all := slices.Clone(l.Status.BrownedOut)
	if l.Status.Mode != v1alpha1.Act {
		return all
	}
	for i := range l.Status.Services {
		s := &l.Status.Services[i]
		j := slices.IndexFunc(l.Spec.Services, func(of v1alpha1.Service) bool { return of.Name == s.Name })
		a := s.Applied
		if j < 0 || a == nil || a.Brownout == nil || !*a.Brownout || a.Replicas == nil || *a.Replicas < 1 ||
			slices.ContainsFunc(all, func(b v1alpha1.BrownedOut) bool { return b.Service == s.Name }) {
			continue
		}
		of := &l.Spec.Services[j]
		all = append(all, v1alpha1.BrownedOut{Service: s.Name, TargetRef: of.TargetRef, MovedBy: of.MovedBy, Replicas: *a.Replicas})
	}
	return all
}

// whyOrphaned is why a brownout does not continue, or "", and its service; -1 = it has
// none.
func (c *cluster) whyOrphaned(b v1alpha1.BrownedOut) (service int, why string) {
	i := c.serviceOf(b.TargetRef)
	switch {
	case i < 0:
		return i, "it is not among spec.services any more"
	case c.app.Mode != v1alpha1.Act:
		return i, fmt.Sprintf("the mode is %s", c.app.Mode)
	case !c.app.Axes[i].Brownout:
		return i, "it is not optional any more"
	case c.guardOff():
		return i, "the brownout guard is disabled"
	case movedBy(b.MovedBy) != movedBy(c.app.Targets[i].MovedBy):
		return i, fmt.Sprintf("movedBy changed from %s to %s", movedBy(b.MovedBy), movedBy(c.app.Targets[i].MovedBy))
	}
	return i, ""
}

func movedBy(m v1alpha1.MovedBy) v1alpha1.MovedBy { return cmp.Or(m, v1alpha1.ByScale) }

func (c *cluster) guardOff() bool {
	return slices.Contains(c.app.Guard.Off, (*guard.Brownout)(nil).Name())
}

func (c *cluster) mayBrownOut(i int) bool {
	return c.app.Mode == v1alpha1.Act && c.app.Axes[i].Brownout && !c.guardOff()
}

// serviceOf finds the service of a workload; -1 = it is not scaled by us.
func (c *cluster) serviceOf(ref v1alpha1.TargetRef) int {
	want := kube.RefOf(ref.APIVersion, ref.Kind, ref.Name)
	return slices.IndexFunc(c.app.Targets, func(s *v1alpha1.Service) bool {
		return s != nil && kube.RefOf(s.TargetRef.APIVersion, s.TargetRef.Kind, s.TargetRef.Name) == want
	})
}

// beforeBrownout is the replicas to restore once a setting is applied; unset if there
// are none.
func (c *cluster) beforeBrownout(i int, set loadline.Setting) loadline.Opt[int] {
	t := &c.desired[i]
	if !set.Brownout.Value || t.brownout || t.before.Set {
		return t.before
	}
	for _, o := range c.orphans {
		if c.serviceOf(o.TargetRef) == i { // an earlier brownout that is not restored yet
			return loadline.Some(int(o.Replicas))
		}
	}
	if n := c.allocation(i).Replicas; n > 0 {
		return loadline.Some(n)
	}
	return t.before
}

// dropOrphan is for a service that is browned out again.
func (c *cluster) dropOrphan(service int) {
	c.orphans = slices.DeleteFunc(c.orphans, func(o orphan) bool { return c.serviceOf(o.TargetRef) == service })
}

// brownedOut is status.brownedOut once a plan is applied.
func (c *cluster) brownedOut(plan loadline.Plan) []v1alpha1.BrownedOut {
	var all []v1alpha1.BrownedOut
	continued := map[int]bool{}
	for i, target := range c.app.Targets {
		if target == nil {
			continue
		}
		var set loadline.Setting
		if c.mayApply(i) {
			set = planOf(plan, i)
		}
		if n := c.beforeBrownout(i, set); n.Set {
			continued[i] = true
			all = append(all, v1alpha1.BrownedOut{
				Service: target.Name, TargetRef: target.TargetRef, MovedBy: movedBy(target.MovedBy), Replicas: int32(n.Value),
			})
		}
	}
	for _, o := range c.orphans {
		if !continued[c.serviceOf(o.TargetRef)] {
			all = append(all, o.BrownedOut)
		}
	}
	return all
}

// findOrphans ends brownouts that the guard or the policy will not end as things are.
func (c *cluster) findOrphans(rung guard.Rung) {
	for i := range c.desired {
		t, target := &c.desired[i], c.app.Targets[i]
		if !t.before.Set {
			continue
		}
		var why string
		switch {
		case c.holds[i].state == v1alpha1.ServiceConflict:
			why = c.holds[i].why
		case t.brownout && c.guardOff() && rung != guard.Primary:
			why = "the brownout guard is disabled, and the policy is not in control"
		default:
			continue
		}
		c.orphans = append(c.orphans, orphan{v1alpha1.BrownedOut{
			Service: target.Name, TargetRef: target.TargetRef, MovedBy: movedBy(target.MovedBy), Replicas: int32(t.before.Value),
		}, why})
		t.brownout, t.before = false, loadline.Opt[int]{}
	}
}

// restoring says how to restore an orphan: within the bounds that the service has now.
func (c *cluster) restoring(o orphan) kube.Restoring {
	how := restoringOf(o.BrownedOut)
	if i := c.serviceOf(o.TargetRef); i >= 0 {
		b := c.app.App.Services[i].Bounds
		how.To = max(how.To, b.MinReplicas)
		if b.MaxReplicas > 0 {
			how.To = min(how.To, b.MaxReplicas)
		}
		how.ByKEDA = how.ByKEDA || c.app.Targets[i] != nil && c.app.Targets[i].MovedBy == v1alpha1.ByKEDA
	}
	return how
}

func restoringOf(b v1alpha1.BrownedOut) kube.Restoring {
	return kube.Restoring{Target: b.TargetRef, To: max(int(b.Replicas), 1), ByKEDA: b.MovedBy == v1alpha1.ByKEDA}
}

// restoreOrphans restores the workloads of orphans. What fails is tried again with
// back-off.
func (r *runner) restoreOrphans(ctx context.Context, a *application) {
	c := a.cluster
	if r.c.DryRun {
		return
	}
	c.findOrphans(a.ladder.State().Rung)
	if len(c.orphans) == 0 {
		r.unrestored = nil
		return
	}
	now := r.c.Now()
	if now.Before(r.restoreAfter) {
		return
	}
	l := r.latest.Load()
	pause := l.Pause()
	var left []orphan
	var faults []error
	for _, o := range c.orphans {
		if pause.Of(o.Service) {
			left = append(left, o)
			continue
		}
		done, err := r.restore(ctx, l, c.work, o, c.restoring(o))
		if err != nil {
			faults = append(faults, err)
		}
		if !done {
			left = append(left, o)
		}
	}
	c.orphans = left
	if r.unrestored = errors.Join(faults...); r.unrestored != nil {
		r.restoreAfter = now.Add(r.restoreRetry.next(0))
		r.log.Warn("brownout not restored", "error", r.unrestored)
	} else {
		r.restoreRetry = backOff{}
	}
}

// restore one workload and report whether it is done with. One that KEDA scales is
// looked at once more later: KEDA may still have the answer zero.
func (r *runner) restore(ctx context.Context, l *v1alpha1.LoadLine, work restorer, o orphan, how kube.Restoring) (done bool, err error) {
	if how.ByKEDA && r.c.Board != nil {
		r.c.Board.Forget(nameOf(l))
	}
	raised, err := work.Restore(ctx, how)
	switch {
	case errors.Is(err, kube.ErrPaused):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("service %s is at zero replicas after a brownout and cannot be restored to %d: %w", o.Service, how.To, err)
	case raised:
		r.log.Info("brownout restored", "service", o.Service, "replicas", how.To, "reason", o.why)
		r.events.say(l, "restore of "+o.Service, corev1.EventTypeNormal, "Restored", "Apply",
			fmt.Sprintf("%s: from 0 to %d replicas, as before its brownout, which ends because %s", o.Service, how.To, o.why))
	}
	return !raised || !how.ByKEDA, nil
}
