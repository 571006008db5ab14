package sim

import (
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

// validation is how long Karpenter waits before it carries out a consolidation that it has
// found, to see whether it still holds. Here it prolongs the time without changes on the node.
const validation = 15 * time.Second

// initNodes reads the cluster's configuration.
func (c *ControlPlane) initNodes() {
	cluster := &c.cfg.Cluster
	c.nodeRng = Stream(c.cfg.Seed, StreamNodes, 0)
	c.nowhere = len(cluster.Pools) == 0 && len(c.app.Nodes) == 0
	nb := &cluster.Neighbours
	c.alone = nb.Use == 0 && nb.Request == 0 && nb.Memory == 0
	c.wakeAt, c.nextCheck, c.nextShape, c.batchFrom = Never, Never, c.nextUse(0), Never
	if len(cluster.Pools) > 0 || !c.alone {
		c.nextCheck = checkInterval
	}
	for _, p := range cluster.Pools {
		p = p.WithDefaults()
		c.pools = append(c.pools, p)
		c.nodeStart = append(c.nodeStart, NewSampler(p.Start))
	}
	c.listOffers()
	if s := c.cfg.PodStart; s != nil {
		c.startAlone, c.startPull = NewSampler(s.Alone), NewSampler(s.Pull)
	}
}

// listOffers lists the nodes that can be bought. Neighbours take the same share of new nodes.
func (c *ControlPlane) listOffers() {
	for i := range c.pools {
		p := &c.pools[i]
		c.may = append(c.may, 0)
		if !p.Elastic {
			continue
		}
		c.elastic = true
		for k, t := range p.Types {
			room := p.Room(t)
			taken := c.cfg.Cluster.Neighbours.On(room.Free, 0).Request
			room.Free.Cores -= taken.Cores
			room.Free.Memory -= taken.Memory
			c.offers = append(c.offers, pool.Offer{Pool: i, Type: k, Room: room, Price: c.cfg.Cluster.Prices.Of(t)})
		}
	}
}

// openBatch starts the window after which nodes are bought for pending pods; a new pod
// extends it.
func (c *ControlPlane) openBatch(now time.Duration, newPod bool) {
	if !c.elastic {
		return
	}
	if c.batchFrom == Never {
		c.batchFrom, c.batchLast = now, now
	} else if newPod {
		c.batchLast = now
	}
}

func (c *ControlPlane) batchDue() time.Duration {
	if c.batchFrom == Never {
		return Never
	}
	p := &c.pools[c.offers[0].Pool]
	return min(c.batchLast+p.BatchIdle, c.batchFrom+p.BatchMax)
}

// provision buys nodes for the pending pods, and returns how many. At the start of a run they
// are there at once.
func (c *ControlPlane) provision(now time.Duration, atOnce bool) int {
	c.batchFrom = Never
	c.items = c.items[:0]
	for _, slot := range c.pending {
		c.items = append(c.items, c.item(slot))
	}
	c.reserveItems(-1)
	c.rooms = c.rooms[:0]
	for i := range c.nodes {
		if n := &c.nodes[i]; n.state == nodeComing {
			c.rooms = append(c.rooms, n.room())
		}
	}
	c.countMay()
	buy := c.packer.Provision(c.items, c.rooms, c.offers, c.may)
	for _, offer := range buy {
		c.buyNode(&c.offers[offer], now, atOnce)
	}
	return len(buy)
}

func (c *ControlPlane) item(slot int) pool.Item {
	p := &c.pods[slot]
	return pool.Item{ID: int(p.ID), Need: pool.Amount{Cores: p.Size.CPURequest, Memory: p.Size.MemoryRequest}}
}

// countMay sets how many nodes each pool may still buy.
func (c *ControlPlane) countMay() {
	for i := range c.pools {
		c.may[i] = 0
		if c.pools[i].Elastic {
			c.may[i] = c.pools[i].Max
		}
	}
	for i := range c.nodes {
		if n := &c.nodes[i]; n.state != nodeGone && n.Pool >= 0 {
			c.may[n.Pool]--
		}
	}
}

// buyNode launches a node and returns its slot.
func (c *ControlPlane) buyNode(o *pool.Offer, now time.Duration, atOnce bool) int {
	c.meter.NodesAdded++
	if atOnce {
		return c.addNode(c.newNode(o.Pool, o.Type, nodeUp), now)
	}
	n := c.newNode(o.Pool, o.Type, nodeComing)
	n.due = now + c.nodeStart[o.Pool].DrawTime(c.nodeRng, 1)
	c.coming++
	return c.addNode(n, now)
}

// welcome makes nodes that have come ready; the nodes that they replace are drained.
func (c *ControlPlane) welcome(now time.Duration) {
	came := false
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.state != nodeComing || n.due > now {
			continue
		}
		n.state, n.Up, n.changed = nodeUp, true, now
		c.coming--
		came = true
		c.kubelet.NodeChanged(i)
		for k := range c.nodes {
			if old := &c.nodes[k]; old.state == nodeDoomed && old.waitsFor == i {
				old.state = nodeDraining
			}
		}
	}
	if came && len(c.pending) > 0 {
		c.placePending(now)
	}
}

// consolidate removes nodes that are empty, or whose pods fit elsewhere, and replaces nodes
// whose pods fit elsewhere and on one cheaper node: one decision per pool and pass.
func (c *ControlPlane) consolidate(now time.Duration) {
	for i := range c.pools {
		p := &c.pools[i]
		if !p.Elastic || p.ConsolidateAfter < 0 {
			continue
		}
		may := c.findCandidates(i, now)
		if may <= 0 || len(c.candidates) == 0 || c.removeEmpty(may, now) || len(c.pending) > 0 {
			continue
		}
		c.dropBlocked(i)
		c.countMay()
		// Several at once, the least used first; then one by one.
		done := false
		for n := min(may, len(c.candidates)); n > 1 && !done; n-- {
			done = c.consolidateSet(c.candidates[:n], now)
		}
		for n := 0; n < len(c.candidates) && !done; n++ {
			done = c.consolidateSet(c.candidates[n:n+1], now)
		}
	}
}

// findCandidates lists a pool's nodes on which nothing has changed for long enough, those
// with the fewest pods first, and returns how many may be disrupted.
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
			if now-n.changed >= c.pools[in].ConsolidateAfter+validation {
				c.candidates = append(c.candidates, i)
			}
		case nodeDoomed, nodeDraining:
			nodes++
			disrupted++
		}
	}
	slices.SortFunc(c.candidates, func(a, b int) int {
		if d := c.nodes[a].pods - c.nodes[b].pods; d != 0 {
			return d
		}
		return a - b
	})
	return pool.MayDisrupt(c.pools[in].Budget, nodes, disrupted)
}

// removeEmpty removes candidates without pods, and reports whether there were any.
func (c *ControlPlane) removeEmpty(may int, now time.Duration) bool {
	removed := false
	for _, slot := range c.candidates {
		if c.nodes[slot].pods > 0 || may == 0 {
			break
		}
		c.removeNode(slot, now)
		may--
		removed = true
	}
	return removed
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

// consolidateSet removes or replaces a set of nodes, if their pods need none of them.
func (c *ControlPlane) consolidateSet(set []int, now time.Duration) bool {
	c.items, c.rooms = c.items[:0], c.rooms[:0]
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
		} else if n.state == nodeUp || n.state == nodeComing {
			c.rooms = append(c.rooms, n.room())
		}
	}
	verdict, offer := c.packer.Consolidate(c.items, c.rooms, c.offers, c.may, price)
	if verdict == pool.Keep {
		return false
	}
	state, waitsFor := nodeDraining, -1
	if verdict == pool.Replace {
		state, waitsFor = nodeDoomed, c.buyNode(&c.offers[offer], now, false)
	}
	for _, slot := range set {
		c.nodes[slot].state, c.nodes[slot].waitsFor = state, waitsFor
		c.draining++
	}
	return true
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
		if c.nodes[i].pods == 0 {
			c.draining--
			c.removeNode(i, now)
		}
	}
}
