package simulate

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// sampledBefore is the age of the initial pods at the start: their start is not recorded.
const sampledBefore = time.Hour

// kubeState exposes the state of a service and its pods in the control plane.
func (r *Exposition) kubeState(service int, now *sim.ServiceReading, cp *sim.ControlPlane) {
	name := r.app.Services[service].Name
	deployment := []string{"namespace", r.namespace, "deployment", name}
	r.add(r.family("kube_deployment_spec_replicas", "gauge", "Replicas asked for."), "", float64(cp.Allocation()[service].Replicas),
		deployment...)
	r.add(r.family("kube_deployment_status_replicas_ready", "gauge", "Replicas that serve."), "", float64(cp.Ready(service)),
		deployment...)
	r.add(r.family("kube_replicaset_owner", "gauge", "Owner of a ReplicaSet."), "", 1,
		"namespace", r.namespace, "replicaset", replicaSet(name), "owner_kind", "Deployment", "owner_name", name)
	r.restarts(service, now, cp)
	for _, reading := range now.Pods {
		p := cp.Pod(reading.Slot)
		r.kubePod(name, r.pod(service, p), p)
		r.podInfo(r.namespace, r.pod(service, p).name, r.node(cp, p))
	}
}

func (r *Exposition) kubePod(service string, seen *podSeen, p *sim.Pod) {
	pod := []string{"namespace", r.namespace, "pod", seen.name}
	r.add(r.family("kube_pod_owner", "gauge", "Owner of a pod."), "", 1,
		append(pod[:4:4], "owner_kind", "ReplicaSet", "owner_name", replicaSet(service))...)
	created, ready := p.Created, p.Ready
	if created == 0 && ready == 0 {
		created, ready = -sampledBefore, -sampledBefore+time.Second
	}
	r.add(r.family("kube_pod_created", "gauge", "When a pod was created."), "", seconds(created), pod...)
	if ready != sim.Never {
		r.add(r.family("kube_pod_status_ready_time", "gauge", "When a pod became ready."), "", seconds(ready), pod...)
	}
	container := append(pod[:4:4], "container", "app")
	r.add(r.family("kube_pod_container_status_restarts", "counter", "Restarts of a container."), "_total", seen.restarts, container...)
	requests := r.family("kube_pod_container_resource_requests", "gauge", "What a container asks for.")
	limits := r.family("kube_pod_container_resource_limits", "gauge", "What a container is held to.")
	cpu := append(container[:6:6], "resource", "cpu", "unit", "core")
	memory := append(container[:6:6], "resource", "memory", "unit", "byte")
	for _, row := range []struct {
		f      *family
		value  float64
		labels []string
	}{
		{requests, p.Size.CPURequest, cpu}, {requests, float64(p.Size.MemoryRequest), memory},
		{limits, p.Size.CPULimit, cpu}, {limits, float64(p.Size.MemoryLimit), memory},
	} {
		if row.value > 0 { // none set, none shown
			r.add(row.f, "", row.value, row.labels...)
		}
	}
}

// restarts are counted by service; they belong to a pod that starts again, or
// else to the oldest.
func (r *Exposition) restarts(service int, now *sim.ServiceReading, cp *sim.ControlPlane) {
	seen := &r.services[service]
	fresh := now.Of[loadline.ServiceRestarts] - seen.restarts
	seen.restarts = now.Of[loadline.ServiceRestarts]
	if fresh <= 0 || len(now.Pods) == 0 {
		return
	}
	restarted := cp.Pod(now.Pods[0].Slot)
	for _, reading := range now.Pods {
		if p := cp.Pod(reading.Slot); p.Phase == loadline.PodStarting && p.Ready != sim.Never {
			restarted = p
		}
	}
	r.pod(service, restarted).restarts += fresh
}

func seconds(at time.Duration) float64 { return float64(sim.Time(at).UnixMilli()) / 1000 }
