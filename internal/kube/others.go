package kube

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kinds that may be missing in a cluster.
var (
	VerticalPodAutoscalers = schema.GroupVersionKind{Group: "autoscaling.k8s.io", Version: "v1", Kind: "VerticalPodAutoscaler"}
	ScaledObjects          = schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}
)

// lookAgain is how long a missing kind is taken as missing.
const lookAgain = time.Minute

func (w *Workloads) list(ctx context.Context, into client.ObjectList, what string) error {
	if err := w.client.List(ctx, into, client.InNamespace(w.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list %s of %s: %w", what, w.namespace, err)
	}
	return nil
}

// optional lists objects of a kind that may not be installed.
func (w *Workloads) optional(ctx context.Context, kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	now := w.now()
	if asked, absent := w.absent[kind]; absent && now.Sub(asked) < lookAgain {
		return nil, nil
	}
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := w.list(ctx, &list, kind.Kind+"s")
	if meta.IsNoMatchError(err) || runtime.IsNotRegisteredError(err) {
		w.absent[kind] = now
		return nil, nil
	}
	delete(w.absent, kind)
	return list.Items, err
}

// RefIn returns the reference to a workload in a field of an object's spec.
func RefIn(o map[string]any, field string) Ref {
	text := func(name string) string {
		s, _, _ := unstructured.NestedString(o, "spec", field, name)
		return s
	}
	return RefOf(text("apiVersion"), text("kind"), text("name"))
}
