package kube

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

// defaultContainer is kubectl's annotation for the default container.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// proxies are containers added by service meshes. deploy/admission has the same
// list.
var proxies = []string{"istio-proxy", "linkerd-proxy"}

// ContainerOf returns the container of a service to resize: the named one, or
// kubectl's default, or the first that is not a mesh proxy. A nil service is one
// that Loadline does not scale. "" = there is none.
func ContainerOf(s *v1alpha1.Service, annotations map[string]string, containers []corev1.Container) string {
	has := func(name string) bool {
		return slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == name })
	}
	if s != nil && s.Container != "" {
		if has(s.Container) {
			return s.Container
		}
		return ""
	}
	if name := annotations[defaultContainer]; has(name) {
		return name
	}
	for i := range containers {
		if !slices.Contains(proxies, containers[i].Name) {
			return containers[i].Name
		}
	}
	return ""
}

func findContainer(containers []corev1.Container, name string) *corev1.Container {
	for i := range containers {
		if containers[i].Name == name {
			return &containers[i]
		}
	}
	return nil
}

// sizeOf returns the size that a container requests. Where only a limit is set,
// it is the request as well: a pod gets it at its creation, a template does not
// show it.
func sizeOf(r corev1.ResourceRequirements) loadline.Size {
	s := loadline.Size{
		CPURequest: cores(r.Requests), CPULimit: cores(r.Limits),
		MemoryRequest: r.Requests.Memory().Value(), MemoryLimit: r.Limits.Memory().Value(),
	}
	if _, given := r.Requests[corev1.ResourceCPU]; !given {
		s.CPURequest = s.CPULimit
	}
	if _, given := r.Requests[corev1.ResourceMemory]; !given {
		s.MemoryRequest = s.MemoryLimit
	}
	return s
}

func cores(l corev1.ResourceList) float64 { return float64(l.Cpu().MilliValue()) / 1000 }

// specSize is the size in a pod's spec.
func specSize(pod *corev1.Pod, container string) loadline.Size {
	if c := findContainer(pod.Spec.Containers, container); c != nil {
		return sizeOf(c.Resources)
	}
	return loadline.Size{}
}

// sizeInForce is the size that the node has allocated to the pod. If the
// container does not run yet, or the node does not report it, it is the size in
// the spec.
func sizeInForce(pod *corev1.Pod, container string) loadline.Size {
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if s.Name == container && s.Resources != nil {
			return sizeOf(*s.Resources)
		}
	}
	return specSize(pod, container)
}

// usualSize is the desired size of most pods, excluding draining ones; if two are
// equally frequent, that of the newest pod. Without pods it is the template's.
func usualSize(pods []Pod, template loadline.Size) loadline.Size {
	count := map[loadline.Size]int{}
	newest := map[loadline.Size]int64{}
	best, found := template, false
	for i := range pods {
		if pods[i].Phase == loadline.PodDraining {
			continue
		}
		size := pods[i].Desired
		count[size]++
		newest[size] = max(newest[size], pods[i].Created.UnixNano())
		if n := count[size] - count[best]; !found || n > 0 || n == 0 && newest[size] > newest[best] {
			best, found = size, true
		}
	}
	return best
}
