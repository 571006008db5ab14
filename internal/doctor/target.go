package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
)

// target is a service's workload.
type target struct {
	kind      schema.GroupVersionKind
	name      string
	template  *corev1.PodTemplateSpec // nil = none that we can read
	container *corev1.Container       // whose size is scaled; of a running pod if there is one
	pods      []corev1.Pod            // at most mostPods
	replicas  int64
}

// mostPods are read of a workload: enough to find problems.
const mostPods = 200

func (t *target) String() string { return t.kind.Kind + " " + t.name }

// spec of its pods: of a running one if there is one, else the template's.
func (t *target) spec() *corev1.PodSpec {
	if len(t.pods) > 0 {
		return &t.pods[0].Spec
	}
	return &t.template.Spec
}

func (t *target) ref() kube.Ref {
	return kube.Ref{Group: t.kind.Group, Kind: t.kind.Kind, Name: t.name}
}

// kindOf a reference, with the schema's defaults.
func kindOf(r v1alpha1.TargetRef) schema.GroupVersionKind { return kube.KindOf(r.APIVersion, r.Kind) }

func groupOf(r v1alpha1.TargetRef) string { return kindOf(r).Group }

// plural is the resource name of a kind, and whether it has a scale subresource; empty if the
// cluster does not have the kind.
func (e *exam) plural(r v1alpha1.TargetRef) (name string, scales bool, err error) {
	k := kindOf(r)
	list, err := e.group(k.GroupVersion().String())
	if err != nil || list == nil {
		return "", false, err
	}
	for _, res := range list.APIResources {
		if res.Kind == k.Kind && !strings.Contains(res.Name, "/") {
			name = res.Name
		}
	}
	scales, err = e.served(k.GroupVersion().String(), name+"/scale")
	return name, scales, err
}

// target finds a service's workload and reports its faults; nil if it cannot be checked
// further.
func (e *exam) target(ctx context.Context, a about, l *v1alpha1.LoadLine, s *v1alpha1.Service) *target {
	k := kindOf(s.TargetRef)
	t := &target{kind: k, name: s.TargetRef.Name}
	plural, scales, err := e.plural(s.TargetRef)
	switch {
	case err != nil:
		e.unseen(a, "target", "the kind "+k.Kind, err, "")
		return nil
	case plural == "":
		a.fault("target", "correct targetRef.apiVersion and kind: kubectl api-resources lists them", "The cluster has no kind %s in %s.",
			k.Kind, k.GroupVersion())
		return nil
	case !scales:
		a.fault("target", "name a Deployment, a StatefulSet, a Rollout or another kind with one", "A %s has no scale subresource.", k.Kind)
		return nil
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k)
	err = e.Reader.Get(ctx, types.NamespacedName{Namespace: l.Namespace, Name: t.name}, o)
	switch {
	case apierrors.IsNotFound(err):
		a.fault("target", fmt.Sprintf("kubectl -n %s get %s", l.Namespace, plural), "There is no %s in the namespace %s%s.", t,
			l.Namespace, e.meant(ctx, l.Namespace, plural, k, t.name))
		return nil
	case err != nil:
		e.unseen(a, "target", t.String(), err, "")
		return nil
	}
	t.replicas, _, _ = unstructured.NestedInt64(o.Object, "spec", "replicas")
	if v1alpha1.WorkloadPaused(o.GetAnnotations()) {
		a.note("target", fmt.Sprintf("kubectl -n %s annotate %s %s %s- to resume", l.Namespace, plural, t.name,
			v1alpha1.PausedAnnotation), "%s is paused by its annotation.", t)
	}
	e.template(ctx, a, l, s, t, o)
	return t
}

// meant is the workload that was probably meant.
func (e *exam) meant(ctx context.Context, namespace, plural string, k schema.GroupVersionKind, name string) string {
	list, err := e.all(ctx, namespace, plural, k)
	if err != nil {
		return ""
	}
	var known []string
	for _, o := range list {
		known = append(known, o.GetName())
	}
	return hint(name, known)
}

// template reads the pod template and the pods, and finds our container in them.
func (e *exam) template(ctx context.Context, a about, l *v1alpha1.LoadLine, s *v1alpha1.Service, t *target, o *unstructured.Unstructured) {
	raw, found, _ := unstructured.NestedMap(o.Object, "spec", "template")
	if !found {
		a.note("container", "", "%s has no pod template of its own, so its container could not be read.", t)
		return
	}
	t.template = &corev1.PodTemplateSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, t.template); err != nil {
		a.warn("container", "kubectl -n "+l.Namespace+" get "+t.kind.Kind+" "+t.name+" -o yaml",
			"The pod template of %s cannot be read: %v", t, err)
		t.template = nil
		return
	}
	e.pods(ctx, a, l, t, o)
	name := cmp.Or(kube.ContainerOf(s, t.template.Annotations, t.template.Spec.Containers), s.Container)
	spec := t.spec()
	i := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		var known []string
		for _, c := range spec.Containers {
			known = append(known, c.Name)
		}
		a.fault("container", "correct container in the LoadLine, or leave it out", "%s has no container %q%s.", t, name, hint(name, known))
		return
	}
	t.container = &spec.Containers[i]
	a.ok("target", "%s has %s; container %s: %s.", t, count(int(t.replicas), "replica", "replicas"), name, amounts(t.container))
}

// pods of a workload. They are the template after admission: with defaults of a LimitRange and
// sidecars.
func (e *exam) pods(ctx context.Context, a about, l *v1alpha1.LoadLine, t *target, o *unstructured.Unstructured) {
	raw, found, _ := unstructured.NestedMap(o.Object, "spec", "selector")
	if !found {
		return
	}
	var by metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &by); err != nil {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(&by)
	if err != nil || selector.Empty() {
		return
	}
	var list corev1.PodList
	if err := e.Reader.List(ctx, &list, client.InNamespace(l.Namespace), client.MatchingLabelsSelector{Selector: selector},
		client.Limit(mostPods)); err != nil {
		e.unseen(a, "pods", "pods of "+t.String(), err, "")
		return
	}
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded {
			t.pods = append(t.pods, p)
		}
	}
}

// amounts of a container in words.
func amounts(c *corev1.Container) string {
	of := func(list corev1.ResourceList, r corev1.ResourceName) string {
		if q, has := list[r]; has {
			return q.String()
		}
		return "none"
	}
	var parts []string
	for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		parts = append(parts, fmt.Sprintf("%s request %s, limit %s", r, of(c.Resources.Requests, r), of(c.Resources.Limits, r)))
	}
	return strings.Join(parts, "; ")
}
