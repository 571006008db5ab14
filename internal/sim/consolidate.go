package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

// validation is how long Karpenter waits before it carries out a disruption that it has found,
// to see whether it still holds.
const validation = 15 * time.Second

// reconsider is how long Karpenter leaves nodes alone after it has found none to consolidate,
// unless a pod is bound or gone, or a node comes or goes. That a node may be consolidated from
// now on is not among the reasons to look again.
const reconsider = 5 * time.Minute

// termination is Karpenter's least time to drain a node, also an empty one. As long as the node
// is there, it counts in the budget.
const termination = 5 * time.Second

// disruption is what has been found: nodes of a pool to be removed or replaced.
type disruption struct {
	nodes []int // none = nothing
	pool  int
	empty bool // they have no pods

	changed time.Duration                    // pods or nodes last came or went
	none    []struct{ several, single bool } // by pool: since then none was found together with others, none alone
}

// disrupt is Karpenter's loop over nodes to be removed or replaced: one disruption at a time is
// found, and carried out after the validation if it still holds. Then it looks for the next
// one; otherwise after an interval.
func (c *ControlPlane) disrupt(now time.Duration) {
	c.nextPass = now + checkInterval
	if now-c.found.changed >= reconsider {
		c.clusterChanged(now)
	}
	if len(c.found.nodes) > 0 {
		done := c.carryOut(now)
		c.found.nodes = c.found.nodes[:0]
		if !done {
			return
		}
	}
	for i := range c.pools {
		if c.find(i, now) {
			c.nextPass = now + validation
			return
		}
	}
}

// find looks for nodes of a pool that are empty, or whose pods fit elsewhere, or on other nodes
// and one cheaper node: several at once, then one by one.
func (c *ControlPlane) find(in int, now time.Duration) bool {
	p := &c.pools[in]
	if !p.Elastic || p.ConsolidateAfter < 0 {
		return false
	}
	may := c.findCandidates(in, now)
	if may <= 0 {
		return false
	}
	c.found.pool, c.found.empty = in, true
	for _, slot := range c.candidates {
		if c.nodes[slot].pods == 0 && len(c.found.nodes) < may {
			c.found.nodes = append(c.found.nodes, slot)
		}
	}
	if len(c.found.nodes) > 0 {
		return true
	}
	c.found.empty = false
	if len(c.pending) > 0 {
		return false
	}
	c.dropBlocked(in)
	c.countMay()
	none := &c.found.none[in]
	if !none.several {
		if n := c.findSeveral(may, now); n > 1 {
			c.found.nodes = append(c.found.nodes, c.candidates[:n]...)
			return true
		}
		none.several = len(c.candidates) > 0 && len(c.candidates) <= may
	}
	if !none.single {
		for n, slot := range c.candidates {
			if verdict, _ := c.consolidation(c.candidates[n:n+1], now); verdict != pool.Keep {
				c.found.nodes = append(c.found.nodes, slot)
				return true
			}
		}
		none.single = len(c.candidates) > 0
	}
	return false
}

// clusterChanged makes the next pass look at all nodes again.
func (c *ControlPlane) clusterChanged(now time.Duration) {
	c.found.changed = now
	clear(c.found.none)
}

// findSeveral is how many of the first candidates can be disrupted together. As in Karpenter it
// is a binary search, although more may be possible where fewer are not.
func (c *ControlPlane) findSeveral(may int, now time.Duration) (found int) {
	for least, most := 2, min(may, len(c.candidates)); least <= most; {
		n := (least + most) / 2
		if verdict, _ := c.consolidation(c.candidates[:n], now); verdict != pool.Keep {
			found, least = n, n+1
		} else {
			most = n - 1
		}
	}
	return found
}

// carryOut removes or replaces what was found, if it still holds, and reports whether it does.
func (c *ControlPlane) carryOut(now time.Duration) bool {
	may := c.findCandidates(c.found.pool, now)
	valid := func(slot int) bool { return slices.Contains(c.candidates, slot) }
	if c.found.empty {
		removed := false
		for _, slot := range c.found.nodes {
			if may > 0 && valid(slot) && c.nodes[slot].pods == 0 {
				c.drain(slot, now)
				may--
				removed = true
			}
		}
		return removed
	}
	c.dropBlocked(c.found.pool)
	for _, slot := range c.found.nodes {
		if !valid(slot) || may <= 0 {
			return false
		}
		may--
	}
	c.countMay()
	verdict, offer := c.consolidation(c.found.nodes, now)
	if verdict == pool.Keep {
		return false
	}
	if verdict == pool.Delete {
		for _, slot := range c.found.nodes {
			c.drain(slot, now)
		}
		return true
	}
	coming := c.buyNode(&c.offers[offer], now, false)
	for _, slot := range c.found.nodes {
		c.nodes[slot].state, c.nodes[slot].waitsFor = nodeDoomed, coming
		c.draining++
	}
	return true
}

// drain begins to remove a node.
func (c *ControlPlane) drain(slot int, now time.Duration) {
	n := &c.nodes[slot]
	if n.state != nodeDoomed {
		c.draining++
	}
	n.state, n.due = nodeDraining, now+termination
	c.clusterChanged(now)
}

// findCandidates lists a pool's nodes on which nothing has changed for long enough, and returns
// how many may be disrupted. Those with the highest price for each disruption come first, where
// a node counts as much as a pod.
func (c *ControlPlane) findCandidates(in int, now time.Duration) int {
	nodes, disrupted := 0, 0
	c.candidates = c.candidates[:0]
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.Pool != in {
			continue
		}
		switch n.state {
		case nodeUp:
			nodes++
			if c.calm(n, now) {
				c.candidates = append(c.candidates, i)
			}
		case nodeDoomed, nodeDraining:
			nodes++
			disrupted++
		}
	}
	slices.SortFunc(c.candidates, func(a, b int) int {
		if x, y := c.saving(a), c.saving(b); x != y {
			return cmp.Compare(y, x)
		}
		return a - b
	})
	return pool.MayDisrupt(c.pools[in].Budget, nodes, disrupted)
}

// calm reports whether nothing has changed on a node for its pool's delay. Nodes of fixed pools
// have none.
func (c *ControlPlane) calm(n *Node, now time.Duration) bool {
	return n.Pool < 0 || !c.pools[n.Pool].Elastic || now-n.changed >= c.pools[n.Pool].ConsolidateAfter
}

// saving is the price of a node for each disruption.
func (c *ControlPlane) saving(slot int) float64 {
	n := &c.nodes[slot]
	return c.cfg.Cluster.Prices.Of(n.kind) / float64(1+n.pods)
}

// dropBlocked removes candidates from which the PodDisruptionBudget of some pod forbids
// eviction.
func (c *ControlPlane) dropBlocked(in int) {
	clear(c.onNode)
	for service, slots := range c.byService {
		if pool.MayEvict(c.alloc[service].Replicas, c.Ready(service), c.pools[in].EvictLast) > 0 {
			continue
		}
		for _, slot := range slots {
			if p := &c.pods[slot]; p.Phase == loadline.PodReady && p.Node >= 0 {
				c.onNode[p.Node]++
			}
		}
	}
	c.candidates = slices.DeleteFunc(c.candidates, func(slot int) bool { return c.onNode[slot] > 0 })
}

// mayEvict is how many pods of a bound pod's service may be evicted now.
func (c *ControlPlane) mayEvict(p *Pod) int {
	last := c.nodes[p.Node].Pool >= 0 && c.pools[c.nodes[p.Node].Pool].EvictLast
	return pool.MayEvict(c.alloc[p.Service].Replicas, c.Ready(p.Service), last)
}

// consolidation is what can be done with a set of nodes. Their pods go only to nodes that are
// calm too. Several nodes are not replaced by one of the types that they have: without the others
// that one could stay.
func (c *ControlPlane) consolidation(set []int, now time.Duration) (pool.Verdict, int) {
	c.items, c.rooms, c.groups = c.items[:0], c.rooms[:0], c.groups[:0]
	price := 0.0
	for i := range c.nodes {
		n := &c.nodes[i]
		if slices.Contains(set, i) {
			price += c.cfg.Cluster.Prices.Of(n.kind)
			for _, slot := range c.podsOn(i) {
				if c.pods[slot].Phase != loadline.PodDraining {
					c.items = append(c.items, c.item(slot))
				}
			}
			c.reserveItems(i)
		} else if n.state == nodeUp && c.calm(n, now) {
			room := n.room()
			if c.spread {
				room.Groups = c.groupsOn(i)
			}
			c.rooms = append(c.rooms, room)
		}
	}
	verdict, offer := c.packer.Consolidate(c.items, c.rooms, c.offers, c.may, price)
	if verdict == pool.Replace && len(set) > 1 {
		for _, slot := range set {
			if n := &c.nodes[slot]; n.Pool == c.offers[offer].Pool && n.Type == c.offers[offer].Type {
				return pool.Keep, 0
			}
		}
	}
	return verdict, offer
}

// groupsOn are the groups of a node's pods; see pool.Item.
func (c *ControlPlane) groupsOn(node int) []int {
	before := len(c.groups)
	for _, slot := range c.podsOn(node) {
		if p := &c.pods[slot]; p.Phase != loadline.PodDraining {
			c.groups = append(c.groups, 1+p.Service)
		}
	}
	return c.groups[before:]
}

// drainNodes evicts pods from nodes that are to be removed, as far as PodDisruptionBudgets
// allow, and removes the empty ones. An evicted pod ends with grace; its ReplicaSet creates
// another at once.
func (c *ControlPlane) drainNodes(now time.Duration) {
	for i := range c.nodes {
		if c.nodes[i].state != nodeDraining {
			continue
		}
		for _, slot := range c.podsOn(i) {
			p := &c.pods[slot]
			if p.Phase == loadline.PodDraining || p.Phase == loadline.PodReady && c.mayEvict(p) == 0 {
				continue
			}
			service := p.Service
			c.meter.Drained++
			c.remove(slot, now)
			c.reconcile(service, now)
		}
		for k, on := range c.reserve.on {
			if on == i {
				c.releaseReserve(k, now)
			}
		}
		if n := &c.nodes[i]; n.pods == 0 && now >= n.due {
			c.draining--
			c.removeNode(i, now)
		}
	}
}
