package kube

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// sized are the resources that determine a pod's QoS class.
var sized = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// QoSClass returns the class of a pod. It is fixed at its creation; before that
// it is the class that the pod would get.
func QoSClass(pod *corev1.Pod) corev1.PodQOSClass {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	return qosWith(pod, "", corev1.ResourceRequirements{})
}

// qosWith is the class that a pod would have if one of its containers had other
// resources. Guaranteed: all containers have limits of CPU and memory, and the
// sums of requests are equal; a missing request equals its limit. BestEffort:
// nothing is requested at all.
func qosWith(pod *corev1.Pod, container string, other corev1.ResourceRequirements) corev1.PodQOSClass {
	var all []corev1.ResourceRequirements
	if r := pod.Spec.Resources; r != nil && len(r.Requests)+len(r.Limits) > 0 {
		all = append(all, *r) // resources of the whole pod count alone
	} else {
		for i := range pod.Spec.Containers {
			r := pod.Spec.Containers[i].Resources
			if pod.Spec.Containers[i].Name == container {
				r = other
			}
			all = append(all, r)
		}
		for i := range pod.Spec.InitContainers {
			all = append(all, pod.Spec.InitContainers[i].Resources)
		}
	}
	requests, limits := map[corev1.ResourceName]resource.Quantity{}, map[corev1.ResourceName]resource.Quantity{}
	guaranteed := true
	for i := range all {
		for _, name := range sized {
			asked := all[i].Requests
			if _, given := asked[name]; !given {
				asked = all[i].Limits
			}
			add(requests, name, asked)
			if !add(limits, name, all[i].Limits) {
				guaranteed = false
			}
		}
	}
	if len(requests) == 0 && len(limits) == 0 {
		return corev1.PodQOSBestEffort
	}
	for name, request := range requests {
		limit := limits[name]
		guaranteed = guaranteed && limit.Cmp(request) == 0
	}
	if guaranteed && len(requests) == len(limits) {
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// add reports whether there was anything to add.
func add(sum map[corev1.ResourceName]resource.Quantity, name corev1.ResourceName, list corev1.ResourceList) bool {
	q, given := list[name]
	if !given || q.Sign() <= 0 {
		return false
	}
	so := sum[name]
	so.Add(q)
	sum[name] = so
	return true
}
