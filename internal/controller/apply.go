package controller

import (
	"context"
	"errors"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

// Apply applies a plan service by service: a failure with one does not stop the
// others.
func (c *cluster) Apply(ctx context.Context, plan loadline.Plan) error {
	if !c.act {
		return nil
	}
	var faults []error
	for _, p := range plan.Services {
		if err := c.applyService(ctx, p.Service, p.Setting); err != nil {
			faults = append(faults, c.serviceError(p.Service, err))
		}
	}
	return errors.Join(faults...)
}

func (c *cluster) applyService(ctx context.Context, i int, set loadline.Setting) error {
	target := c.app.Targets[i]
	if target == nil || c.holds[i].held() {
		return nil // the guard has recorded why
	}
	t := &c.desired[i]
	var faults []error
	if size := sizes(set); !size.Empty() {
		// The desired size first, then the existing pods: a pod that is created in
		// between has the new size.
		t.size = over(t.size, size)
		t.changed = c.now()
		faults = append(faults, c.resize(ctx, i))
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
	effective := replicas
	switch {
	case brownout:
		effective = 0
	case t.brownout:
		effective = max(replicas, 1)
	}
	if c.byKEDA(i) {
		t.changed = c.now() // KEDA reads it and scales
	} else if effective != s.Replicas {
		if err := c.work.Scale(ctx, i, s.Replicas, effective); err != nil {
			return err
		}
		s.Replicas = effective
		t.changed = c.now()
	}
	t.replicas, t.brownout = loadline.Some(replicas), brownout
	return nil
}

// resize gives the existing pods the desired size.
func (c *cluster) resize(ctx context.Context, i int) error {
	recreate := c.app.Targets[i].Resize == v1alpha1.InPlaceOrRecreate
	outcomes, err := c.work.Resize(ctx, i, c.desired[i].size, recreate)
	c.resizes[i] = outcomes
	c.metrics.resized(outcomes)
	return err
}

// resizeMismatched resizes pods that do not have the desired size: they were created since, on
// a cluster without the admission policy, or could not be resized before.
func (c *cluster) resizeMismatched(ctx context.Context) error {
	if !c.act {
		return nil
	}
	var faults []error
	for i, target := range c.app.Targets {
		if target == nil || c.desired[i].size.Empty() || c.holds[i].held() || len(c.states[i].Pods) == 0 {
			continue
		}
		stuck := target.Resize == v1alpha1.InPlaceOrRecreate && len(c.states[i].Resize) > 0
		if stuck || len(c.states[i].Mismatched(c.desired[i].size)) > 0 {
			if err := c.resize(ctx, i); err != nil {
				faults = append(faults, c.serviceError(i, err))
			}
		}
	}
	return errors.Join(faults...)
}
