package sim

import (
	"time"

	"github.com/loadline/loadline"
)

// LoseNode makes a node fail. Its pods stop serving at once, but calls are routed to them
// until the loss is noticed after Config.NodeGrace; after Config.Toleration more they are
// deleted and replaced. If there is no node in the slot, the next one fails.
func (c *ControlPlane) LoseNode(node int, now time.Duration) {
	for i := range c.nodes {
		if slot := (node + i) % len(c.nodes); c.nodes[slot].Up {
			c.loseNode(slot, now)
			return
		}
	}
}

func (c *ControlPlane) loseNode(node int, now time.Duration) {
	for _, slot := range c.podsOn(node) {
		p := &c.pods[slot]
		c.meterPod(slot, now)
		p.startAt, p.resizeAt, p.metered = Never, Never, Never
		p.deferred, p.lost = false, true
		switch p.Phase {
		case loadline.PodReady:
			c.kubelet.PodLost(slot)
		case loadline.PodStarting:
			p.due = Never
			c.kubelet.PodStopped(slot)
		case loadline.PodDraining:
			c.stop(slot, now)
		}
	}
	c.billNode(node, now)
	n := &c.nodes[node]
	if n.state == nodeDraining || n.state == nodeDoomed {
		c.draining--
	}
	n.state, n.Up, n.Lost = nodeLost, false, true
	n.due = now + c.cfg.NodeGrace
	c.losses++
	c.kubelet.NodeChanged(node)
}

// podsOn lists the pods that are bound to a node. Valid until it is called again.
func (c *ControlPlane) podsOn(node int) []int {
	c.listed = c.listed[:0]
	for _, slots := range c.byService {
		for _, slot := range slots {
			if c.pods[slot].Node == node {
				c.listed = append(c.listed, slot)
			}
		}
	}
	return c.listed
}

// runLosses advances the handling of lost nodes.
func (c *ControlPlane) runLosses(now time.Duration) {
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.state != nodeLost || n.due > now {
			continue
		}
		if !n.noticed {
			c.noticeLoss(i, now)
			n.due = now + max(c.cfg.Toleration, 0)
		}
		if n.due <= now {
			c.replaceLost(i, now)
		}
	}
}

// noticeLoss takes the pods of a lost node out of routing. They stay not ready.
func (c *ControlPlane) noticeLoss(node int, now time.Duration) {
	c.billNode(node, now)
	c.nodes[node].noticed = true
	for _, slot := range c.podsOn(node) {
		if p := &c.pods[slot]; p.Phase == loadline.PodReady {
			p.Phase, p.due = loadline.PodStarting, Never
			c.kubelet.PodStopped(slot)
		}
	}
}

// replaceLost deletes the pods of a lost node; their services get new ones. The slot of a
// node of an elastic pool becomes free.
func (c *ControlPlane) replaceLost(node int, now time.Duration) {
	for _, slot := range c.podsOn(node) {
		c.stop(slot, now)
	}
	for service := range c.byService {
		c.reconcile(service, now)
	}
	n := &c.nodes[node]
	n.due = Never
	c.losses--
	if n.Pool >= 0 && c.pools[n.Pool].Elastic {
		n.state, n.Lost = nodeGone, false
	}
}
