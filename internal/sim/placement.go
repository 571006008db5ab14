package sim

import (
	"time"

	"github.com/loadline/loadline"
)

// nodeRoom is a node's capacity and the sum of its pods' requests.
type nodeRoom struct {
	cpu, cpuCap float64
	mem, memCap int64
	lost        bool
}

// place binds a pending pod to the node with the largest unclaimed share of CPU and memory, as
// the default scheduler scores; without room it stays pending.
func (c *ControlPlane) place(slot int, now time.Duration) {
	p := &c.pods[slot]
	best, bestScore := -1, -1.0
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.lost || !n.fits(p.Size.CPURequest, p.Size.MemoryRequest) {
			continue
		}
		score := (1-(n.cpu+p.Size.CPURequest)/n.cpuCap)/2 + (1-float64(n.mem+p.Size.MemoryRequest)/float64(n.memCap))/2
		if score > bestScore {
			best, bestScore = i, score
		}
	}
	if best < 0 && len(c.nodes) > 0 {
		c.unplaced = true
		return
	}
	if best >= 0 {
		c.nodes[best].cpu += p.Size.CPURequest
		c.nodes[best].mem += p.Size.MemoryRequest
		p.Node = best
	}
	p.Phase = loadline.PodStarting
	p.Bound, p.metered = now, now
	p.due = now + c.startup[p.Service].DrawTime(c.rng, c.cfg.StartupFactor)
}

// fits allows for the rounding of sums of requests such as 0.1.
func (n *nodeRoom) fits(cpu float64, mem int64) bool {
	return n.cpu+cpu <= n.cpuCap+1e-9 && n.mem+mem <= n.memCap
}

func (c *ControlPlane) release(p *Pod) {
	if p.Node >= 0 {
		n := &c.nodes[p.Node]
		n.cpu -= p.Size.CPURequest
		n.mem -= p.Size.MemoryRequest
	}
}

// LoseNode removes a node with all its pods; their services get new ones.
func (c *ControlPlane) LoseNode(node int, now time.Duration) {
	c.nodes[node].lost = true
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
