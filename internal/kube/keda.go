package kube

import (
	"context"
	"net"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// scaledObject holds the relevant fields of a ScaledObject.
type scaledObject struct {
	name     string
	target   Ref
	triggers []trigger
	fallback bool
	paused   bool
}

type trigger struct {
	kind     string
	metadata map[string]string
}

func (w *Workloads) scaledObjects(ctx context.Context) ([]scaledObject, error) {
	items, err := w.optional(ctx, ScaledObjects)
	var found []scaledObject
	for i := range items {
		o := scaledObject{name: items[i].GetName(), target: RefIn(items[i].Object, "scaleTargetRef"),
			paused: PausedInKEDA(items[i].GetAnnotations())}
		_, o.fallback, _ = unstructured.NestedFieldNoCopy(items[i].Object, "spec", "fallback")
		triggers, _, _ := unstructured.NestedFieldNoCopy(items[i].Object, "spec", "triggers")
		list, _ := triggers.([]any)
		for _, one := range list {
			fields, _ := one.(map[string]any)
			kind, _, _ := unstructured.NestedString(fields, "type")
			metadata, _, _ := unstructured.NestedStringMap(fields, "metadata")
			o.triggers = append(o.triggers, trigger{kind, metadata})
		}
		found = append(found, o)
	}
	return found, err
}

func (o *scaledObject) has(kind string) bool {
	return slices.ContainsFunc(o.triggers, func(t trigger) bool { return t.kind == kind })
}

// asksUs reports whether a trigger queries Loadline for a service: it is
// external, names Loadline or has its address, and names no other. Keys are those
// of docs/keda.md.
func (w *Workloads) asksUs(o *scaledObject, service string) bool {
	return slices.ContainsFunc(o.triggers, func(t trigger) bool {
		if t.kind != "external" && t.kind != "external-push" {
			return false
		}
		names, named := t.metadata["loadline"]
		if named && names != w.owner.String() && names != w.owner.Name {
			return false
		}
		if of, said := t.metadata["service"]; said && of != service {
			return false
		}
		return named || w.isOurs(t.metadata["scalerAddress"])
	})
}

// isOurs reports whether an address is one of Loadline's hosts, or a longer name
// of it: loadline-keda.loadline-system, with or without .svc.cluster.local.
func (w *Workloads) isOurs(address string) bool {
	return slices.ContainsFunc(w.scalerHosts, func(ours string) bool { return Reaches(address, ours) })
}

// Reaches reports whether an address, with or without a port, is a host or a
// longer name of it.
func Reaches(address, host string) bool {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		name = address
	}
	return name == host || strings.HasPrefix(name, host+".")
}
