package doctor

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/resource"
)

// application looks at one LoadLine and at everything that it names.
func (e *exam) application(ctx context.Context, l *v1alpha1.LoadLine) {
	a := e.of(OfApplication)
	a.loadline = key(l)
	if e.looksAt(l.Namespace) {
		e.conditions(a, l)
	} else {
		e.overlooked(a, l)
	}
	e.spec(a, l)
	e.sources(ctx, a, l)
	e.model(ctx, a, l)
	e.metrics(ctx, a, l)
	ranges := e.limitRanges(ctx, a, l)
	for i := range l.Spec.Services {
		s := &l.Spec.Services[i]
		b := a
		b.service = s.Name
		e.service(ctx, b, l, s, ranges)
	}
}

// spec is what the controller will make of it. With a twin only the controller can
// say, which has the file.
func (e *exam) spec(a about, l *v1alpha1.LoadLine) {
	if l.Spec.Twin != nil {
		return
	}
	if _, err := resource.Read(l, nil); err != nil {
		a.fault("spec", "kubectl -n "+l.Namespace+" edit loadline "+l.Name, "The resource cannot be followed: %v", err)
	}
}

// service looks at one workload.
func (e *exam) service(ctx context.Context, a about, l *v1alpha1.LoadLine, s *v1alpha1.Service, ranges []corev1.LimitRange) {
	t := e.target(ctx, a, l, s)
	if t == nil {
		return
	}
	e.requests(a, l, s, t)
	if vertical(s) {
		e.size(a, s, t)
	}
	e.withinRanges(a, l, s, t, ranges)
	if s.Resize == v1alpha1.InPlaceOrRecreate {
		e.budget(ctx, a, l, t)
	}
	e.conflicts(ctx, a, l, s, t)
	if s.MovedBy == v1alpha1.ByKEDA {
		e.scaledObject(ctx, a, l, s, t)
	}
}
