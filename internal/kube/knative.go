package kube

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// KnativeClass is the autoscaler class of Knative Services that Loadline scales, and the annotation that
// selects it.
const (
	KnativeClass           = "loadline.dev"
	KnativeClassAnnotation = "autoscaling.knative.dev/class"
)

// knative reports whether a target is a Knative Service.
func (t target) knative() bool {
	return t.gvk.Group == "serving.knative.dev" && t.gvk.Kind == "Service"
}

// readKnative reads the Deployment of a Knative Service's latest ready revision, from the API server as
// readOther does. Its scale is written by the controller of the class alone.
func (w *Workloads) readKnative(ctx context.Context, service int) (workload, error) {
	t := w.targets[service]
	o := w.object(t)
	if err := w.live.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: t.name}, o); err != nil {
		return workload{}, explain(err, t)
	}
	revision, _, _ := unstructured.NestedString(o.Object, "status", "latestReadyRevisionName")
	if revision == "" {
		return workload{}, fmt.Errorf("%s: %w: it has no ready revision yet", t, ErrNotFound)
	}
	pa := &unstructured.Unstructured{}
	pa.SetGroupVersionKind(schema.GroupVersionKind{Group: "autoscaling.internal.knative.dev", Version: "v1alpha1", Kind: "PodAutoscaler"})
	if err := w.live.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: revision}, pa); err != nil {
		return workload{}, explain(err, t)
	}
	if class := pa.GetAnnotations()[KnativeClassAnnotation]; class != KnativeClass {
		return workload{}, fmt.Errorf("%s: revision %s has the autoscaler class %q: set the annotation %s: %s in spec.template.metadata",
			t, revision, class, KnativeClassAnnotation, KnativeClass)
	}
	name, _, _ := unstructured.NestedString(pa.Object, "spec", "scaleTargetRef", "name")
	var d appsv1.Deployment
	if err := w.client.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, &d); err != nil {
		return workload{}, explain(err, t)
	}
	l, err := common(&d, d.Spec.Replicas, d.Status.Replicas, d.Spec.Selector, &d.Spec.Template, deploymentRollsOut(&d, false))
	l.annotations = o.GetAnnotations() // pauses are set on what users know
	return l, err
}
