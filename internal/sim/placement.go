package sim

import (
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

// The scheduler follows Kubernetes' default profile as far as pods differ by their requests:
// nodes without room are left out, the others are scored from 0 to 100 by three plug-ins
// with their default weights, and the best is taken.
//
//   - NodeResourcesFit, weight 1: the mean over CPU and memory of the share that stays
//     unclaimed (LeastAllocated), or that is claimed (MostAllocated).
//   - NodeResourcesBalancedAllocation, weight 1: 1 - |claimed CPU - claimed memory| / 2.
//   - PodTopologySpread, weight 2, over host names: each pod of the same service on a node
//     counts ln(nodes+2), plus maxSkew-1. The score is (most+least-count)/most. The cluster's
//     default constraint has maxSkew 3; Pool.Spread is a constraint of the service, maxSkew 1.
//
// Deviations: of nodes with equal scores the first is taken instead of a random one, and
// pods that did not fit are retried as soon as room appears, without a back-off.
const (
	defaultSkew = 3
	spreadSkew  = 1
)

// place binds a pod to the best node with room. It reports whether there is one.
func (c *ControlPlane) place(slot int, now time.Duration) bool {
	p := &c.pods[slot]
	if !c.nowhere {
		best := c.bestNode(p)
		if best < 0 {
			best = c.preempt(p, now)
		}
		if best < 0 {
			return false
		}
		n := &c.nodes[best]
		n.Requested.Cores += p.Size.CPURequest
		n.Requested.Memory += p.Size.MemoryRequest
		n.pods++
		n.changed = now
		c.clusterChanged(now)
		p.Node = best
	}
	p.Phase = loadline.PodStarting
	p.Bound, p.metered = now, now
	p.startAt = now
	if c.cfg.PodStart != nil && p.Node >= 0 {
		p.startAt = c.containerStart(&c.nodes[p.Node], p.Service, now)
	}
	p.due = p.startAt + c.startup[p.Service].DrawTime(c.rng[p.Service], c.cfg.StartupFactor)
	c.startContainer(slot, now)
	return true
}

// bestNode is the node with the highest score; -1 = none has room.
func (c *ControlPlane) bestNode(p *Pod) int {
	nodes, least, most := c.countService(p)
	if nodes == 0 {
		return -1
	}
	best, bestScore := -1, math.Inf(-1)
	perPod := math.Log(float64(nodes + 2))
	for i := range c.nodes {
		n := &c.nodes[i]
		if !c.takes(n, p) {
			continue
		}
		score := n.score(p, c.placement(n))
		skew := float64(c.skew(n) - 1)
		if top := float64(most)*perPod + skew; top > 0 {
			count := float64(c.onNode[i])*perPod + skew
			score += 2 * (top + float64(least)*perPod + skew - count) / top
		} else {
			score += 2
		}
		if score > bestScore+1e-12 {
			best, bestScore = i, score
		}
	}
	return best
}

func (c *ControlPlane) takes(n *Node, p *Pod) bool {
	return n.state == nodeUp && n.pods < n.maxPods && n.fits(p.Size.CPURequest, p.Size.MemoryRequest)
}

// score is that of both plug-ins on resources, of 2.
func (n *Node) score(p *Pod, placement pool.Placement) float64 {
	cpu := claimed(n.Requested.Cores+p.Size.CPURequest, n.Offered.Cores)
	mem := claimed(float64(n.Requested.Memory+p.Size.MemoryRequest), float64(n.Offered.Memory))
	fit := 1 - (cpu+mem)/2
	if placement == pool.MostAllocated {
		fit = (cpu + mem) / 2
	}
	return fit + 1 - math.Abs(cpu-mem)/2
}

func claimed(requested, offered float64) float64 {
	if offered <= 0 {
		return 1
	}
	return min(requested/offered, 1)
}

func (c *ControlPlane) placement(n *Node) pool.Placement {
	if n.Pool < 0 {
		return pool.LeastAllocated
	}
	return c.pools[n.Pool].Placement
}

func (c *ControlPlane) skew(n *Node) int {
	if n.Pool >= 0 && c.pools[n.Pool].Spread {
		return spreadSkew
	}
	return defaultSkew
}

// countService sets c.onNode to the pods of a pod's service by node. It returns the number of
// nodes with room for the pod and the least and most of such pods on one of them.
func (c *ControlPlane) countService(p *Pod) (nodes, least, most int) {
	clear(c.onNode)
	for _, slot := range c.byService[p.Service] {
		if o := &c.pods[slot]; o.Node >= 0 && o.Phase != loadline.PodDraining {
			c.onNode[o.Node]++
		}
	}
	least = math.MaxInt
	for i := range c.nodes {
		if c.takes(&c.nodes[i], p) {
			nodes++
			least, most = min(least, int(c.onNode[i])), max(most, int(c.onNode[i]))
		}
	}
	return nodes, least, most
}

// release gives a pod's room back.
func (c *ControlPlane) release(p *Pod, now time.Duration) {
	if p.Node < 0 {
		return
	}
	n := &c.nodes[p.Node]
	n.Requested.Cores -= p.Size.CPURequest
	n.Requested.Memory -= p.Size.MemoryRequest
	n.pods--
	n.changed = now
	c.clusterChanged(now)
	if n.pods == 0 {
		n.Requested = n.neighbours.Request // without rounding
		if n.state == nodeDraining {
			c.wakeAt = now
		}
	}
	p.Node = -1
}

// placePending binds what fits of the pending pods, in order of creation.
func (c *ControlPlane) placePending(now time.Duration) {
	left := c.pending[:0]
	for _, slot := range c.pending {
		if !c.place(slot, now) {
			left = append(left, slot)
		}
	}
	c.pending = left
	if len(left) > 0 {
		c.openBatch(now, false)
	}
}
