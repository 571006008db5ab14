package sim

import (
	"time"

	"github.com/loadline/loadline/internal/sim/pool"
)

// Node is a machine of the cluster. Slots are reused: a node that is not Up is gone, or has
// not come yet.
type Node struct {
	Name   string
	Up     bool // it runs, and its pods with it
	Lost   bool // it has failed
	Pool   int  // index into Config.Cluster.Pools; -1 = App.Nodes
	Type   int  // index into the pool's types
	Cores  float64
	Memory int64 // bytes

	// Offered to pods: without what the system and DaemonSets reserve.
	Offered pool.Amount
	// Requested by pods and neighbours together.
	Requested pool.Amount

	// Others are neighbours and DaemonSets: what they want now, and their weight.
	Others pool.Others
}

// Nodes by slot. Valid until the control plane acts again.
func (c *ControlPlane) Nodes() []Node { return c.nodes }

// fits allows for the rounding of sums of requests such as 0.1.
func (n *Node) fits(cpu float64, mem int64) bool {
	return n.Requested.Cores+cpu <= n.Offered.Cores+1e-9 && n.Requested.Memory+mem <= n.Offered.Memory
}

// addNode makes a node in a free slot and returns it.
func (c *ControlPlane) addNode(n Node) int {
	n.Up = true
	slot := len(c.nodes)
	for i := range c.nodes {
		if !c.nodes[i].Up && !c.nodes[i].Lost {
			slot = i
			break
		}
	}
	if slot == len(c.nodes) {
		c.nodes = append(c.nodes, Node{})
	}
	c.nodes[slot] = n
	c.occupy(slot, 0)
	c.kubelet.NodeChanged(slot)
	return slot
}

// occupy sets what the neighbours of a node want now.
func (c *ControlPlane) occupy(slot int, now time.Duration) {
	n := &c.nodes[slot]
	was := n.Others
	n.Others = c.cfg.Cluster.Neighbours.On(n.Offered, now)
	n.Requested.Cores += n.Others.Request.Cores - was.Request.Cores
	n.Requested.Memory += n.Others.Request.Memory - was.Request.Memory
}
