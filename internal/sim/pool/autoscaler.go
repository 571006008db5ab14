package pool

import (
	"math"
	"slices"
	"time"
)

// The node autoscaler follows Karpenter. Deviations: nodes differ by type only (no zones,
// no spot capacity), and pods have no constraints beyond their requests and Item.Group.

// Item is a pod to be placed: its requests.
type Item struct {
	ID   int // of the caller's
	Need Amount
	// Group keeps pods apart: two of the same group are not planned onto one node, since
	// Karpenter takes a preference for spreading over nodes as a condition that a new node
	// always meets. 0 = none.
	Group int
}

// Room is what a node has left: resources and pods.
type Room struct {
	Free   Amount
	Pods   int
	Groups []int // of the pods that it has
}

// Offer is a node that can be bought: an instance type of a pool, and what pods would
// have of it.
type Offer struct {
	Pool, Type int
	Room       Room // of the node while it is empty
	Price      float64
}

// fits allows for the rounding of sums of requests such as 0.1.
func (r Room) fits(need Amount, pods int) bool {
	return need.Cores <= r.Free.Cores+1e-9 && need.Memory <= r.Free.Memory && pods <= r.Pods
}

func (r *Room) take(need Amount) {
	r.Free.Cores -= need.Cores
	r.Free.Memory -= need.Memory
	r.Pods--
}

// claim is a node to be bought. Its type is open until all pods are packed.
type claim struct {
	pool, pods int
	need       Amount
}

// placing is a pod of a group on a room, or on a claim, which come after the rooms.
type placing struct{ node, group int }

// Packer simulates where pods would go. It keeps its buffers, so that it does not allocate
// once they have grown.
type Packer struct {
	rooms  []Room
	claims []claim
	placed []placing
	buy    []int
}

// Provision decides which nodes to buy for pending pods: items are packed first-fit
// decreasing onto the rooms of nodes that are coming, then onto new nodes. A new node stays
// open to every type of its pool that still holds its pods; in the end the cheapest of those
// is bought. Pools are tried in order; may is how many nodes each may still buy. The result
// is indices into offers, valid until the next call; pods that fit nowhere are left out.
func (p *Packer) Provision(items []Item, coming []Room, offers []Offer, may []int) []int {
	p.rooms = append(p.rooms[:0], coming...)
	p.pack(items, offers, may)
	p.buy = p.buy[:0]
	for _, c := range p.claims {
		p.buy = append(p.buy, cheapest(offers, c.pool, c.need, c.pods))
	}
	return p.buy
}

// Verdict is what can be done with nodes that are under-used.
type Verdict int

const (
	// Keep: their pods need them.
	Keep Verdict = iota
	// Delete: their pods fit on other nodes.
	Delete
	// Replace: their pods fit on other nodes and one new, cheaper node.
	Replace
)

// Consolidate decides whether nodes that cost price together can be removed: items are their
// pods, rooms those of the other nodes. Replace comes with the index of the offer to buy.
func (p *Packer) Consolidate(items []Item, rooms []Room, offers []Offer, may []int, price float64) (Verdict, int) {
	p.rooms = append(p.rooms[:0], rooms...)
	if left := p.pack(items, offers, may); left > 0 || len(p.claims) > 1 {
		return Keep, 0
	}
	if len(p.claims) == 0 {
		return Delete, 0
	}
	c := p.claims[0]
	if best := cheapest(offers, c.pool, c.need, c.pods); offers[best].Price < price-1e-9 {
		return Replace, best
	}
	return Keep, 0
}

// pack puts items on p.rooms and on new p.claims, and counts those that fit nowhere. Items
// are sorted in place: the largest first, by cores and then by memory.
func (p *Packer) pack(items []Item, offers []Offer, may []int) (left int) {
	slices.SortFunc(items, func(a, b Item) int {
		switch {
		case a.Need.Cores != b.Need.Cores:
			return compare(b.Need.Cores, a.Need.Cores)
		case a.Need.Memory != b.Need.Memory:
			return compare(b.Need.Memory, a.Need.Memory)
		}
		return a.ID - b.ID
	})
	p.claims, p.placed = p.claims[:0], p.placed[:0]
	for _, it := range items {
		if !p.ontoRoom(it) && !p.ontoClaim(it, offers) && !p.newClaim(it, offers, may) {
			left++
		}
	}
	return left
}

func compare[T int64 | float64](a, b T) int {
	if a < b {
		return -1
	}
	return 1
}

func (p *Packer) ontoRoom(it Item) bool {
	for i := range p.rooms {
		if r := &p.rooms[i]; r.fits(it.Need, 1) && !slices.Contains(r.Groups, it.Group) && p.place(it, i) {
			r.take(it.Need)
			return true
		}
	}
	return false
}

// place notes the group of a pod on a node, unless the node has one of it.
func (p *Packer) place(it Item, node int) bool {
	if it.Group == 0 {
		return true
	}
	at := placing{node, it.Group}
	if slices.Contains(p.placed, at) {
		return false
	}
	p.placed = append(p.placed, at)
	return true
}

// ontoClaim tries the claim with the fewest pods first, as Karpenter does.
func (p *Packer) ontoClaim(it Item, offers []Offer) bool {
	best := -1
	for i, c := range p.claims {
		if (best < 0 || c.pods < p.claims[best].pods) && cheapest(offers, c.pool, c.need.plus(it.Need), c.pods+1) >= 0 &&
			!slices.Contains(p.placed, placing{len(p.rooms) + i, it.Group}) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	p.place(it, len(p.rooms)+best)
	c := &p.claims[best]
	c.need, c.pods = c.need.plus(it.Need), c.pods+1
	return true
}

func (p *Packer) newClaim(it Item, offers []Offer, may []int) bool {
	for pool, most := range may {
		if cheapest(offers, pool, it.Need, 1) < 0 {
			continue
		}
		bought := 0
		for _, c := range p.claims {
			if c.pool == pool {
				bought++
			}
		}
		if bought < most {
			p.place(it, len(p.rooms)+len(p.claims))
			p.claims = append(p.claims, claim{pool: pool, pods: 1, need: it.Need})
			return true
		}
	}
	return false
}

func (a Amount) plus(b Amount) Amount { return Amount{a.Cores + b.Cores, a.Memory + b.Memory} }

// cheapest is the index of the pool's cheapest offer with room for the pods; -1 = none. Of
// equal prices the first is taken.
func cheapest(offers []Offer, pool int, need Amount, pods int) int {
	best, price := -1, math.Inf(1)
	for i := range offers {
		if o := &offers[i]; o.Pool == pool && o.Price < price && o.Room.fits(need, pods) {
			best, price = i, o.Price
		}
	}
	return best
}

// MayDisrupt is how many more of a pool's nodes may be disrupted while some are already: the
// budget is a share of the nodes, rounded up, at least one.
func MayDisrupt(budget float64, nodes, disrupted int) int {
	return max(1, int(math.Ceil(budget*float64(nodes)-1e-9))) - disrupted
}

// MayEvict is how many ready pods of a service its PodDisruptionBudget allows to be evicted
// now: unavailable ones may be one, or a tenth of the desired ones rounded up, but at least
// one ready pod stays unless the last may go too.
func MayEvict(desired, ready int, last bool) int {
	stay := desired - max(1, (desired+9)/10)
	if !last {
		stay = max(stay, 1)
	}
	return max(0, ready-stay)
}

// WithDefaults returns the pool with zero fields filled in.
func (p Pool) WithDefaults() Pool {
	if p.Max == 0 {
		p.Max = 1000
	}
	if p.DaemonUse == (Amount{}) {
		p.DaemonUse = p.Daemons
	}
	if p.Start.Mean == 0 {
		p.Start.Mean, p.Start.CV = 45*time.Second, 0.2
	}
	if p.BatchIdle == 0 {
		p.BatchIdle = time.Second
	}
	if p.BatchMax == 0 {
		p.BatchMax = 10 * time.Second
	}
	if p.ConsolidateAfter == 0 {
		p.ConsolidateAfter = 30 * time.Second
	}
	if p.Budget == 0 {
		p.Budget = 0.1
	}
	return p
}

// Room is what an empty node of a type offers to pods: without what the system and the
// pool's DaemonSets reserve.
func (p Pool) Room(t Type) Room {
	kept := ReservedFor(t)
	pods := t.MaxPods
	if pods == 0 {
		pods = defaultMaxPods
	}
	return Room{
		Free: Amount{max(0, t.Cores-kept.Cores-p.Daemons.Cores), max(0, t.Memory-kept.Memory-p.Daemons.Memory)},
		Pods: max(0, pods-p.DaemonPods),
	}
}
