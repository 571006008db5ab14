// Package pool describes what a cluster costs and who else uses it: instance types and
// their prices, pools of nodes and how they grow and shrink, other tenants on the same
// nodes, and the bill. It is data and arithmetic; sim.ControlPlane runs it.
//
// Reading order: pool.go (pools and types), reserve.go (what a node keeps for the
// system), presets.go (instance types and pools by name), neighbours.go and shape.go
// (other tenants), price.go (the price table), bill.go (shares of a node's price),
// parse.go, option.go and unit.go (the texts of flags), check.go (what is refused),
// autoscaler.go (which nodes to add and to remove).
package pool

import (
	"time"

	"github.com/loadline/loadline"
)

// Type is an instance type.
type Type struct {
	Name   string
	Cores  float64
	Memory int64   // bytes
	Price  float64 // per hour; 0 = by the price table's cores and GiB

	// Reserved is kept for the operating system, the kubelet and eviction; nil = by the
	// formula that the cloud publishes (ReservedFor).
	Reserved *Amount
	Cloud    Cloud
	MaxPods  int // 0 = 110
}

// Amount is an amount of both resources.
type Amount struct {
	Cores  float64
	Memory int64 // bytes
}

// Pool is a set of nodes of the same kind: of a fixed number, or elastic.
type Pool struct {
	Name  string
	Types []Type // what new nodes may be; the cheapest that fits is taken

	// Nodes is the number at the start. Of an elastic pool it is 0 and as many as the
	// first pods need are there from the start.
	Nodes   int
	Elastic bool
	Max     int // of an elastic pool; 0 = 1000

	Daemons Amount // requested by the DaemonSets of each node
	// DaemonUse is the CPU and memory that they use; zero = what they request.
	DaemonUse  Amount
	DaemonPods int // DaemonSet pods of each node: they count towards Type.MaxPods

	Start loadline.Dist // from the decision to a node that takes pods; zero mean = 45 s, CV 0.2

	// An elastic pool adds nodes for pending pods after a window: no new pending pod for
	// BatchIdle, at most BatchMax after the first.
	BatchIdle, BatchMax time.Duration // 0 = 1 s and 10 s
	// ConsolidateAfter is how long nothing has changed on a node before it may be removed
	// or replaced; 0 = 30 s, negative = never.
	ConsolidateAfter time.Duration
	// Budget is the share of the nodes that may be disrupted at once, at least one; 0 = 0.1.
	Budget float64
	// EvictLast allows the only ready pod of a service to be evicted, as without a
	// PodDisruptionBudget. By default it stays, and its node with it.
	EvictLast bool

	Placement Placement
	// Spread prefers nodes with fewer pods of the same service, as topology spread with
	// ScheduleAnyway over host names does. The node autoscaler plans one pod of a service on
	// each node: see Item.Group.
	Spread bool
}

// Placement is how the scheduler scores nodes.
type Placement int

const (
	// LeastAllocated prefers the node with the largest unclaimed share: Kubernetes' default.
	LeastAllocated Placement = iota
	// MostAllocated prefers the fullest node.
	MostAllocated
)

// Cluster is where an application runs. The zero value has the nodes that the
// application names, without neighbours, at the default prices.
type Cluster struct {
	Pools      []Pool // none = App.Nodes, fixed
	Neighbours Neighbours
	Prices     Prices
	Quota      loadline.Quota `json:",omitzero"` // of the application's namespace
}

// Neighbours are other tenants, the same share of every node, new ones included. Shares
// are of what a node offers to pods.
type Neighbours struct {
	Use     float64 // CPU used, before contention
	Request float64 // CPU requested: their weight on a full node, and room that pods do not have
	Memory  float64 // memory requested and used
	Shape   Shape   // of Use over time

	// Vary is the coefficient of variation of Use, node by node, over tens of seconds to
	// minutes. 0 = DefaultVary; negative = it does not vary.
	Vary float64
	// Burst is the mean CPU time of one piece of their work, on one thread: they use CPU at
	// random times, and Use is the mean. 0 = 20 ms; negative = they use it steadily.
	Burst time.Duration
	// PodsPerCore is how many pods they have: a pod that does not work does not compete.
	// 0 = 4.
	PodsPerCore float64
}

// Shape is the use of neighbours over time, as a factor on Neighbours.Use. The zero value
// is constant.
type Shape struct {
	Name   string // "", "diurnal" or the name of a trace
	Step   time.Duration
	Factor []float64 // by step, repeated; mean 1
}

// Prices of resources where a node has no price of its own, and the ratio by which a
// node's price is split between cores and memory, as OpenCost does.
type Prices struct {
	Currency  string             // "" = USD
	CoreHour  float64            // 0 = 0.031611
	GiBHour   float64            // 0 = 0.004237
	Instances map[string]float64 // by type, per hour; overrides Type.Price
}
