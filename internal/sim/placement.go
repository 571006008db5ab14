package sim

import (
	"time"

	"github.com/loadline/loadline"
)

// place binds a pending pod to the node with the largest unclaimed share of CPU and memory, as
// the default scheduler scores; without room it stays pending.
func (c *ControlPlane) place(slot int, now time.Duration) {
	p := &c.pods[slot]
	best, bestScore := -1, -1.0
	for i := range c.nodes {
		n := &c.nodes[i]
		if !n.Up || !n.fits(p.Size.CPURequest, p.Size.MemoryRequest) {
			continue
		}
		score := (1-(n.Requested.Cores+p.Size.CPURequest)/n.Offered.Cores)/2 +
			(1-float64(n.Requested.Memory+p.Size.MemoryRequest)/float64(n.Offered.Memory))/2
		if score > bestScore {
			best, bestScore = i, score
		}
	}
	if best < 0 {
		best = c.preempt(p.Size.CPURequest, p.Size.MemoryRequest)
	}
	if best < 0 && len(c.nodes) > 0 {
		c.unplaced = true
		return
	}
	if best >= 0 {
		c.nodes[best].Requested.Cores += p.Size.CPURequest
		c.nodes[best].Requested.Memory += p.Size.MemoryRequest
		p.Node = best
	}
	p.Phase = loadline.PodStarting
	p.Bound, p.metered = now, now
	p.due = now + c.startup[p.Service].DrawTime(c.rng, c.cfg.StartupFactor)
	c.kubelet.PodStarting(slot)
}

func (c *ControlPlane) release(p *Pod) {
	if p.Node >= 0 {
		n := &c.nodes[p.Node]
		n.Requested.Cores -= p.Size.CPURequest
		n.Requested.Memory -= p.Size.MemoryRequest
	}
}

// LoseNode removes a node with all its pods; their services get new ones.
func (c *ControlPlane) LoseNode(node int, now time.Duration) {
	c.nodes[node].Up, c.nodes[node].Lost = false, true
	for service := range c.byService {
		for i := len(c.byService[service]) - 1; i >= 0; i-- {
			if slot := c.byService[service][i]; c.pods[slot].Node == node {
				c.stop(slot, now)
			}
		}
		c.reconcile(service, now)
	}
}

func (c *ControlPlane) placePending(now time.Duration) {
	c.unplaced = false
	for _, slots := range c.byService {
		for _, slot := range slots {
			if c.pods[slot].Phase == loadline.PodPending {
				c.place(slot, now)
			}
		}
	}
}
