package kube

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loadline/loadline/api/v1alpha1"
)

// target is the workload of a service.
type target struct {
	service *v1alpha1.Service // nil = not scaled by Loadline
	gvk     schema.GroupVersionKind
	name    string
}

// Ref identifies a workload in a namespace. Versions do not matter: they are
// views of the same object.
type Ref struct{ Group, Kind, Name string }

func newTarget(s *v1alpha1.Service, name string) target {
	if s == nil {
		return target{gvk: schema.FromAPIVersionAndKind("apps/v1", "Deployment"), name: name}
	}
	return target{service: s, gvk: KindOf(s.TargetRef.APIVersion, s.TargetRef.Kind), name: s.TargetRef.Name}
}

func (t target) key() Ref { return Ref{t.gvk.Group, t.gvk.Kind, t.name} }

func (t target) String() string { return t.gvk.Kind + " " + t.name }

// RefOf returns the Ref of a reference, with the usual defaults.
func RefOf(apiVersion, kind, name string) Ref {
	gvk := KindOf(apiVersion, kind)
	return Ref{gvk.Group, gvk.Kind, name}
}

// KindOf returns the kind of a reference, with the same defaults.
func KindOf(apiVersion, kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(cmp.Or(apiVersion, "apps/v1"), cmp.Or(kind, "Deployment"))
}

// moves reports whether requests of CPU or memory may be changed.
func (t target) moves(axis v1alpha1.Axis, bounds *v1alpha1.QuantityBounds) bool {
	return t.service != nil && bounds != nil && slices.Contains(t.service.Axes, axis)
}

// resizes reports whether any size may be changed.
func (t target) resizes() bool {
	if t.service == nil {
		return false
	}
	b := t.service.Bounds
	for _, axis := range []v1alpha1.Axis{v1alpha1.VerticalRequests, v1alpha1.VerticalLimits} {
		if t.moves(axis, b.CPU) || t.moves(axis, b.Memory) {
			return true
		}
	}
	return false
}
