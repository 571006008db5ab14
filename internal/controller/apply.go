package controller

import (
	"context"
	"errors"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

// Apply applies a plan service by service: a failure with one does not stop the
// others.
func (e *ends) Apply(ctx context.Context, plan loadline.Plan) error {
	if !e.act {
		return nil
	}
	var faults []error
	for _, p := range plan.Services {
		if err := e.applyService(ctx, p.Service, p.Setting); err != nil {
			faults = append(faults, e.serviceError(p.Service, err))
		}
	}
	return errors.Join(faults...)
}

func (e *ends) applyService(ctx context.Context, i int, set loadline.Setting) error {
	target := e.app.Targets[i]
	if target == nil || e.standing[i].still() {
		return nil // the guard has recorded why
	}
	t := &e.desired[i]
	var faults []error
	if size := sizes(set); !size.Empty() {
		// The desired size first, then the existing pods: a pod that is created in
		// between has the new size.
		t.size = over(t.size, size)
		t.changed = e.now()
		faults = append(faults, e.resize(ctx, i))
	}
	if set.Replicas.Set || set.Brownout.Set {
		faults = append(faults, e.scale(ctx, i, set))
	}
	return errors.Join(faults...)
}

// scale sets replicas. A browned-out service has none, and afterwards gets back what
// it had, or what was decided meanwhile.
func (e *ends) scale(ctx context.Context, i int, set loadline.Setting) error {
	s, t := &e.states[i], &e.desired[i]
	replicas := set.Replicas.Or(e.allocation(i).Replicas)
	brownout := set.Brownout.Or(t.brownout)
	effective := replicas
	switch {
	case brownout:
		effective = 0
	case t.brownout:
		effective = max(replicas, 1)
	}
	if e.byKEDA(i) {
		t.changed = e.now() // KEDA reads it and scales
	} else if effective != s.Replicas {
		if err := e.work.Scale(ctx, i, s.Replicas, effective); err != nil {
			return err
		}
		s.Replicas = effective
		t.changed = e.now()
	}
	t.replicas, t.brownout = loadline.Some(replicas), brownout
	return nil
}

// resize gives the existing pods the desired size.
func (e *ends) resize(ctx context.Context, i int) error {
	recreate := e.app.Targets[i].Resize == v1alpha1.InPlaceOrRecreate
	outcomes, err := e.work.Resize(ctx, i, e.desired[i].size, recreate)
	e.resizes[i] = outcomes
	e.metrics.resized(outcomes)
	return err
}

// strays resizes pods that do not have the desired size: they were created since, on
// a cluster without the admission policy, or could not be resized before.
func (e *ends) strays(ctx context.Context) error {
	if !e.act {
		return nil
	}
	var faults []error
	for i, target := range e.app.Targets {
		if target == nil || e.desired[i].size.Empty() || e.standing[i].still() || len(e.states[i].Pods) == 0 {
			continue
		}
		stuck := target.Resize == v1alpha1.InPlaceOrRecreate && len(e.states[i].Resize) > 0
		if stuck || len(e.states[i].Strays(e.desired[i].size)) > 0 {
			if err := e.resize(ctx, i); err != nil {
				faults = append(faults, e.serviceError(i, err))
			}
		}
	}
	return errors.Join(faults...)
}
