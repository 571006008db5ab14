package cluster

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// podSeen is a real pod, by the API server.
type podSeen struct {
	uid             types.UID
	name, container string
	service, node   int // indices into the app; node -1 = not bound
	running         bool
	serving         bool // ready, and not being deleted
	size            loadline.Size
}

// podPlayed is the state of a real pod, and its counterpart in the engine.
type podPlayed struct {
	podSeen
	there bool // the API server still has it

	slot  int
	id    int64         // of the engine's pod; 0 = none
	ready time.Duration // when that became ready; 0 = it has not been seen so

	startedWith        float64 // counter at the time at which the engine's pod began
	cpu, memory        float64 // core-seconds, bytes
	periods, throttled float64
}

// servicePlayed is the last reading of a service, where only the difference to it
// can be attributed to pods.
type servicePlayed struct{ periods, throttled float64 }

// startCost is the usage of a container before it serves: a counter of zero would mean a
// container without measurements.
const startCost = 0.01

// look lists the real pods of the application.
func (p *Player) look(ctx context.Context) ([]podSeen, error) {
	var pods corev1.PodList
	var sets appsv1.ReplicaSetList
	if err := p.cache.List(ctx, &pods); err != nil {
		return nil, err
	}
	if err := p.cache.List(ctx, &sets); err != nil {
		return nil, err
	}
	deployments := map[string]string{} // by ReplicaSet
	for i := range sets.Items {
		if owner := metav1.GetControllerOf(&sets.Items[i]); owner != nil && owner.Kind == "Deployment" {
			deployments[sets.Items[i].Name] = owner.Name
		}
	}
	var seen []podSeen
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := metav1.GetControllerOf(pod)
		if owner == nil {
			continue
		}
		workload := owner.Name
		if owner.Kind == "ReplicaSet" {
			workload = deployments[owner.Name]
		}
		if service := p.app.ServiceIndex(workload); service >= 0 {
			seen = append(seen, p.see(pod, service))
		}
	}
	return seen, nil
}

func (p *Player) see(pod *corev1.Pod, service int) podSeen {
	s := podSeen{
		uid: pod.UID, name: pod.Name, service: service, container: pod.Spec.Containers[0].Name,
		node:    slices.IndexFunc(p.app.Nodes, func(n loadline.Node) bool { return n.Name == pod.Spec.NodeName }),
		running: pod.Status.Phase == corev1.PodRunning,
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			s.serving = c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil && s.running
		}
	}
	in := pod.Spec.Containers[0].Resources
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == s.container && c.Resources != nil {
			in = *c.Resources // in effect, not requested
		}
	}
	s.size = loadline.Size{
		CPURequest: in.Requests.Cpu().AsApproximateFloat64(), CPULimit: in.Limits.Cpu().AsApproximateFloat64(),
		MemoryRequest: in.Requests.Memory().Value(), MemoryLimit: in.Limits.Memory().Value(),
	}
	return s
}

// pair updates the engine's pods to the cluster's. The engine's own control plane gets numbers
// only; which pod is removed, its node and its size are written into the engine's pods
// directly. The lock is held.
func (p *Player) pair(seen []podSeen) {
	for _, played := range p.pods {
		played.there = false
	}
	for _, s := range seen {
		played, known := p.pods[s.uid]
		if !known {
			played = &podPlayed{cpu: startCost, memory: float64(p.app.Services[s.service].Memory.Base)}
			p.pods[s.uid] = played
		}
		played.podSeen, played.there = s, true
	}
	byService := make([][]*podPlayed, len(p.app.Services))
	for _, s := range seen {
		byService[s.service] = append(byService[s.service], p.pods[s.uid])
	}
	for _, played := range p.pods {
		if !played.there && played.id != 0 {
			byService[played.service] = append(byService[played.service], played)
			played.serving, played.running = false, false
		}
	}
	for service, pods := range byService {
		p.remove(service, pods)
		p.dropCalls(service, pods)
		p.add(service, pods)
		p.resize(pods)
	}
}

// engineOwn is the engine's pod of a real one, or nil if it is gone.
func (p *Player) engineOwn(played *podPlayed) *sim.Pod {
	if played.id == 0 {
		return nil
	}
	if pod := p.engine.ControlPlane().Pod(played.slot); pod.ID == played.id {
		return pod
	}
	return nil
}

// remove drains the engine's pods whose real ones no longer serve, and stops those whose real
// ones are gone.
func (p *Player) remove(service int, pods []*podPlayed) {
	cp := p.engine.ControlPlane()
	var victims []*sim.Pod
	for _, played := range pods {
		own := p.engineOwn(played)
		if own == nil {
			played.id = 0
			continue
		}
		if !played.serving && own.Phase != loadline.PodDraining {
			victims = append(victims, own)
		}
	}
	if len(victims) > 0 {
		restore := p.choose(service, victims)
		p.setReplicas(service, cp.Allocation()[service].Replicas-len(victims))
		restore()
	}
	for _, played := range pods {
		if own := p.engineOwn(played); own != nil && !played.there && own.Phase == loadline.PodDraining {
			cp.Drained(played.slot, p.now)
		}
	}
}

// dropCalls makes the engine drop optional calls to a service without pods: they are refused at
// once, and callers do not wait. Left to itself the fluid engine adds the latency that the last
// pods had to every call.
func (p *Player) dropCalls(service int, pods []*podPlayed) {
	if !p.optional[service] {
		return
	}
	none := !slices.ContainsFunc(pods, func(q *podPlayed) bool { return q.serving })
	if p.engine.ControlPlane().Allocation()[service].Brownout != none {
		p.engine.Apply(loadline.Plan{Services: []loadline.ServicePlan{{
			Service: service, Setting: loadline.Setting{Brownout: loadline.Some(none)},
		}}})
	}
}

// choose makes the control plane remove these pods first: it takes those that are not ready,
// and then those that became ready last. Call restore afterwards.
func (p *Player) choose(service int, victims []*sim.Pod) (restore func()) {
	cp := p.engine.ControlPlane()
	var crashed []*sim.Pod
	for _, slot := range cp.Slots(service) {
		if pod := cp.Pod(slot); pod.Phase == loadline.PodStarting && !slices.Contains(victims, pod) {
			pod.Phase = loadline.PodReady // it starts again: not to be taken instead
			crashed = append(crashed, pod)
		}
	}
	for _, pod := range victims {
		pod.Ready = sim.Never - 1
	}
	return func() {
		for _, pod := range crashed {
			pod.Phase = loadline.PodStarting
		}
	}
}

// add makes an engine's pod for every real one that has begun to serve.
func (p *Player) add(service int, pods []*podPlayed) {
	var fresh []*podPlayed
	for _, played := range pods {
		if played.serving && played.id == 0 {
			fresh = append(fresh, played)
		}
	}
	if len(fresh) == 0 {
		return
	}
	cp := p.engine.ControlPlane()
	p.setReplicas(service, cp.Allocation()[service].Replicas+len(fresh))
	slots := cp.Slots(service)
	for i, played := range fresh {
		played.slot = slots[len(slots)-len(fresh)+i]
		own := cp.Pod(played.slot)
		own.Node, own.Size = played.node, played.size
		played.id, played.ready, played.startedWith = own.ID, 0, played.cpu
	}
}

// resize gives the engine's pods their size in effect.
func (p *Player) resize(pods []*podPlayed) {
	for _, played := range pods {
		own := p.engineOwn(played)
		if own == nil || !played.serving || own.Size == played.size {
			continue
		}
		p.engine.ControlPlane().Settle(p.now) // at the old size up to now
		own.Size = played.size
		p.engine.PodResized(played.slot)
	}
}

// setReplicas sets the number of the engine's pods.
func (p *Player) setReplicas(service, replicas int) {
	p.engine.Apply(loadline.Plan{Services: []loadline.ServicePlan{{
		Service: service, Setting: loadline.Setting{Replicas: loadline.Some(replicas)},
	}}})
}
