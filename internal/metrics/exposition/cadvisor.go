package exposition

import (
	"strconv"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// cadvisor shows what the containers of a service use. The engines count quota
// periods by service, so its ready pods share them evenly.
func (r *Recorder) cadvisor(service int, now *sim.ServiceReading, cp *sim.ControlPlane) {
	cpu := r.family("container_cpu_usage_seconds", "counter", "CPU time used.")
	memory := r.family("container_memory_working_set_bytes", "gauge", "Memory in use.")
	periods := r.family("container_cpu_cfs_periods", "counter", "CPU quota periods; an even share of the service's.")
	throttled := r.family("container_cpu_cfs_throttled_periods", "counter", "CPU quota periods in which the container was stopped; an even share of the service's.")
	seen := &r.services[service]
	ready := float64(max(1, cp.Ready(service)))
	newPeriods, newThrottled := now.Periods-seen.periods, now.ThrottledPeriods-seen.throttled
	seen.periods, seen.throttled = now.Periods, now.ThrottledPeriods
	for _, reading := range now.Pods {
		p := cp.Pod(reading.Slot)
		if p.Phase == loadline.PodPending {
			continue // it has no container yet
		}
		pod := r.pod(service, p)
		labels := []string{"namespace", r.namespace, "pod", pod.name, "container", "app", "node", r.node(p)}
		r.add(cpu, "_total", reading.CPUSeconds, labels...)
		if p.Phase == loadline.PodReady || p.Phase == loadline.PodDraining {
			r.add(memory, "", reading.MemoryBytes, labels...)
		}
		if p.Phase == loadline.PodReady {
			pod.periods += newPeriods / ready
			pod.throttled += newThrottled / ready
		}
		if p.Size.CPULimit > 0 {
			r.add(periods, "_total", pod.periods, labels...)
			r.add(throttled, "_total", pod.throttled, labels...)
		}
	}
}

// PodName is how the pod of a service is called, made as a Deployment's ReplicaSet
// makes it.
func PodName(service string, id int64) string {
	return replicaSet(service) + "-" + safe(uint64(id), 5)
}

// pod is what is remembered of a pod.
func (r *Recorder) pod(service int, p *sim.Pod) *podSeen {
	seen, known := r.pods[p.ID]
	if !known {
		seen = &podSeen{name: PodName(r.app.Services[service].Name, p.ID)}
		r.pods[p.ID] = seen
	}
	return seen
}

// replicaSet is the name of a deployment's only ReplicaSet.
func replicaSet(deployment string) string {
	hash := uint64(14695981039346656037)
	for _, c := range []byte(deployment) {
		hash = (hash ^ uint64(c)) * 1099511628211
	}
	return deployment + "-" + safe(hash, 10)
}

// safe writes a number with the letters that Kubernetes uses in generated
// names: no vowels, so that they spell nothing.
func safe(n uint64, length int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	text := make([]byte, length)
	for i := length - 1; i >= 0; i-- {
		text[i] = letters[n%uint64(len(letters))]
		n /= uint64(len(letters))
	}
	return string(text)
}

func (r *Recorder) node(p *sim.Pod) string {
	if p.Node < 0 || p.Node >= len(r.app.Nodes) {
		return ""
	}
	if name := r.app.Nodes[p.Node].Name; name != "" {
		return name
	}
	return "node-" + strconv.Itoa(p.Node)
}
