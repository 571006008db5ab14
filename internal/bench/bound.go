package bench

import (
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
)

// Bound is a lower bound of the bill of any policy that meets the SLO in a scene. It is a
// relaxation: replicas, nodes and their time may be fractions, every node does nothing but the
// application's work, and nothing takes time to start.
//
// The work. A request within its SLO has had all its CPU work done in that time, so every
// minute has at least the work of the requests that arrived in it, but for its last moments
// (policy.LeastWork). At most 1 % of the requests may be left out: they are taken off as if all
// of them were the dearest.
//
// Nodes of the application's own (no neighbours; an elastic pool, or fixed nodes, of which those
// with a pod on them are paid for). At any time the nodes have at least
//
//   - the cores for the work: no node does more than its cores, and a core-second costs at least
//     that of the type that is cheapest per core;
//   - the room for the least replicas within the user's bounds, at the least requests within
//     them: of cores, memory and pods, of what the system and the DaemonSets leave; each at the
//     price of the type that is cheapest for it;
//   - one node, if any service always has a replica.
//
// A minute costs at least the largest of the three.
//
// Nodes shared with neighbours. The application pays capacity*ours/(ours+others) of each
// resource, where ours is max(request, usage). That is concave in ours and 0 at 0, and ours of a
// node is at most its capacity or is charged as much as that; so a core-second that is used or
// requested costs at least the price of a core times capacity/(capacity+others), with the most
// that others hold. CPU is bounded service by service by the larger of the work and the least
// requests, memory by the least replicas' base memory and least requests.
//
// Arrivals and demands are random: the bound is on the expectation, and Deviation is an upper
// estimate of the standard deviation.
type Bound struct {
	Bill      float64
	Deviation float64
}

// boundTolerance is the relative amount by which a bill may be below the bound before it is
// marked: start-ups and the ends of windows are not modelled to that precision.
const boundTolerance = 0.01

// Below reports whether a bill is below the bound by more than chance and tolerance explain: a
// fault of the simulator or of the bound. One run in 30,000 has its work four standard
// deviations below the mean.
func (b Bound) Below(bill float64) bool { return bill < (b.Bill-4*b.Deviation)*(1-boundTolerance) }

// BoundOf a scene.
func BoundOf(app *loadline.App, cluster pool.Cluster, perturb simulate.Perturb, warmUp, duration time.Duration, rate policy.Rate) Bound {
	if n := perturb.Neighbours; n != nil {
		cluster.Neighbours = *n
	}
	nodes := boundNodes(app, cluster)
	known := duration
	lossy := false
	for _, d := range perturb.Disturbances {
		if v := d.Version; v != nil && (v.Weights != nil || v.CPUFactor > 0 && v.CPUFactor < 1) {
			known = min(known, d.At)
		}
		lossy = lossy || d.LoseNode != nil
	}
	if nb := cluster.Neighbours; len(nodes) > 0 && nb.Use == 0 && nb.Request == 0 && nb.Memory == 0 {
		return ownBound(app, cluster.Prices, nodes, policy.LeastWorkOf(app, warmUp, known, duration, rate), lossy)
	}
	return sharedBound(app, cluster, nodes, policy.LowerBound(app, true, warmUp, duration, cut(rate, known)), duration, lossy)
}

// cut is a load without anything from an instant on.
func cut(rate policy.Rate, known time.Duration) policy.Rate {
	return func(kind int, t time.Duration) (float64, time.Duration) {
		if t >= known {
			return 0, math.MaxInt64
		}
		perSecond, until := rate(kind, t)
		return perSecond, min(until, known)
	}
}

// boundNode is a type of node and what it leaves to pods.
type boundNode struct {
	kind    pool.Type
	offered pool.Amount
	pods    float64
}

func boundNodes(app *loadline.App, cluster pool.Cluster) []boundNode {
	var all []boundNode
	if len(cluster.Pools) == 0 {
		for _, n := range app.Nodes {
			kind := pool.Type{Name: n.Name, Cores: n.Cores, Memory: n.Memory}
			all = append(all, boundNode{kind, pool.Amount{Cores: n.Cores, Memory: n.Memory}, math.Inf(1)})
		}
		return all
	}
	for _, p := range cluster.Pools {
		for _, t := range p.Types {
			reserved := pool.ReservedFor(t)
			pods := t.MaxPods
			if pods == 0 {
				pods = 110
			}
			all = append(all, boundNode{t, pool.Amount{
				Cores:  t.Cores - reserved.Cores - p.Daemons.Cores,
				Memory: t.Memory - reserved.Memory - p.Daemons.Memory,
			}, float64(max(pods-p.DaemonPods, 1))})
		}
	}
	return all
}

// least replicas within the bounds, with the least requests within them; base is the larger of
// their memory request and base memory.
func least(app *loadline.App) (pods, cores, memory, base float64) {
	for i := range app.Services {
		s := &app.Services[i]
		n := float64(max(s.Bounds.MinReplicas, 0))
		request := min(s.Bounds.MinMemory, s.Size.MemoryRequest)
		pods += n
		cores += n * min(s.Bounds.MinCPU, s.Size.CPURequest)
		memory += n * float64(request)
		base += n * float64(max(request, s.Memory.Base))
	}
	return pods, cores, memory, base
}

// ownBound is that of nodes without neighbours. After a node is lost its pods are missed for some
// minutes, so the least replicas are not counted where one is.
func ownBound(app *loadline.App, prices pool.Prices, nodes []boundNode, work policy.LeastWork, lossy bool) Bound {
	cheapest := func(per func(boundNode) float64) float64 {
		price := math.Inf(1)
		for _, n := range nodes {
			price = min(price, prices.Of(n.kind)/3600/per(n))
		}
		return price
	}
	coreSecond := cheapest(func(n boundNode) float64 { return n.kind.Cores })
	floor := 0.0 // per second
	if pods, cores, memory, _ := least(app); pods > 0 && !lossy {
		floor = max(
			cheapest(func(boundNode) float64 { return 1 }),
			cores*cheapest(func(n boundNode) float64 { return n.offered.Cores }),
			memory*cheapest(func(n boundNode) float64 { return float64(n.offered.Memory) }),
			pods*cheapest(func(n boundNode) float64 { return n.pods }))
	}
	bill, forgiven, deviation := 0.0, 0.0, 0.0
	for i := range work.CoreSeconds[0] {
		done := 0.0
		for s := range work.CoreSeconds {
			done += work.CoreSeconds[s][i]
		}
		bill += max(floor*work.Length(i).Seconds(), coreSecond*done)
	}
	for s := range work.Forgiven {
		forgiven += work.Forgiven[s]
		deviation += work.Deviation[s]
	}
	atLeast := floor * work.Duration.Seconds()
	if bill -= forgiven * coreSecond; bill <= atLeast {
		return Bound{Bill: atLeast}
	}
	return Bound{Bill: bill, Deviation: deviation * coreSecond}
}

// sharedBound is that of nodes with neighbours, and of a cluster without nodes, where resources
// are bought by the amount.
func sharedBound(app *loadline.App, cluster pool.Cluster, nodes []boundNode, cpu policy.Bound, duration time.Duration, lossy bool) Bound {
	prices := cluster.Prices.WithDefaults()
	coreHour, gibHour := prices.CoreHour, prices.GiBHour
	if len(nodes) > 0 {
		coreHour, gibHour = math.Inf(1), math.Inf(1)
	}
	peak := 1.0
	for _, f := range cluster.Neighbours.Shape.Factor {
		peak = max(peak, f)
	}
	const gib = 1 << 30
	for _, n := range nodes {
		price := prices.Of(n.kind)
		byCores := prices.CoreHour * n.kind.Cores
		byCores /= byCores + prices.GiBHour*float64(n.kind.Memory)/gib
		nb := cluster.Neighbours
		others := n.offered.Cores * max(nb.Request, nb.Use*peak)
		coreHour = min(coreHour, price*byCores/(n.kind.Cores+others))
		gibHour = min(gibHour, price*(1-byCores)*gib/(float64(n.kind.Memory)+nb.Memory*float64(n.offered.Memory)))
	}
	b := Bound{Bill: cpu.CoreHours * coreHour, Deviation: cpu.Deviation * coreHour}
	if _, cores, _, base := least(app); !lossy {
		b.Bill += base / gib * gibHour * duration.Hours()
	} else {
		b.Bill = max(0, b.Bill-cores*coreHour*duration.Hours())
	}
	return b
}
