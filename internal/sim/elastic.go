package sim

import (
	"time"

	"github.com/loadline/loadline/internal/sim/pool"
)

// initNodes reads the cluster's configuration.
func (c *ControlPlane) initNodes() {
	cluster := &c.cfg.Cluster
	c.nodeRng = Stream(c.cfg.Seed, StreamNodes, 0)
	c.nowhere = len(cluster.Pools) == 0 && len(c.app.Nodes) == 0
	nb := &cluster.Neighbours
	c.alone = nb.Use == 0 && nb.Request == 0 && nb.Memory == 0
	c.wakeAt, c.nextCheck, c.nextPass, c.nextShape, c.batchFrom = Never, Never, Never, c.nextUse(0), Never
	if len(cluster.Pools) > 0 || !c.alone {
		c.nextCheck = checkInterval
	}
	for _, p := range cluster.Pools {
		p = p.WithDefaults()
		c.pools = append(c.pools, p)
		c.nodeStart = append(c.nodeStart, NewSampler(p.Start))
	}
	c.listOffers()
	c.found.none = make([]struct{ several, single bool }, len(c.pools))
	if c.elastic {
		c.nextPass = checkInterval
	}
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
		c.spread = c.spread || p.Spread
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
	it := pool.Item{ID: int(p.ID), Need: pool.Amount{Cores: p.Size.CPURequest, Memory: p.Size.MemoryRequest}}
	if c.spread {
		it.Group = 1 + p.Service
	}
	return it
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
		c.clusterChanged(now)
		c.kubelet.NodeChanged(i)
		for k := range c.nodes {
			if old := &c.nodes[k]; old.state == nodeDoomed && old.waitsFor == i {
				c.drain(k, now)
			}
		}
	}
	if came && len(c.pending) > 0 {
		c.placePending(now)
	}
}
