package simulate

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// othersNamespace is where the exposition puts everything on a node that is not the
// application: one pod per node.
const othersNamespace = "neighbours"

// kubeNodes shows the nodes and the pods of others on them.
func (r *Exposition) kubeNodes(reading *sim.Reading, cp *sim.ControlPlane) {
	r.watched.watch(reading, cp)
	since := time.Duration(0)
	if n := len(r.times); n > 1 {
		since = r.times[n-1] - r.times[n-2]
	}
	capacity := r.family("kube_node_status_capacity", "gauge", "What a node has.")
	allocatable := r.family("kube_node_status_allocatable", "gauge", "What pods may request of a node.")
	for i := range cp.Nodes() {
		n := &cp.Nodes()[i]
		if !n.Up {
			continue
		}
		name := nodeName(n, i)
		cpu := []string{"node", name, "resource", "cpu", "unit", "core"}
		memory := []string{"node", name, "resource", "memory", "unit", "byte"}
		r.add(capacity, "", n.Cores, cpu...)
		r.add(capacity, "", float64(n.Memory), memory...)
		r.add(allocatable, "", n.Offered.Cores, cpu...)
		r.add(allocatable, "", float64(n.Offered.Memory), memory...)
		used := 0.0
		if since > 0 {
			used = r.watched.seconds[i] / since.Seconds()
		}
		r.others[name] += othersCPU(n, used) * since.Seconds()
		r.otherPod(name, n)
	}
}

// otherPod shows the pod of others on a node.
func (r *Exposition) otherPod(node string, n *sim.Node) {
	pod := "others-" + node
	r.podInfo(othersNamespace, pod, node)
	container := []string{"namespace", othersNamespace, "pod", pod, "container", "others"}
	requests := r.family("kube_pod_container_resource_requests", "gauge", "What a container asks for.")
	r.add(requests, "", n.Others.Request.Cores, append(container[:6:6], "resource", "cpu", "unit", "core")...)
	r.add(requests, "", float64(n.Others.Request.Memory), append(container[:6:6], "resource", "memory", "unit", "byte")...)
	used := append(container[:6:6], "node", node)
	cpu, suffix := r.containers(int(loadline.ServiceCPU))
	r.add(cpu, suffix, r.others[node], used...)
	memory, _ := r.containers(int(loadline.ServiceMemory))
	r.add(memory, "", float64(n.Others.Memory), used...)
}

// podInfo shows where a pod is, and that it has not ended.
func (r *Exposition) podInfo(namespace, pod, node string) {
	r.add(r.family("kube_pod_info", "gauge", "Where a pod is."), "", 1, "namespace", namespace, "pod", pod, "node", node)
}
