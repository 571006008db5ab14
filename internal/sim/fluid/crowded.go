package fluid

import (
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// machine is a node whose cores are shared by its replicas.
type machine struct {
	wants float64 // cores that its replicas would use
}

// checkNodes determines whether the pods of any node may use more cores than it has. If none
// can, steps skip the sharing.
func (e *Engine) checkNodes() {
	e.crowdedNode = false
	for n := range e.nodes {
		sum := 0.0
		for i := range e.services {
			for _, slot := range e.cp.Slots(i) {
				if p := e.cp.Pod(slot); p.Node == n && (p.Phase == loadline.PodReady || p.Phase == loadline.PodDraining) {
					cores, _ := e.limitOf(slot)
					sum += cores
				}
			}
		}
		if sum > e.cp.Nodes()[n].Cores+1e-9 {
			e.crowdedNode = true
			return
		}
	}
}

// shareNodes lowers the limit of replicas on nodes with too few cores: in proportion to CPU
// requests, and what one does not need goes to the others. A service whose replicas are on
// several nodes gets the mean.
func (e *Engine) shareNodes() {
	for i := range e.services {
		s := &e.services[i]
		for c := range s.cohorts {
			s.cohorts[c].grant = 0
		}
	}
	for n := range e.nodes {
		level := e.fillLevel(n)
		e.eachPod(n, func(s *service, c *cohort, weight, want float64) {
			got := c.ownLimit
			if give := level * weight; give < want {
				got = min(got, give)
			} else if !c.quota && e.nodes[n].wants > 0 {
				// A replica without a limit may use what the others leave.
				got = min(got, max(e.cp.Nodes()[n].Cores-(e.nodes[n].wants-want), give))
			}
			c.grant += got / float64(c.pods)
		})
	}
	for i := range e.services {
		s := &e.services[i]
		for k := range s.cohorts {
			c := &s.cohorts[k]
			limit := c.ownLimit
			if c.grant > 0 && c.grant < c.ownLimit*0.999 {
				limit = c.grant
			}
			if math.Abs(limit-c.limit) > 0.005*c.limit {
				c.limit = limit
				c.curve = e.curveFor(s, limit, c.quota)
			}
		}
	}
}

// fillLevel solves the water-filling of a node's cores: each replica gets level*weight, at most
// what it wants. +Inf: there is enough for all.
func (e *Engine) fillLevel(n int) float64 {
	m := &e.nodes[n]
	m.wants = 0
	e.eachPod(n, func(_ *service, _ *cohort, _, want float64) { m.wants += want })
	if m.wants <= e.cp.Nodes()[n].Cores {
		return math.Inf(1)
	}
	level := 0.0
	for range 16 {
		free, weights := e.cp.Nodes()[n].Cores, 0.0
		e.eachPod(n, func(_ *service, _ *cohort, weight, want float64) {
			if want <= level*weight {
				free -= want
			} else {
				weights += weight
			}
		})
		if next := free / weights; weights > 0 && next > level*(1+1e-9) {
			level = next
			continue
		}
		break
	}
	return level
}

// eachPod calls f with every serving pod of a node: its weight and the cores it would use for
// its arrivals and its backlog.
func (e *Engine) eachPod(n int, f func(s *service, c *cohort, weight, want float64)) {
	for i := range e.services {
		s := &e.services[i]
		for _, slot := range e.cp.Slots(i) {
			info := e.cp.Pod(slot)
			if info.Node != n || slot >= len(e.pods) || e.pods[slot].cohort < 0 {
				continue
			}
			c := &s.cohorts[e.pods[slot].cohort]
			want := min(c.ownLimit, c.in*s.work.cpu+c.extra*s.work.cpu/max(e.step.Seconds(), 1))
			f(s, c, max(info.Size.CPURequest, 0.002), want)
		}
	}
}

// checkMemory kills replicas whose visits exceed their memory limit. Among equal replicas one
// is killed at a time: random fluctuations would not hit all at once.
func (e *Engine) checkMemory() {
	for i := range e.services {
		s := &e.services[i]
		if s.perVisit <= 0 {
			continue
		}
		for c := range s.cohorts {
			if slot := e.overfull(i, c); slot >= 0 {
				e.cp.Killed(slot, e.now)
				e.nextControl = e.cp.Next()
				break
			}
		}
	}
}

// overfull returns a pod of a cohort that exceeds its memory limit, or -1. The number of visits
// fluctuates: at random it reaches several times its mean within a step.
func (e *Engine) overfull(service, at int) int {
	s := &e.services[service]
	c := &s.cohorts[at]
	calling := c.calling
	usual := max(c.crowd-c.extra, 0)
	peak := c.extra + 5*usual + calling + 4*math.Sqrt(calling) + 1
	if peak*s.perVisit+s.base <= s.leastMemory(e.cp, service) {
		return -1
	}
	for _, slot := range e.cp.Slots(service) {
		info := e.cp.Pod(slot)
		if slot < len(e.pods) && e.pods[slot].cohort == at && e.pods[slot].id == info.ID &&
			info.Size.MemoryLimit > 0 && peak*s.perVisit+s.base > float64(info.Size.MemoryLimit) {
			return slot
		}
	}
	return -1
}

// leastMemory is a lower bound of the pods' limits: the desired limit, or the current one while
// a resize is pending.
func (s *service) leastMemory(cp *sim.ControlPlane, service int) float64 {
	least := math.Inf(1)
	for _, slot := range cp.Slots(service) {
		if limit := cp.Pod(slot).Size.MemoryLimit; limit > 0 {
			least = min(least, float64(limit))
		}
	}
	return least
}
