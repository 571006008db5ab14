package policy

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// roomAhead is the room on nodes to keep free for pods to come: what the load until a new node has
// come needs beyond the planned replicas. Pods that find it start without waiting for a node, so
// that their starts become shorter and replicas are planned for a shorter time ahead. It rises at
// once and falls to the most that was wanted within the down-window.
type roomAhead struct {
	sum   loadline.Room // of this decision
	wants []stampedRoom
}

type stampedRoom struct {
	at   time.Time
	room loadline.Room
}

const (
	// roomCores and roomMemory are the grid of the reserve: about one pod.
	roomCores, roomMemory = 0.5, 1 << 29
	// nodeQuantile of the starts is that of pods that waited for a node; it counts as startPrior at
	// least, since pods that find the reserve do not show it.
	nodeQuantile = 0.99
)

// add the room for replicas of a service that are not planned.
func (r *roomAhead) add(replicas int, size loadline.Size) {
	if replicas > 0 {
		r.sum.Cores += float64(replicas) * size.CPURequest
		r.sum.Memory += int64(replicas) * size.MemoryRequest
	}
}

// settle is the reserve to ask for.
func (r *roomAhead) settle(now time.Time, window time.Duration) loadline.Room {
	old := 0
	for old < len(r.wants) && !r.wants[old].at.After(now.Add(-window)) {
		old++
	}
	r.wants = append(append(r.wants[:0], r.wants[old:]...), stampedRoom{now, r.sum})
	r.sum = loadline.Room{}
	var most loadline.Room
	for _, w := range r.wants {
		most.Cores, most.Memory = max(most.Cores, w.room.Cores), max(most.Memory, w.room.Memory)
	}
	most.Cores = math.Ceil(most.Cores/roomCores-1e-9) * roomCores
	most.Memory = (most.Memory + roomMemory - 1) / roomMemory * roomMemory
	return most
}

// ProposeReserve says whether a reserve is held where the planner runs: it proposes one then, unless its
// settings say otherwise.
func (p *Planner) ProposeReserve(held bool) {
	if p.cfg.reserveAuto {
		p.cfg.reserve = held
	}
}

// ProposeReserve is the rule's, where it can propose one.
func (p *setUp) ProposeReserve(held bool) {
	if rule, ok := p.Policy.(interface{ ProposeReserve(held bool) }); ok {
		rule.ProposeReserve(held)
	}
}

// reserveFor adds what a service needs beyond its planned replicas until a new node has come.
func (p *Planner) reserveFor(now time.Time, s loadline.Situation, i int, t *target, front float64, planned int) {
	of, seen, size := &p.services[i], &s.Now().Services[i], s.InFlight[i].Size
	node := max(of.starts.of.quantile(nodeQuantile), startPrior)
	far := target{lead: p.beforeStart() + time.Duration(node*float64(time.Second))}
	if far.lead <= t.lead {
		return
	}
	far.factor, _ = factorAhead(s.Announced, now, far.lead)
	far.requests, far.visits, _ = p.aheadOf(i, front, seen.Rate, far.lead, far.factor)
	p.count(&far, of, &s.App.Services[i], sizeOf(s.InFlight[i], seen.Pods))
	p.room.add(far.replicas-planned, size)
}
