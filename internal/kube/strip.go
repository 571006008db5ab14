package kube

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Strip is a transform for the cache that Look reads from: it keeps the fields
// that are used and drops the rest, which is most of the object. Its results must
// never be written back.
func Strip(object any) (any, error) {
	all, err := meta.Accessor(object)
	if err != nil {
		return object, nil // a tombstone, not an object
	}
	managed := aboutReplicas(all.GetManagedFields())
	switch o := object.(type) {
	case *corev1.Pod:
		stripPod(o)
		managed = nil
	case *appsv1.Deployment:
		stripMeta(o)
		stripTemplate(&o.Spec.Template)
	case *appsv1.StatefulSet:
		stripMeta(o)
		stripTemplate(&o.Spec.Template)
		o.Spec.VolumeClaimTemplates = nil
	case *autoscalingv2.HorizontalPodAutoscaler:
		stripMeta(o)
		if !Inert(o) { // which the behaviour tells
			o.Spec.Behavior = nil
		}
		o.Spec.Metrics, o.Status = nil, autoscalingv2.HorizontalPodAutoscalerStatus{}
		managed = nil
	case *metav1.PartialObjectMetadata:
		if o.Kind == "ReplicaSet" {
			stripMeta(o)
			o.Labels = nil
		}
		managed = nil
	}
	all.SetManagedFields(managed)
	return object, nil
}

// stripMeta keeps only Loadline's annotations.
func stripMeta(o metav1.Object) {
	o.SetAnnotations(only(o.GetAnnotations(), func(key string) bool { return strings.HasPrefix(key, "loadline.dev/") }))
}

func only(annotations map[string]string, keep func(key string) bool) map[string]string {
	var kept map[string]string
	for key, value := range annotations {
		if keep(key) {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[key] = value
		}
	}
	return kept
}

func isDefaultContainer(key string) bool { return key == defaultContainer }

// aboutReplicas keeps the entries that changed.go needs, and of them only that
// field.
func aboutReplicas(fields []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var kept []metav1.ManagedFieldsEntry
	for i := range fields {
		if f := fields[i]; ownsReplicas(&f) {
			f.FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)
			kept = append(kept, f)
		}
	}
	return kept
}

func stripTemplate(t *corev1.PodTemplateSpec) {
	t.Labels = nil
	t.Annotations = only(t.Annotations, isDefaultContainer)
	spread := t.Spec.TopologySpreadConstraints
	t.Spec = stripSpec(&t.Spec)
	t.Spec.TopologySpreadConstraints = spread
}

func stripSpec(s *corev1.PodSpec) corev1.PodSpec {
	return corev1.PodSpec{
		NodeName: s.NodeName, Resources: s.Resources,
		Containers: stripContainers(s.Containers), InitContainers: stripContainers(s.InitContainers),
	}
}

func stripContainers(containers []corev1.Container) []corev1.Container {
	var kept []corev1.Container
	for i := range containers {
		c := &containers[i]
		kept = append(kept, corev1.Container{Name: c.Name, Resources: c.Resources, ResizePolicy: c.ResizePolicy,
			RestartPolicy: c.RestartPolicy})
	}
	return kept
}

func stripPod(pod *corev1.Pod) {
	pod.Annotations = only(pod.Annotations, isDefaultContainer)
	pod.GenerateName, pod.Finalizers = "", nil
	pod.Spec = stripSpec(&pod.Spec)
	s := &pod.Status
	kept := corev1.PodStatus{Phase: s.Phase, QOSClass: s.QOSClass, PodIP: s.PodIP}
	for _, c := range s.Conditions {
		if slices.Contains([]corev1.PodConditionType{corev1.PodReady, corev1.PodResizePending, corev1.PodResizeInProgress}, c.Type) {
			kept.Conditions = append(kept.Conditions, c)
		}
	}
	for i := range s.ContainerStatuses {
		c := &s.ContainerStatuses[i]
		kept.ContainerStatuses = append(kept.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Ready: c.Ready,
			RestartCount: c.RestartCount, Resources: c.Resources})
	}
	pod.Status = kept
}
