package sim

import (
	"math"

	"github.com/loadline/loadline/internal/sim/pool"
)

// reserve is the placeholder pods of Config.Reserve: a Deployment of pods with a negative
// priority that do nothing. Each requests as much as the largest pod of the application at its
// start, so that any pod fits in its place. They count in Node.Requested; the scheduler removes
// them for a pod that has no room otherwise, and they are pending again, for which a node
// autoscaler adds a node. They use neither CPU nor memory.
type reserve struct {
	each pool.Amount
	on   []int // by pod: its node; -1 = pending
}

// startReserve creates the placeholder pods, after those of the application.
func (c *ControlPlane) startReserve() {
	if c.cfg.Reserve <= 0 {
		return
	}
	for _, a := range c.alloc {
		c.reserve.each.Cores = max(c.reserve.each.Cores, a.Size.CPURequest)
		c.reserve.each.Memory = max(c.reserve.each.Memory, a.Size.MemoryRequest)
	}
	if c.reserve.each.Cores <= 0 {
		c.reserve.each.Cores = c.cfg.Reserve
	}
	for range int(math.Ceil(c.cfg.Reserve/c.reserve.each.Cores - 1e-9)) {
		c.reserve.on = append(c.reserve.on, -1)
	}
	c.placeReserve()
}

// placeReserve binds pending placeholder pods to the emptiest nodes with room; those of nodes that
// are gone are pending again.
func (c *ControlPlane) placeReserve() {
	for i, on := range c.reserve.on {
		if on >= 0 && c.nodes[on].Up {
			continue
		}
		c.reserve.on[i] = -1
		best := -1
		for k := range c.nodes {
			n := &c.nodes[k]
			if n.Up && n.fits(c.reserve.each.Cores, c.reserve.each.Memory) && (best < 0 || n.unclaimed() > c.nodes[best].unclaimed()) {
				best = k
			}
		}
		if best >= 0 {
			c.claimReserve(best, 1)
			c.reserve.on[i] = best
		}
	}
}

// preempt removes as few placeholder pods as make room for a pod, all of one node, and returns
// the node; -1 = they do not.
func (c *ControlPlane) preempt(cpu float64, mem int64) int {
	best, fewest := -1, math.MaxInt
	for k := range c.nodes {
		n := &c.nodes[k]
		for count := 1; n.Up && count <= c.reserveOn(k) && count < fewest; count++ {
			if n.fits(cpu-float64(count)*c.reserve.each.Cores, mem-int64(count)*c.reserve.each.Memory) {
				best, fewest = k, count
			}
		}
	}
	if best < 0 {
		return -1
	}
	left := fewest
	for i, on := range c.reserve.on {
		if on == best && left > 0 {
			c.reserve.on[i] = -1
			left--
		}
	}
	c.claimReserve(best, -fewest)
	return best
}

// claimReserve adds placeholder pods to what a node's pods request.
func (c *ControlPlane) claimReserve(node, pods int) {
	c.nodes[node].Requested.Cores += float64(pods) * c.reserve.each.Cores
	c.nodes[node].Requested.Memory += int64(pods) * c.reserve.each.Memory
}

// reserveOn counts the placeholder pods of a node.
func (c *ControlPlane) reserveOn(node int) int {
	count := 0
	for _, on := range c.reserve.on {
		if on == node {
			count++
		}
	}
	return count
}

// ReservePending is how many placeholder pods wait for a node, and what each requests.
func (c *ControlPlane) ReservePending() (pods int, each pool.Amount) {
	return c.reserveOn(-1), c.reserve.each
}

// unclaimed is the mean share of both resources that nothing requests.
func (n *Node) unclaimed() float64 {
	return 1 - (n.Requested.Cores/n.Offered.Cores+float64(n.Requested.Memory)/float64(n.Offered.Memory))/2
}
