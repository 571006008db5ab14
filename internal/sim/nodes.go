package sim

import (
	"math/rand/v2"
	"strconv"
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

	state       nodeState
	kind        pool.Type
	pods        int           // bound to it
	maxPods     int           // of ours
	allocatable int64         // memory of all pods, neighbours' and DaemonSets' included
	due         time.Duration // coming: it is ready; lost: the loss is noticed, then its pods are replaced; draining: it may go
	noticed     bool          // lost, and the control plane knows it
	changed     time.Duration // a pod last came, began to end, or went
	waitsFor    int           // doomed: the node that replaces it

	neighbours   pool.Others    // Others without DaemonSets
	vary         pool.Variation // of what neighbours want
	varyRng      *rand.Rand
	paid         time.Duration
	ours, theirs pool.Tenant // since paid
	theirsTo     time.Duration

	startFree, pullFree time.Duration
	images              []time.Duration // by service: when the node has its image; Never = it is not asked for
}

type nodeState int8

const (
	nodeGone     nodeState = iota // the slot is free
	nodeComing                    // bought, not ready
	nodeUp                        // takes pods
	nodeDoomed                    // takes no pods, waits for the node that replaces it
	nodeDraining                  // takes no pods, and those it has are evicted
	nodeLost
)

// NodeState is what a node is doing, in a word.
type NodeState string

// States of nodes.
const (
	NodeGone     NodeState = "gone" // there is none in the slot
	NodeComing   NodeState = "coming"
	NodeUp       NodeState = "up"
	NodeDraining NodeState = "draining" // takes no pods, and will go
	NodeLost     NodeState = "lost"
)

// State of the node.
func (n *Node) State() NodeState {
	switch n.state {
	case nodeComing:
		return NodeComing
	case nodeUp:
		return NodeUp
	case nodeDoomed, nodeDraining:
		return NodeDraining
	case nodeLost:
		return NodeLost
	}
	return NodeGone
}

// nodeControl is the part of the control plane that concerns nodes.
type nodeControl struct {
	nodes   []Node // by slot
	pools   []pool.Pool
	offers  []pool.Offer // of elastic pools
	nowhere bool         // there are no nodes: pods run outside any
	elastic bool         // some pool is
	spread  bool         // some elastic pool keeps the pods of a service apart
	alone   bool         // there are no neighbours

	startAlone, startPull Sampler   // of Config.PodStart
	nodeStart             []Sampler // by pool
	nodeRng               *rand.Rand
	bought                int

	coming, draining, losses int           // nodes in these states; draining includes doomed ones
	wakeAt                   time.Duration // nodes need attention at once
	nextCheck                time.Duration // of memory
	nextPass                 time.Duration // over under-used nodes
	found                    disruption
	nextShape                time.Duration // of neighbours
	batchFrom, batchLast     time.Duration // of pods that wait for a new node; Never = none does

	// Buffers.
	packer     pool.Packer
	items      []pool.Item
	rooms      []pool.Room
	groups     []int // of rooms
	may        []int // by pool
	candidates []int
	listed     []int
	onNode     []int     // by node
	memory     []float64 // by node
}

// Nodes by slot. Valid until the control plane acts again.
func (c *ControlPlane) Nodes() []Node { return c.nodes }

// fits allows for the rounding of sums of requests such as 0.1.
func (n *Node) fits(cpu float64, mem int64) bool {
	return n.Requested.Cores+cpu <= n.Offered.Cores+1e-9 && n.Requested.Memory+mem <= n.Offered.Memory
}

// room is what a node has left for pods.
func (n *Node) room() pool.Room {
	return pool.Room{
		Free: pool.Amount{Cores: n.Offered.Cores - n.Requested.Cores, Memory: n.Offered.Memory - n.Requested.Memory},
		Pods: n.maxPods - n.pods,
	}
}

// firstNodes makes the nodes that are there from the start: those of fixed pools, or without
// any pool the application's. They have the images of all services.
func (c *ControlPlane) firstNodes() {
	if len(c.pools) == 0 {
		for _, n := range c.app.Nodes {
			all := pool.Amount{Cores: n.Cores, Memory: n.Memory}
			c.addNode(Node{
				Name: n.Name, Pool: -1, Cores: n.Cores, Memory: n.Memory, Offered: all, allocatable: n.Memory,
				kind: pool.Type{Name: n.Name, Cores: n.Cores, Memory: n.Memory}, maxPods: 1 << 30, state: nodeUp,
			}, 0)
		}
	}
	for i := range c.pools {
		for range c.pools[i].Nodes {
			c.addNode(c.newNode(i, 0, nodeUp), 0)
		}
	}
	for i := range c.nodes {
		clear(c.nodes[i].images)
	}
}

// newNode is a node of a pool's type.
func (c *ControlPlane) newNode(in, of int, state nodeState) Node {
	p := &c.pools[in]
	t := p.Types[of]
	room := p.Room(t)
	c.bought++
	return Node{
		Name: p.Name + "-" + strconv.Itoa(c.bought), Pool: in, Type: of, Cores: t.Cores, Memory: t.Memory,
		Offered: room.Free, allocatable: room.Free.Memory + p.Daemons.Memory, kind: t, maxPods: room.Pods, state: state,
	}
}

// addNode puts a node into a free slot and returns it.
func (c *ControlPlane) addNode(n Node, now time.Duration) int {
	slot := len(c.nodes)
	for i := range c.nodes {
		if c.nodes[i].state == nodeGone {
			slot = i
			break
		}
	}
	if slot == len(c.nodes) {
		c.nodes = append(c.nodes, Node{
			images:  make([]time.Duration, len(c.app.Services)),
			varyRng: Stream(c.cfg.Seed, StreamNeighbourUse, uint64(slot)),
		})
		c.onNode = append(c.onNode, 0)
		c.memory = append(c.memory, 0)
	}
	n.images, n.varyRng = c.nodes[slot].images, c.nodes[slot].varyRng
	n.vary.Begin(c.cfg.Cluster.Neighbours.Vary, n.varyRng)
	for i := range n.images {
		n.images[i] = Never
	}
	n.paid, n.theirsTo, n.changed = now, now, now
	n.Up = n.state == nodeUp
	c.nodes[slot] = n
	c.occupy(slot, now)
	c.clusterChanged(now)
	c.kubelet.NodeChanged(slot)
	return slot
}

// removeNode gives a node back. It has no pods.
func (c *ControlPlane) removeNode(slot int, now time.Duration) {
	c.billNode(slot, now)
	n := &c.nodes[slot]
	n.state, n.Up, n.Lost = nodeGone, false, false
	c.meter.NodesRemoved++
	c.clusterChanged(now)
	c.kubelet.NodeChanged(slot)
}

// occupy sets what the neighbours and DaemonSets of a node want now. DaemonSets' requests
// are weights only: Offered is without them.
func (c *ControlPlane) occupy(slot int, now time.Duration) {
	n := &c.nodes[slot]
	c.accrueTheirs(n, now)
	was := n.neighbours
	n.neighbours = c.cfg.Cluster.Neighbours.On(n.Offered, now)
	n.neighbours.Want *= n.vary.Factor
	n.Requested.Cores += n.neighbours.Request.Cores - was.Request.Cores
	n.Requested.Memory += n.neighbours.Request.Memory - was.Request.Memory
	n.Others = n.neighbours
	if n.Pool >= 0 {
		p := &c.pools[n.Pool]
		n.Others.Want += p.DaemonUse.Cores
		n.Others.Request.Cores += p.Daemons.Cores
		n.Others.Request.Memory += p.Daemons.Memory
		n.Others.Memory += p.DaemonUse.Memory
	}
}

// nodesNext is the instant of the next action on nodes.
func (c *ControlPlane) nodesNext() time.Duration {
	next := min(c.wakeAt, c.nextCheck, c.nextPass, c.nextShape, c.batchDue())
	if c.losses > 0 || c.coming > 0 || c.draining > 0 {
		for i := range c.nodes {
			if n := &c.nodes[i]; n.state == nodeComing || n.state == nodeLost || n.state == nodeDraining && n.pods == 0 {
				next = min(next, n.due)
			}
		}
	}
	return next
}

// checkInterval is that of the kubelet's eviction loop, and of Karpenter's disruption loop
// while it finds nothing.
const checkInterval = 10 * time.Second

// runNodes performs every action on nodes that is due.
func (c *ControlPlane) runNodes(now time.Duration) {
	c.wakeAt = Never
	if c.coming > 0 {
		c.welcome(now)
	}
	if c.losses > 0 {
		c.runLosses(now)
	}
	if now >= c.nextShape {
		for i := range c.nodes {
			if n := &c.nodes[i]; n.state != nodeGone {
				if now%pool.VariationStep == 0 {
					n.vary.Step(c.cfg.Cluster.Neighbours.Vary)
				}
				c.occupy(i, now)
				c.kubelet.NodeChanged(i)
			}
		}
		c.nextShape = c.nextUse(now)
	}
	if now >= c.nextCheck {
		c.relievePressure(now)
		c.nextCheck = nextMultiple(now, checkInterval)
	}
	if now >= c.nextPass {
		c.disrupt(now)
	}
	if now >= c.batchDue() {
		c.provision(now, false)
	}
	if c.draining > 0 {
		c.drainNodes(now)
	}
}

// SetNeighbourUse changes the share of each node that neighbours use.
func (c *ControlPlane) SetNeighbourUse(use float64, now time.Duration) {
	c.cfg.Cluster.Neighbours.Use = use
	for i := range c.nodes {
		if c.nodes[i].state != nodeGone {
			c.occupy(i, now)
			c.kubelet.NodeChanged(i)
		}
	}
	if c.nextShape > now { // what is due now is still to come
		c.nextShape = c.nextUse(now)
	}
}

// nextUse is when the use of neighbours next changes.
func (c *ControlPlane) nextUse(now time.Duration) time.Duration {
	n, next := &c.cfg.Cluster.Neighbours, Never
	if n.Use > 0 && n.Vary > 0 {
		next = nextMultiple(now, pool.VariationStep)
	}
	if len(n.Shape.Factor) > 0 && n.Shape.Step > 0 {
		next = min(next, nextMultiple(now, n.Shape.Step))
	}
	return next
}

// nextMultiple is the first multiple of a step after now.
func nextMultiple(now, step time.Duration) time.Duration { return (now/step + 1) * step }
