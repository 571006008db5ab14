package event

import (
	"math"
	"slices"
	"time"
)

// NodeChanged copies what a node has, and what others on it want.
func (e *Engine) NodeChanged(i int) {
	for len(e.nodes) <= i {
		e.nodes = append(e.nodes, node{id: int32(len(e.nodes))})
	}
	e.queue.grow(nodeTimer, i+1)
	from, n := &e.cp.Nodes()[i], &e.nodes[i]
	n.cores = from.Cores
	if from.Up {
		e.changeOthers(i, from.Others.Want, from.Others.Request.Cores)
	} else {
		e.changeOthers(i, 0, 0)
	}
	e.shareNode(n)
}

// PodStarting lets a pod use CPU for its start-up, which is an amount of work: the time that
// was drawn for it, at StartupCPU cores. A CPU limit or a crowded node makes it last longer.
func (e *Engine) PodStarting(slot int) {
	cores := e.app.Services[e.cp.Pod(slot).Service].StartupCPU
	if cores == 0 {
		return
	}
	r := e.replicaOf(slot)
	e.size(r, slot)
	r.starting, r.at = true, e.now
	r.startLeft = cores * float64(e.cp.HoldStart(slot, e.time()))
	e.setBase(int32(slot), e.startCores(slot))
	e.join(int32(slot))
	e.retime(int32(slot))
}

// startCores is what a starting pod wants.
func (e *Engine) startCores(slot int) float64 {
	p := e.cp.Pod(slot)
	cores := e.app.Services[p.Service].StartupCPU
	if p.Size.CPULimit > 0 {
		cores = min(cores, p.Size.CPULimit)
	}
	return cores
}

// replicaOf returns the replica of a pod, new if the slot had another pod.
func (e *Engine) replicaOf(slot int) *replica {
	for len(e.replicas) <= slot {
		e.replicas = append(e.replicas, replica{})
	}
	e.queue.grow(cpuTimer, slot+1)
	p := e.cp.Pod(slot)
	r := &e.replicas[slot]
	if r.podID != p.ID {
		*r = replica{jobs: r.jobs[:0], podID: p.ID}
	}
	r.service, r.node = int32(p.Service), int32(p.Node)
	return r
}

// PodMemory is the bytes that a pod uses now.
func (e *Engine) PodMemory(slot int) float64 {
	if slot >= len(e.replicas) || e.replicas[slot].podID != e.cp.Pod(slot).ID || !e.replicas[slot].serving {
		return 0
	}
	r := &e.replicas[slot]
	svc := &e.app.Services[r.service]
	return float64(svc.Memory.Base) + float64(svc.Memory.PerRequest)*float64(r.inside)
}

// PodReady adds a pod to routing.
func (e *Engine) PodReady(slot int) {
	r := e.replicaOf(slot)
	e.sync(r)
	r.serving, r.starting, r.draining, r.throttled, r.handling = true, false, false, false, false
	r.queueHead, r.queueTail = none, none
	r.at, r.busyAt, r.readyAt = e.now, e.now, e.now
	// Quota periods of different pods are not aligned. The present one has begun, unused.
	r.periodEnd = e.now - e.phase[r.service].Int64N(periodNs)
	r.budget = 0
	e.size(r, slot)
	e.setBase(int32(slot), e.app.Services[r.service].IdleCPU)
	e.join(int32(slot))
	e.retime(int32(slot))
	s := &e.services[r.service]
	s.ready = append(s.ready, int32(slot))
}

// size copies a pod's limits.
func (e *Engine) size(r *replica, slot int) {
	p := e.cp.Pod(slot)
	svc := &e.app.Services[p.Service]
	r.request = p.Size.CPURequest
	r.limit = math.Inf(1)
	if p.Size.CPULimit > 0 {
		// Idle CPU usage comes out of the same limit.
		r.limit = max(p.Size.CPULimit-svc.IdleCPU, 0.001)
	}
	r.maxInside = math.MaxInt32
	if p.Size.MemoryLimit > 0 && svc.Memory.PerRequest > 0 {
		r.maxInside = int32(min(max(p.Size.MemoryLimit-svc.Memory.Base, -1)/svc.Memory.PerRequest, math.MaxInt32))
	}
}

// PodDraining removes a pod from routing; it stops when it is empty.
func (e *Engine) PodDraining(slot int) {
	r := &e.replicas[slot]
	e.unroute(int32(slot))
	r.draining = true
	if r.inside == 0 {
		e.cp.Drained(slot, e.time())
	}
}

func (e *Engine) unroute(slot int32) {
	s := &e.services[e.replicas[slot].service]
	if i := slices.Index(s.ready, slot); i >= 0 {
		s.ready = slices.Delete(s.ready, i, i+1)
	}
}

// connectTimeout is how long a call to a pod on a lost node takes to fail.
const connectTimeout = int64(time.Second)

// PodLost fails all requests in a pod whose node has failed. It stays in routing.
func (e *Engine) PodLost(slot int) {
	r := &e.replicas[slot]
	e.PodStopped(slot)
	r.lost = true
	s := &e.services[r.service]
	s.ready = append(s.ready, int32(slot))
}

// connectLost sends a visit to a replica on a lost node: it fails after a time-out.
func (e *Engine) connectLost(i, slot int32) {
	v := &e.visits[i]
	v.slot, v.state = slot, connecting
	r := &e.replicas[slot]
	r.count(e.now, +1)
	r.holding++
	e.services[r.service].count(e.now, +1)
	e.queue.push(e.now+connectTimeout, waitOver, i)
}

// connectFailed ends a visit to a replica on a lost node.
func (e *Engine) connectFailed(i int32) {
	slot := e.visits[i].slot
	r := &e.replicas[slot]
	r.count(e.now, -1)
	r.holding--
	e.services[r.service].count(e.now, -1)
	e.refuse(i)
	e.endIfDrained(slot)
}

// endIfDrained deletes a draining pod that is empty.
func (e *Engine) endIfDrained(slot int32) bool {
	r := &e.replicas[slot]
	if !r.draining || r.inside > 0 {
		return false
	}
	e.cp.Drained(int(slot), e.time())
	e.cpDirty = true
	return true
}

// PodStopped fails all requests still in a pod.
func (e *Engine) PodStopped(slot int) {
	if slot < len(e.replicas) && e.replicas[slot].lost && e.replicas[slot].podID == e.cp.Pod(slot).ID {
		e.unroute(int32(slot))
		e.replicas[slot].lost, e.replicas[slot].draining = false, false
		e.killAll(int32(slot))
		return
	}
	if !e.runs(slot) {
		return // it used nothing yet
	}
	r := &e.replicas[slot]
	e.sync(r)
	if r.serving {
		e.unroute(int32(slot))
		r.upNs += float64(e.now - r.readyAt)
		r.count(e.now, 0)
	}
	r.serving, r.starting, r.draining, r.throttled = false, false, false, false
	e.leave(int32(slot))
	e.queue.set(cpuTimer, int32(slot), never)
	e.killAll(int32(slot))
}

// runs reports whether the pod in a slot serves, or starts and uses CPU for it.
func (e *Engine) runs(slot int) bool {
	if slot >= len(e.replicas) {
		return false
	}
	r := &e.replicas[slot]
	return (r.serving || r.starting) && r.podID == e.cp.Pod(slot).ID
}

// PodResized copies a pod's new size.
func (e *Engine) PodResized(slot int) {
	if !e.runs(slot) {
		return
	}
	r := &e.replicas[slot]
	e.sync(r)
	old := r.limit
	e.size(r, slot)
	if r.starting {
		e.setBase(int32(slot), e.startCores(slot))
		e.retime(int32(slot))
		return
	}
	if e.quota && !math.IsInf(r.limit, 1) {
		if math.IsInf(old, 1) {
			e.openPeriodNow(r)
		} else {
			r.budget += (r.limit - old) * float64(periodNs)
		}
	}
	if r.inside > r.maxInside {
		e.cp.Killed(slot, e.time())
		return
	}
	e.retime(int32(slot))
}

// openPeriodNow starts the quota accounting of a replica that had no limit.
func (e *Engine) openPeriodNow(r *replica) {
	r.periodEnd = e.now
	e.openPeriod(r)
}

// PodUsage is what a pod has used since it was created.
func (e *Engine) PodUsage(slot int, now time.Duration) (coreSeconds, byteSeconds float64) {
	if slot >= len(e.replicas) || e.replicas[slot].podID != e.cp.Pod(slot).ID {
		return 0, 0 // while it starts, its cost is its request
	}
	r := &e.replicas[slot]
	e.sync(r)
	svc := &e.app.Services[r.service]
	up := r.upNs
	if r.serving {
		r.count(e.now, 0)
		up += float64(e.now - r.readyAt)
	}
	mem := float64(svc.Memory.Base)*up + float64(svc.Memory.PerRequest)*r.busyNs
	return r.cpuNs / 1e9, mem / 1e9
}
