package sim

import (
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

// reserve is the placeholder pods of Config.Reserve, or of the last plan that has a reserve: a
// Deployment of pods with a negative priority that do nothing. Each requests as much as the plan
// says, or as the largest pod of the application when the first of them is created, so that any pod
// fits in its place. They
// count in Node.Requested; the scheduler removes them for a pod that has no room otherwise, and they
// are pending again, for which a node autoscaler adds a node. They use neither CPU nor memory.
type reserve struct {
	each pool.Amount
	on   []int // by pod: its node; -1 = pending
}

// startReserve creates the placeholder pods, after those of the application.
func (c *ControlPlane) startReserve() {
	if c.cfg.Reserve <= 0 {
		return
	}
	c.setReserve(loadline.Room{Cores: c.cfg.Reserve}, loadline.Room{}, 0)
	for c.reserveOn(-1) > 0 && c.elastic && c.provision(0, true) > 0 {
		c.placeReserve(0)
	}
}

// sizeReserve chooses the size of a placeholder pod: the given one, which replaces those of another
// size, or once that of the largest pod.
func (c *ControlPlane) sizeReserve(pod loadline.Room, now time.Duration) {
	if each := (pool.Amount{Cores: pod.Cores, Memory: pod.Memory}); each != (pool.Amount{}) && each != c.reserve.each {
		c.dropReserve(0, now)
		c.reserve.each = each
	}
	if c.reserve.each != (pool.Amount{}) {
		return
	}
	for _, a := range c.alloc {
		c.reserve.each.Cores = max(c.reserve.each.Cores, a.Size.CPURequest)
		c.reserve.each.Memory = max(c.reserve.each.Memory, a.Size.MemoryRequest)
	}
	if c.reserve.each.Cores <= 0 {
		c.reserve.each.Cores = 1
	}
}

// setReserve changes the number of placeholder pods to what keeps a room free, in pods of a size;
// zero = sizeReserve chooses it.
func (c *ControlPlane) setReserve(room, pod loadline.Room, now time.Duration) {
	if room == (loadline.Room{}) && len(c.reserve.on) == 0 {
		return
	}
	c.sizeReserve(pod, now)
	pods := math.Ceil(room.Cores/c.reserve.each.Cores - 1e-9)
	if each := c.reserve.each.Memory; each > 0 {
		pods = max(pods, math.Ceil(float64(room.Memory)/float64(each)-1e-9))
	}
	for len(c.reserve.on) < int(pods) {
		c.reserve.on = append(c.reserve.on, -1)
		c.openBatch(now, true)
	}
	c.dropReserve(int(max(pods, 0)), now)
	c.placeReserve(now)
}

// dropReserve removes placeholder pods down to a number. Those that are pending go first, then the
// newest.
func (c *ControlPlane) dropReserve(keep int, now time.Duration) {
	for len(c.reserve.on) > keep {
		last := slices.Index(c.reserve.on, -1)
		if last < 0 {
			last = len(c.reserve.on) - 1
			c.unbindReserve(last, now)
		}
		c.reserve.on = slices.Delete(c.reserve.on, last, last+1)
	}
}

// placeReserve binds pending placeholder pods to the emptiest nodes with room; those of nodes
// that take no pods any more are pending again. Nodes are bought for them as for other pods.
func (c *ControlPlane) placeReserve(now time.Duration) {
	for i, on := range c.reserve.on {
		if on >= 0 {
			if c.nodes[on].state == nodeUp {
				continue
			}
			c.releaseReserve(i, now)
		}
		best := -1
		for k := range c.nodes {
			n := &c.nodes[k]
			if n.state == nodeUp && n.pods < n.maxPods && n.fits(c.reserve.each.Cores, c.reserve.each.Memory) &&
				(best < 0 || n.unclaimed() > c.nodes[best].unclaimed()) {
				best = k
			}
		}
		if best >= 0 {
			c.claimReserve(i, best, now)
		}
	}
}

// preempt removes as few placeholder pods as make room for a pod, all of one node, and returns
// the node; -1 = they do not.
func (c *ControlPlane) preempt(p *Pod, now time.Duration) int {
	best, fewest := -1, math.MaxInt
	for k := range c.nodes {
		n := &c.nodes[k]
		for count := 1; n.state == nodeUp && count <= c.reserveOn(k) && count < fewest; count++ {
			if n.fits(p.Size.CPURequest-float64(count)*c.reserve.each.Cores, p.Size.MemoryRequest-int64(count)*c.reserve.each.Memory) {
				best, fewest = k, count
			}
		}
	}
	if best < 0 {
		return -1
	}
	for i, on := range c.reserve.on {
		if on == best && fewest > 0 {
			c.releaseReserve(i, now)
			fewest--
		}
	}
	return best
}

// claimReserve binds a placeholder pod to a node.
func (c *ControlPlane) claimReserve(i, node int, now time.Duration) {
	c.reserve.on[i] = node
	n := &c.nodes[node]
	n.Requested.Cores += c.reserve.each.Cores
	n.Requested.Memory += c.reserve.each.Memory
	n.pods++
	n.changed = now
	c.clusterChanged(now)
}

// releaseReserve makes a bound placeholder pod pending again.
func (c *ControlPlane) releaseReserve(i int, now time.Duration) {
	c.unbindReserve(i, now)
	c.openBatch(now, true)
}

// unbindReserve gives the room of a bound placeholder pod back.
func (c *ControlPlane) unbindReserve(i int, now time.Duration) {
	n := &c.nodes[c.reserve.on[i]]
	c.reserve.on[i] = -1
	n.Requested.Cores -= c.reserve.each.Cores
	n.Requested.Memory -= c.reserve.each.Memory
	n.pods--
	n.changed = now
	c.clusterChanged(now)
}

// reserveOn counts the placeholder pods of a node; -1 = those that are pending.
func (c *ControlPlane) reserveOn(node int) int {
	count := 0
	for _, on := range c.reserve.on {
		if on == node {
			count++
		}
	}
	return count
}

// reserveItems adds placeholder pods to what has to be packed: those of a node, or -1 for those
// that are pending.
func (c *ControlPlane) reserveItems(node int) {
	for i, on := range c.reserve.on {
		if on == node {
			c.items = append(c.items, pool.Item{ID: -1 - i, Need: c.reserve.each})
		}
	}
}

// ReservePending is how many placeholder pods wait for a node, and what each requests.
func (c *ControlPlane) ReservePending() (pods int, each pool.Amount) {
	return c.reserveOn(-1), c.reserve.each
}

// ReservePods is how many placeholder pods there are, and what each requests.
func (c *ControlPlane) ReservePods() (pods int, each pool.Amount) {
	return len(c.reserve.on), c.reserve.each
}

// unclaimed is the mean share of both resources that nothing requests.
func (n *Node) unclaimed() float64 {
	return 1 - (n.Requested.Cores/n.Offered.Cores+float64(n.Requested.Memory)/float64(n.Offered.Memory))/2
}
