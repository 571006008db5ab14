package kube

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// workload is what all kinds of workloads have in common. Its pointers refer to
// the cache and are never modified.
type workload struct {
	uid         types.UID
	version     string // resourceVersion
	generation  int64
	annotations map[string]string
	managed     []metav1.ManagedFieldsEntry
	replicas    int // desired
	status      int // existing
	selector    labels.Selector
	template    *corev1.PodTemplateSpec // nil = the kind has none, or keeps it elsewhere
	rollingOut  string
	// selects means that pods are found by the selector alone: how workloads of the
	// kind own their pods is unknown.
	selects bool
}

// read the workload of a service, from the cache if it is of a kind that is watched.
func (w *Workloads) read(ctx context.Context, service int) (workload, error) {
	return w.readBy(ctx, service, func(into client.Object) error { return w.get(ctx, service, into) })
}

// readLive reads it from the API server.
func (w *Workloads) readLive(ctx context.Context, service int) (workload, error) {
	t := w.targets[service]
	return w.readBy(ctx, service, func(into client.Object) error {
		return explain(w.live.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: t.name}, into), t)
	})
}

func (w *Workloads) readBy(ctx context.Context, service int, get func(into client.Object) error) (workload, error) {
	t := w.targets[service]
	switch t.key() {
	case Ref{"apps", "Deployment", t.name}:
		var d appsv1.Deployment
		if err := get(&d); err != nil {
			return workload{}, err
		}
		written := d.ResourceVersion == w.writtenTo(service)
		return common(&d, d.Spec.Replicas, d.Status.Replicas, d.Spec.Selector, &d.Spec.Template, deploymentRollsOut(&d, written))
	case Ref{"apps", "StatefulSet", t.name}:
		var s appsv1.StatefulSet
		if err := get(&s); err != nil {
			return workload{}, err
		}
		return common(&s, s.Spec.Replicas, s.Status.Replicas, s.Spec.Selector, &s.Spec.Template, statefulSetRollsOut(&s))
	}
	if t.knative() {
		return w.readKnative(ctx, service)
	}
	return w.readOther(ctx, t)
}

func common(o client.Object, replicas *int32, status int32, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec,
	rollingOut string) (workload, error) {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return workload{}, fmt.Errorf("selector of %s: %w", o.GetName(), err)
	}
	l := workload{
		uid: o.GetUID(), version: o.GetResourceVersion(), generation: o.GetGeneration(),
		annotations: o.GetAnnotations(), managed: o.GetManagedFields(),
		replicas: 1, status: int(status), selector: parsed, template: template, rollingOut: rollingOut,
	}
	if replicas != nil {
		l.replicas = int(*replicas)
	}
	return l, nil
}

// readOther reads a workload of any kind with a scale subresource, from the API
// server: watching a kind requires permission to list all of it, which may be
// more than a user wants to grant.
func (w *Workloads) readOther(ctx context.Context, t target) (workload, error) {
	o := w.object(t)
	if err := w.live.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return workload{}, explain(err, t)
	}
	scale, err := w.scaleOf(ctx, t)
	if errors.Is(err, ErrNotFound) { // the object exists
		return workload{}, fmt.Errorf("%s: %w: choose a kind that has one, such as a Deployment", t, ErrNoScale)
	}
	if err != nil {
		return workload{}, err
	}
	l := workload{
		uid: o.GetUID(), version: o.GetResourceVersion(), generation: o.GetGeneration(),
		annotations: o.GetAnnotations(), managed: o.GetManagedFields(), replicas: scale.replicas, status: scale.status,
		selects: !ownsByReplicaSet(t), rollingOut: rolloutRollsOut(t, o.Object),
	}
	if l.selector, err = labels.Parse(scale.selector); err != nil {
		return workload{}, fmt.Errorf("selector of %s: %w", t, err)
	}
	if scale.selector == "" { // would be all pods of the namespace
		l.selector = labels.Nothing()
	}
	if template, ok, _ := unstructured.NestedMap(o.Object, "spec", "template"); ok {
		var read corev1.PodTemplateSpec
		if runtime.DefaultUnstructuredConverter.FromUnstructured(template, &read) == nil && len(read.Spec.Containers) > 0 {
			l.template = &read
		}
	}
	return l, nil
}

// object returns the workload's object with only its name.
func (w *Workloads) object(t target) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(t.gvk)
	o.SetNamespace(w.namespace)
	o.SetName(t.name)
	return o
}

// get reads from the cache; a copy that is older than Loadline's own write is
// read from the API server instead.
func (w *Workloads) get(ctx context.Context, service int, into client.Object) error {
	t := w.targets[service]
	key := types.NamespacedName{Namespace: w.namespace, Name: t.name}
	if err := w.client.Get(ctx, key, into, client.UnsafeDisableDeepCopy); err != nil {
		return explain(err, t)
	}
	if written := w.writtenTo(service); written != "" {
		if c, err := resourceversion.CompareResourceVersion(into.GetResourceVersion(), written); err == nil && c < 0 {
			return explain(w.live.Get(ctx, key, into), t)
		}
	}
	return nil
}

func (w *Workloads) writtenTo(service int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.memory[service].written
}

// explain converts an error of the API into one of the errors that callers check
// for.
func explain(err error, t target) error {
	switch {
	case err == nil:
		return nil
	case meta.IsNoMatchError(err) || runtime.IsNotRegisteredError(err):
		return fmt.Errorf("%s: %w: the cluster has no kind %s in %s: install it, or correct targetRef", t, ErrNotFound, t.gvk.Kind,
			t.gvk.GroupVersion())
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s: %w: correct targetRef, or create it", t, ErrNotFound)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: %w: %w", t, ErrForbidden, err)
	}
	return fmt.Errorf("%s: %w", t, err)
}
