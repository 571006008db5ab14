package fluid

import (
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// pod is the engine's state of one pod. The engine is the Kubelet of sim.ControlPlane.
type pod struct {
	id     int64
	node   int
	cohort int // index into its service's cohorts; -1 = none
	from   usage
	used   usage // up to from

	// On its node: see crowded.go and chance.go.
	service int
	weight  float64
	busy    float64 // weight, as far as it is at work while all cores are in use
	want    float64 // cores
	stretch float64 // delay of a visit over its CPU time
	delay   float64 // mean further delay of a visit, in seconds
	risk    float64 // probability of it

	lost      bool // its node has failed; calls are still routed to it
	draining  bool
	left      float64 // visits it had when draining began
	drainFrom time.Duration
	drainTo   time.Duration
}

// NodeChanged makes room for a node.
func (e *Engine) NodeChanged(n int) {
	for len(e.nodes) <= n {
		e.nodes, e.nodeUsed = append(e.nodes, machine{}), append(e.nodeUsed, 0)
	}
	e.recheck(n)
}

// PodMemory is the bytes that a pod uses now.
func (e *Engine) PodMemory(slot int) float64 {
	if slot >= len(e.pods) || e.pods[slot].id != e.cp.Pod(slot).ID {
		return 0
	}
	s, p := &e.services[e.cp.Pod(slot).Service], &e.pods[slot]
	switch {
	case p.cohort >= 0:
		c := &s.cohorts[p.cohort]
		return s.base + s.perVisit*(c.crowd+c.calling)
	case p.draining:
		return s.base + s.perVisit*p.left
	}
	return 0
}

// PodReady adds a pod to routing.
func (e *Engine) PodReady(slot int) {
	e.openPod(slot)
	info := e.cp.Pod(slot)
	s := &e.services[info.Service]
	s.ready++
	e.replicasChanged = true
	limit, quota := e.limitOf(slot)
	e.join(s, slot, e.cohortFor(s, limit, quota, 0))
	e.enterNode(slot)
}

// openPod makes the state of a pod, new if the slot had another one.
func (e *Engine) openPod(slot int) {
	for len(e.pods) <= slot {
		e.pods = append(e.pods, pod{cohort: -1})
	}
	info := e.cp.Pod(slot)
	if p := &e.pods[slot]; p.id != info.ID {
		if p.id != 0 && p.node >= 0 {
			e.nodeUsed[p.node] += p.used.cpu
		}
		*p = pod{id: info.ID, node: info.Node, service: info.Service, cohort: -1}
	}
}

// limitOf is the CPU available to a pod's visits: idle usage is deducted from its limit;
// without a limit it is the node's cores.
func (e *Engine) limitOf(slot int) (cores float64, quota bool) {
	info := e.cp.Pod(slot)
	idle := e.app.Services[info.Service].IdleCPU
	if info.Size.CPULimit > 0 {
		cores = max(info.Size.CPULimit-idle, 0.001)
		return cores, e.cfg.CPU == sim.Quota
	}
	if info.Node >= 0 {
		return max(e.cp.Nodes()[info.Node].Cores-idle, 0.001), false
	}
	return 64, false
}

// cohortFor finds or makes a cohort for a replica with the given number of visits. Where
// routing balances the load, there is one cohort for all.
func (e *Engine) cohortFor(s *service, limit float64, quota bool, crowd float64) int {
	one := e.app.Routing == loadline.RouteLeastRequest
	for i := range s.cohorts {
		c := &s.cohorts[i]
		alike := c.ownLimit == limit && c.quota == quota && math.Abs(c.crowd-crowd) <= closeCrowd(c.crowd, crowd)
		if c.pods == 0 {
			// Empty ones are kept only until their place is needed.
			e.empty(s, i, limit, quota)
			return i
		}
		if alike || one {
			return i
		}
	}
	if len(s.cohorts) == cap(s.cohorts) {
		return len(s.cohorts) - 1
	}
	s.cohorts = s.cohorts[:len(s.cohorts)+1]
	e.empty(s, len(s.cohorts)-1, limit, quota)
	return len(s.cohorts) - 1
}

func (e *Engine) empty(s *service, i int, limit float64, quota bool) {
	s.cohorts[i] = cohort{limit: limit, ownLimit: limit, quota: quota, curve: e.curveFor(s, limit, quota)}
}

func closeCrowd(a, b float64) float64 { return 0.05*max(a, b) + 0.02 }

// join puts a pod without visits into a cohort.
func (e *Engine) join(s *service, slot, at int) {
	c, p := &s.cohorts[at], &e.pods[slot]
	share := 1 / float64(c.pods+1)
	c.crowd -= c.crowd * share
	c.extra -= c.extra * share
	c.calling -= c.calling * share
	if limit, _ := e.limitOf(slot); limit != c.ownLimit {
		c.ownLimit += (limit - c.ownLimit) * share
		c.limit = c.ownLimit
		c.curve = e.curveFor(s, c.limit, c.quota)
	}
	c.pods++
	p.cohort, p.from = at, c.perPod
}

// leave takes a pod out of its cohort and returns the visits that it had.
func (e *Engine) leave(s *service, slot int) float64 {
	p := &e.pods[slot]
	if p.cohort < 0 {
		return 0
	}
	c := &s.cohorts[p.cohort]
	p.used = p.used.plus(c.perPod.minus(p.from))
	p.cohort = -1
	c.pods--
	return c.crowd
}

func (u usage) plus(o usage) usage  { return usage{u.cpu + o.cpu, u.bytes + o.bytes, u.busy + o.busy} }
func (u usage) minus(o usage) usage { return usage{u.cpu - o.cpu, u.bytes - o.bytes, u.busy - o.busy} }

// PodDraining removes a pod from routing. It stops after the time that its visits need: the CPU
// work of its backlog, and an allowance for calls.
func (e *Engine) PodDraining(slot int) {
	info := e.cp.Pod(slot)
	s := &e.services[info.Service]
	p := &e.pods[slot]
	if p.lost {
		s.lost--
		p.lost, p.draining, p.left, p.drainTo = false, true, 0, e.now
		e.drainAt = e.now
		return
	}
	limit := 1.0
	if p.cohort >= 0 {
		limit = s.cohorts[p.cohort].limit
	}
	p.left = e.leave(s, slot)
	s.ready--
	e.replicasChanged = true
	s.draining += p.left
	p.draining = true
	p.drainFrom = e.now
	last := 2 * (s.hold + s.work.cpu/min(limit, 1))
	p.drainTo = e.now + time.Duration((p.left*s.work.cpu/limit+last)*float64(time.Second))
	e.drainAt = min(e.drainAt, p.drainTo)
	e.leaveNode(slot)
}

// drainStep advances draining pods; it returns the visits that left.
func (e *Engine) drainStep(s *service, h, cpu float64) (left float64) {
	if s.draining <= 0 {
		return 0
	}
	for _, slot := range e.cp.Slots(s.index) {
		if e.cp.Pod(slot).Phase != loadline.PodDraining {
			continue // a new pod may have no place here yet
		}
		p := &e.pods[slot]
		if p.left <= 0 {
			continue
		}
		rest := (p.drainTo - e.now).Seconds()
		gone := p.left
		if rest > h {
			gone = p.left * h / rest
		}
		p.left -= gone
		left += gone
		p.used.cpu += gone*cpu + s.idle*h
		p.used.bytes += (s.base + s.perVisit*p.left) * h
		p.used.busy += p.left * h
		s.cpuSeconds += gone*cpu + s.idle*h
	}
	s.draining = max(s.draining-left, 0)
	return left
}

// endDrains reports the empty pods to the control plane.
func (e *Engine) endDrains() {
	for i := range e.services {
		for again := true; again; {
			again = false
			for _, slot := range e.cp.Slots(i) {
				if p := &e.pods[min(slot, len(e.pods)-1)]; slot < len(e.pods) && p.draining && p.drainTo <= e.now {
					e.services[i].draining = max(e.services[i].draining-p.left, 0)
					p.left, p.draining = 0, false
					e.cp.Drained(slot, e.now)
					again = true
					break // the list has changed
				}
			}
		}
	}
	e.drainAt = sim.Never
	for i := range e.services {
		for _, slot := range e.cp.Slots(i) {
			if slot < len(e.pods) && e.pods[slot].draining {
				e.drainAt = min(e.drainAt, e.pods[slot].drainTo)
			}
		}
	}
}

// PodStopped fails all requests still in a pod.
func (e *Engine) PodStopped(slot int) {
	info := e.cp.Pod(slot)
	if slot >= len(e.pods) || e.pods[slot].id != info.ID {
		return // it never became ready
	}
	e.dropStart(slot)
	p, s := &e.pods[slot], &e.services[info.Service]
	switch {
	case p.lost:
		p.lost = false
		s.lost--
	case p.cohort >= 0:
		calling := s.cohorts[p.cohort].calling
		s.ready--
		e.replicasChanged = true
		e.loseVisits(info.Service, e.leave(s, slot), calling)
	case p.draining:
		s.draining = max(s.draining-p.left, 0)
		e.loseVisits(info.Service, p.left, 0)
		p.draining = false
	}
	e.leaveNode(slot)
}

// PodLost fails all requests in a pod whose node has failed. It stays in routing, and calls to
// it fail.
func (e *Engine) PodLost(slot int) {
	e.PodStopped(slot)
	e.pods[slot].lost = true
	e.services[e.cp.Pod(slot).Service].lost++
}

// loseVisits fails visits of a service, in proportion over the kinds: those queued or on the
// CPU of a pod, and those waiting for calls.
func (e *Engine) loseVisits(service int, crowd, calling float64) {
	s, m := &e.services[service], &e.meter.Services[service]
	m.Ended += crowd
	m.Failed += crowd
	share, flow := 0.0, 0.0
	if s.crowd > 0 {
		share = min(crowd/s.crowd, 1)
	}
	g := e.p.groups[s.position]
	for n := g.from; n < g.to; n++ {
		flow += e.flow[n]
	}
	s.crowd = 0
	for n := g.from; n < g.to; n++ {
		kd := &e.kinds[e.p.nodes[n].kind]
		lost := e.pop[n] * share
		e.pop[n] -= lost
		s.crowd += e.pop[n]
		kd.lost += lost
		e.calls.pending[n] += lost
		if edge := e.p.edgeOf[n]; edge >= 0 {
			e.calls.made[edge].Failed += lost
		}
		if flow > 0 {
			kd.orphans += calling * e.flow[n] / flow
		}
	}
}

// PodResized applies a pod's new size.
func (e *Engine) PodResized(slot int) {
	info := e.cp.Pod(slot)
	if slot >= len(e.pods) || e.pods[slot].id != info.ID || e.pods[slot].cohort < 0 {
		return
	}
	s := &e.services[info.Service]
	limit, quota := e.limitOf(slot)
	c := &s.cohorts[e.pods[slot].cohort]
	e.pods[slot].weight = e.weigh(slot)
	if info.Node >= 0 {
		e.recheck(info.Node)
	}
	if c.ownLimit == limit && c.quota == quota {
		return
	}
	before := *c
	crowd := e.leave(s, slot)
	at := e.cohortFor(s, limit, quota, crowd)
	e.join(s, slot, at)
	to := &s.cohorts[at]
	to.crowd += crowd / float64(to.pods) // its visits move with it
	if to.pods == 1 {
		to.extra, to.calling, to.out, to.in, to.trace = before.extra, before.calling, before.out, before.in, before.trace
	}
}

// PodUsage is what a pod has used since it was created.
func (e *Engine) PodUsage(slot int, _ time.Duration) (coreSeconds, byteSeconds float64) {
	if slot >= len(e.pods) || e.pods[slot].id != e.cp.Pod(slot).ID {
		return 0, 0 // while it starts, its cost is its request
	}
	u := e.usageOf(slot)
	return u.cpu, u.bytes
}

func (e *Engine) usageOf(slot int) usage {
	p := &e.pods[slot]
	if p.cohort < 0 {
		return p.used
	}
	c := &e.services[e.cp.Pod(slot).Service].cohorts[p.cohort]
	return p.used.plus(c.perPod.minus(p.from))
}
