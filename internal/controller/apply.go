package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/kube"
)

// Apply applies a plan service by service: a failure with one does not stop the
// others. A process that no longer decides applies nothing. A plan that resizes or
// reduces anything is written to the status first: the next process then knows it,
// however this one ends. If that fails, only what raises is applied.
func (c *cluster) Apply(ctx context.Context, plan loadline.Plan) error {
	if !c.act {
		return nil
	}
	if c.confirm != nil && len(plan.Services) > 0 {
		if err := c.confirm(ctx); err != nil {
			return err
		}
	}
	var faults []error
	if c.persist != nil && c.mustPersist(plan) {
		if err := c.persist(ctx, plan); err != nil {
			if errors.Is(err, errStale) {
				return err
			}
			plan = c.raising(plan)
			c.unstored = fmt.Errorf("only what raises is applied, because the plan cannot be stored in the LoadLine: %w", err)
			faults = append(faults, c.unstored)
		}
	}
	for _, p := range plan.Services {
		if err := c.applyService(ctx, p.Service, p.Setting); err != nil {
			faults = append(faults, c.serviceError(p.Service, err))
		}
	}
	return errors.Join(faults...)
}

// mustPersist reports whether a plan resizes or reduces anything.
func (c *cluster) mustPersist(plan loadline.Plan) bool {
	for _, p := range plan.Services {
		if c.mayApply(p.Service) && (!sizes(p.Setting).Empty() || raisingOnly(c.allocation(p.Service), p.Setting) != p.Setting) {
			return true
		}
	}
	return false
}

// mayApply reports whether a service may be changed; if not, the guard has recorded
// why.
func (c *cluster) mayApply(i int) bool { return c.app.Targets[i] != nil && !c.holds[i].held() }

// allowed is the part of a setting that may be applied to a service: all of it, or for
// some holds the replicas that it adds.
func (c *cluster) allowed(i int, set loadline.Setting) loadline.Setting {
	switch {
	case c.mayApply(i):
		return set
	case c.app.Targets[i] != nil && c.holds[i].adding:
		return addingReplicas(c.allocation(i), set)
	}
	return loadline.Setting{}
}

// raising is the part of a plan that raises.
func (c *cluster) raising(plan loadline.Plan) loadline.Plan {
	var kept loadline.Plan
	for _, p := range plan.Services {
		if p.Setting = raisingOnly(c.allocation(p.Service), p.Setting); !p.Setting.Empty() {
			kept.Services = append(kept.Services, p)
		}
	}
	return kept
}

// raisingOnly is the part of a setting that raises an allocation. The end of a
// brownout does, its beginning does not.
func raisingOnly(is loadline.Allocation, set loadline.Setting) loadline.Setting {
	if set.Replicas.Value < is.Replicas {
		set.Replicas = loadline.Opt[int]{}
	}
	if set.Brownout.Value {
		set.Brownout = loadline.Opt[bool]{}
	}
	keepIfAbove(&set.CPURequest, is.Size.CPURequest, false)
	keepIfAbove(&set.CPULimit, is.Size.CPULimit, true)
	keepIfAbove(&set.MemoryRequest, is.Size.MemoryRequest, false)
	keepIfAbove(&set.MemoryLimit, is.Size.MemoryLimit, true)
	return set
}

// keepIfAbove unsets a value that is below the present one. A limit of 0 is none, and
// above all others.
func keepIfAbove[T int64 | float64](to *loadline.Opt[T], is T, limit bool) {
	below := to.Value < is
	if limit && (to.Value == 0 || is == 0) {
		below = to.Value != 0
	}
	if below {
		*to = loadline.Opt[T]{}
	}
}

func (c *cluster) applyService(ctx context.Context, i int, set loadline.Setting) error {
	if set = c.allowed(i, set); set.Empty() {
		return nil
	}
	t := &c.desired[i]
	var faults []error
	if size := sizes(set); !size.Empty() {
		// The desired size first, then the existing pods: a pod that is created in
		// between has the new size.
		t.size = over(t.size, size)
		t.changed = c.passTime()
		faults = append(faults, c.resize(ctx, i, !c.mayReduce(i)))
	}
	if set.Replicas.Set || set.Brownout.Set {
		faults = append(faults, c.scale(ctx, i, set))
	}
	return errors.Join(faults...)
}

// scale sets replicas. A browned-out service has none, and afterwards gets back what
// it had, or what was decided meanwhile.
func (c *cluster) scale(ctx context.Context, i int, set loadline.Setting) error {
	s, t := &c.states[i], &c.desired[i]
	replicas := set.Replicas.Or(c.allocation(i).Replicas)
	brownout := set.Brownout.Or(t.brownout)
	if t.before = c.beforeBrownout(i, set); t.before.Set {
		c.dropOrphan(i)
	}
	effective := replicas
	switch {
	case brownout:
		effective = 0
	case t.brownout && t.before.Set:
		effective = max(replicas, 1)
	}
	if c.asked(i) {
		t.changed = c.passTime() // they read it and scale
		if !brownout {
			replicas = effective
		}
		if !brownout && !t.brownout && effective == 0 {
			t.before = loadline.Opt[int]{} // zero is what was decided
		}
	} else if effective != s.Replicas {
		if err := c.work.Scale(ctx, i, s.Replicas, effective); err != nil {
			return err
		}
		s.Replicas = effective
		t.changed = c.passTime()
	}
	t.replicas, t.brownout = loadline.Some(replicas), brownout
	if !c.asked(i) && effective > 0 {
		t.before = loadline.Opt[int]{}
	}
	return nil
}

// resize gives the existing pods the desired size.
func (c *cluster) resize(ctx context.Context, i int, raiseOnly bool) error {
	how := kube.Resizing{Recreate: c.app.Targets[i].Resize == v1alpha1.InPlaceOrRecreate, RaiseOnly: raiseOnly}
	outcomes, err := c.work.Resize(ctx, i, c.desired[i].size, how)
	c.resizes[i] = outcomes
	c.metrics.resized(outcomes)
	return err
}

// passTime is when the pass observed, the same before and after a plan is applied.
func (c *cluster) passTime() time.Time {
	if c.seen == nil {
		return c.now()
	}
	return c.seen.At
}

// mayReduce reports whether pods of a service may be made smaller in this pass: its
// load is measured, it is not on hold, and the plan of the pass is in the status.
func (c *cluster) mayReduce(i int) bool {
	if c.seen == nil || c.unstored != nil || !c.mayApply(i) {
		return false
	}
	now := loadline.Situation{App: c.app.App, Window: []loadline.Observation{*c.seen}, InFlight: c.Allocation(nil)}
	now.InFlight[i].Replicas = 1
	reduction := loadline.Setting{Replicas: loadline.Some(0)}
	allowed, _ := guard.Absent{MaxAge: c.app.Guard.Data.MaxAge, Settle: c.app.Guard.Starting.Settle}.Check(c.seen.At, now, i, reduction)
	return allowed == reduction
}

// resizeMismatched resizes pods that do not have the desired size: they were created
// since, on a cluster without the admission policy, or could not be resized before.
// No guard sees this, so pods are made smaller only where mayReduce allows it, and
// never with raiseOnly.
func (c *cluster) resizeMismatched(ctx context.Context, raiseOnly bool) error {
	if !c.act {
		return nil
	}
	var faults []error
	for i, target := range c.app.Targets {
		if !c.mayApply(i) || c.desired[i].size.Empty() || len(c.states[i].Pods) == 0 {
			continue
		}
		raiseOnly := raiseOnly || !c.mayReduce(i)
		stuck := target.Resize == v1alpha1.InPlaceOrRecreate && len(c.states[i].Resize) > 0
		if stuck || len(c.states[i].Mismatched(c.desired[i].size, raiseOnly)) > 0 {
			if err := c.resize(ctx, i, raiseOnly); err != nil {
				faults = append(faults, c.serviceError(i, err))
			}
		}
	}
	return errors.Join(faults...)
}
