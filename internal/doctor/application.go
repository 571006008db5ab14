package doctor

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/resource"
)

// application checks one LoadLine and everything that it names.
func (e *exam) application(ctx context.Context, l *v1alpha1.LoadLine) {
	a := e.of(OfApplication)
	a.loadline = key(l)
	if e.looksAt(l.Namespace) {
		e.conditions(a, l)
	} else {
		e.overlooked(a, l)
	}
	app := e.spec(ctx, a, l)
	e.sources(ctx, a, l)
	e.model(ctx, a, l)
	ranges := e.limitRanges(ctx, a, l)
	targets := map[string]*target{}
	for i := range l.Spec.Services {
		s := &l.Spec.Services[i]
		b := a
		b.service = s.Name
		targets[s.Name] = e.service(ctx, b, l, s, ranges)
	}
	if l = e.measured(ctx, a, l); l != nil {
		e.metrics(ctx, a, l, app, targets)
	}
}

// spec is the application as the controller reads it; nil if it cannot be read.
func (e *exam) spec(ctx context.Context, a about, l *v1alpha1.LoadLine) *resource.Application {
	twin, err := e.twin(ctx, l)
	if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown { // reported as a source
		l = l.DeepCopy()
		l.Spec.Twin, err = nil, nil
		app, _ := resource.Read(l, nil) // the services are known without the twin
		return app
	}
	var app *resource.Application
	if err == nil {
		app, err = resource.Read(l, twin)
	}
	if err != nil {
		a.fault("spec", "kubectl -n "+l.Namespace+" edit loadline "+l.Name, "The resource cannot be followed: %v", err)
		return nil
	}
	return app
}

// twin of a LoadLine; nil if it names none.
func (e *exam) twin(ctx context.Context, l *v1alpha1.LoadLine) (*loadline.App, error) {
	if l.Spec.Twin == nil {
		return nil, nil
	}
	var m corev1.ConfigMap
	if err := e.Reader.Get(ctx, types.NamespacedName{Namespace: l.Namespace, Name: l.Spec.Twin.Name}, &m); err != nil {
		return nil, err
	}
	text, found := m.Data[l.Spec.Twin.Key]
	if !found {
		text = string(m.BinaryData[l.Spec.Twin.Key])
	}
	read, err := apps.Parse("ConfigMap "+l.Spec.Twin.Name+" key "+l.Spec.Twin.Key, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("spec.twin: %w", err)
	}
	return read.App, nil
}

// service checks one workload.
func (e *exam) service(ctx context.Context, a about, l *v1alpha1.LoadLine, s *v1alpha1.Service, ranges []corev1.LimitRange) *target {
	t := e.target(ctx, a, l, s)
	if t == nil {
		return nil
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
	return t
}
