package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestReleases: another image, command or environment is another release, another size or
// annotation is not.
func TestReleases(t *testing.T) {
	base := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "shop:1",
		Env: []corev1.EnvVar{{Name: "MODE", Value: "fast"}}}}}}
	for _, row := range []struct {
		name   string
		change func(*corev1.PodTemplateSpec)
		other  bool
	}{
		{"the same", func(*corev1.PodTemplateSpec) {}, false},
		{"another size", func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
		}, false},
		{"a restart by an annotation", func(t *corev1.PodTemplateSpec) {
			t.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}
		}, false},
		{"another image", func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Image = "shop:2" }, true},
		{"another argument", func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Args = []string{"--slow"} }, true},
		{"another environment", func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Env[0].Value = "slow" }, true},
		{"a sidecar", func(t *corev1.PodTemplateSpec) {
			t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "proxy", Image: "proxy:1"})
		}, true},
	} {
		other := *base.DeepCopy()
		row.change(&other)
		if got := releaseOf(&other) != releaseOf(&base); got != row.other {
			t.Errorf("%s: another release: %v", row.name, got)
		}
	}
}
