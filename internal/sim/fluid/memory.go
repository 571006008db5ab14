package fluid

import (
	"math"

	"github.com/loadline/loadline/internal/sim"
)

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
