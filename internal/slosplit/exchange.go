package slosplit

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadline/loadline"
)

// exchange gives some instances for others that are cheaper in all. Which ones is
// worked out by the profiles, held to what was measured last: a kind's tail is so many
// times what the profiles of its slowest chain sum to. What comes of it is measured;
// if it breaks an SLO, that tail is what the next is held to, which is more careful.
// It ends when the profiles know nothing cheaper.
func (a *adjuster) exchange() error {
	if len(a.best.Tails) == 0 {
		return nil // nothing is asked for, so nothing was measured
	}
	e := newExchange(a.chains, a.best)
	for len(a.measured) < a.runs {
		n := e.cheaper(a.best.Instances())
		if slices.Equal(n, a.best.Instances()) {
			return nil
		}
		try := a.best.with(a.app, n)
		_, known := a.measured[fmt.Sprint(n)]
		met, err := a.try(try)
		if err != nil {
			return err
		}
		switch careful := e.learn(n, try.Tails, met); {
		case met:
			a.best = try
		case known || !careful:
			return nil
		}
	}
	return nil
}

// exchange is what the profiles say of numbers of instances.
type exchange struct {
	kinds    []exchangeKind
	chains   []int // their kinds
	services []exchangeService
}

// exchangeKind is a kind of request that was measured.
type exchangeKind struct {
	name string
	slo  float64
	// over is by how much its measured tail, the error included, exceeds the sum of
	// the profiles.
	over float64
}

// exchangeService is a service whose instances may be exchanged.
type exchangeService struct {
	service, min, max int
	cost              float64
	on                []exchangeStep
}

// exchangeStep is a step of a service on a chain, and the time that its visits take, by
// instances.
type exchangeStep struct {
	chain int
	times []float64
}

// position is numbers of instances, by service, and what they come to.
type position struct {
	instances []int
	cost      float64
	times     []float64 // that the profiles sum to, by chain
}

func (p *position) clone() position {
	return position{slices.Clone(p.instances), p.cost, slices.Clone(p.times)}
}

func newExchange(chains []Chain, best *Plan) *exchange {
	e := &exchange{}
	for _, t := range best.Tails {
		e.kinds = append(e.kinds, exchangeKind{name: t.Kind, slo: t.SLO})
	}
	at := map[int]int{} // of services
	for c := range chains {
		k := slices.IndexFunc(e.kinds, func(k exchangeKind) bool { return k.name == chains[c].Kind })
		if k < 0 {
			continue // no such requests
		}
		for i := range chains[c].Steps {
			s := &chains[c].Steps[i]
			j, known := at[s.Service]
			if !known {
				j = len(e.services)
				at[s.Service] = j
				e.services = append(e.services, exchangeService{service: s.Service, min: s.Min, max: s.Max, cost: s.Cost})
			}
			on := exchangeStep{len(e.chains), make([]float64, s.Max+1)}
			for n := range on.times {
				if on.times[n] = math.Inf(1); n >= max(s.Min, 1) {
					on.times[n] = s.Visits * s.LatencyWith(n)
				}
			}
			e.services[j].on = append(e.services[j].on, on)
		}
		e.chains = append(e.chains, k)
	}
	e.learn(best.Instances(), best.Tails, true)
	return e
}

// learn from tails that were measured. Those that are not met can only make it more
// careful; false says that they did not.
func (e *exchange) learn(n []int, tails []Tail, met bool) bool {
	p := e.position(n)
	careful := false
	for i := range e.kinds {
		k, sum := &e.kinds[i], e.slowest(&p, i)
		at := slices.IndexFunc(tails, func(t Tail) bool { return t.Kind == k.name })
		if at < 0 || !(sum > 0) || math.IsInf(sum, 1) {
			continue
		}
		over := (tails[at].Latency + 2*tails[at].Error) / sum
		if tails[at].Failing {
			over = 1.1 * max(k.over, k.slo/sum)
		}
		if met || over > k.over {
			careful = careful || over > k.over*(1+1e-9)
			k.over = over
		}
	}
	return careful
}

// position of numbers of instances.
func (e *exchange) position(n []int) position {
	p := position{slices.Clone(n), 0, make([]float64, len(e.chains))}
	for i := range e.services {
		s := &e.services[i]
		p.cost += float64(n[s.service]) * s.cost
		for _, on := range s.on {
			p.times[on.chain] += on.times[min(n[s.service], s.max)]
		}
	}
	return p
}

// slowest is the longest time of a kind's chains.
func (e *exchange) slowest(p *position, kind int) float64 {
	most := 0.0
	for c, k := range e.chains {
		if k == kind {
			most = max(most, p.times[c])
		}
	}
	return most
}

// move a service to another number of instances; false, and nothing moved, if they are
// not allowed or too few for its load.
func (e *exchange) move(p *position, s *exchangeService, to int) bool {
	if to < s.min || to > s.max {
		return false
	}
	for _, on := range s.on {
		if math.IsInf(on.times[to], 1) {
			return false
		}
	}
	for _, on := range s.on {
		p.times[on.chain] += on.times[to] - on.times[p.instances[s.service]]
	}
	p.cost += float64(to-p.instances[s.service]) * s.cost
	p.instances[s.service] = to
	return true
}

// room is the part of their SLOs that kinds have left by the profiles, summed; false
// if one has none.
func (e *exchange) room(p *position) (left float64, met bool) {
	for i := range e.kinds {
		part := 1 - e.kinds[i].over*e.slowest(p, i)/e.kinds[i].slo
		if !(part >= -1e-9) {
			return 0, false
		}
		left += part
	}
	return left, true
}

// How many instances of a service are given or taken at once; of two services at once
// fewer, and only where there are not too many pairs.
const (
	exchangeMost  = 6
	exchangePair  = 3
	exchangePairs = 16 // services
)

// gift of instances to a service, by its place among them.
type gift struct{ to, instances int }

// cheaper numbers of instances that keep all SLOs by the profiles, or the same if it
// knows none: some are added to one service or two, then taken from all others as long
// as that goes, and the cheapest is gone on from.
func (e *exchange) cheaper(n []int) []int {
	best := e.position(n)
	for again := true; again; {
		again = false
		from := best
		try := func(gifts ...gift) {
			p := from.clone()
			for _, g := range gifts {
				s := &e.services[g.to]
				if !e.move(&p, s, p.instances[s.service]+g.instances) {
					return
				}
			}
			if e.take(&p, gifts) && p.cost < best.cost*(1-1e-9) {
				best, again = p, true
			}
		}
		try()
		for i := range e.services {
			for add := 1; add <= exchangeMost; add++ {
				try(gift{i, add})
			}
		}
		if again || len(e.services) > exchangePairs {
			continue
		}
		for i := range e.services {
			for j := range i {
				for add := range exchangePair * exchangePair {
					try(gift{i, 1 + add/exchangePair}, gift{j, 1 + add%exchangePair})
				}
			}
		}
	}
	return best.instances
}

// take instances away where they save most for the room they use, as long as there is
// room; from those that were given some, none. False says that there was none at all.
func (e *exchange) take(p *position, gifts []gift) bool {
	left, met := e.room(p)
	for met {
		at, to, best := -1, 0, 0.0
		for i := range e.services {
			if slices.ContainsFunc(gifts, func(g gift) bool { return g.to == i }) {
				continue
			}
			s := &e.services[i]
			had := p.instances[s.service]
			for less := 1; less <= exchangeMost && e.move(p, s, had-less); less++ {
				after, met := e.room(p)
				if !met {
					break
				}
				if gain := float64(less) * s.cost / (left - after + 1e-9); gain > best {
					at, to, best = i, had-less, gain
				}
			}
			e.move(p, s, had)
		}
		if at < 0 {
			return true
		}
		e.move(p, &e.services[at], to)
		left, _ = e.room(p)
	}
	return false
}

// with is the plan with other numbers of instances, and shares to match.
func (p *Plan) with(app *loadline.App, n []int) *Plan {
	other := *p
	other.Services = slices.Clone(p.Services)
	for i := range other.Services {
		s := &other.Services[i]
		if s.step == nil || s.Instances == n[i] {
			continue
		}
		more := n[i] > s.Instances
		s.Instances = n[i]
		s.Latency = s.step.LatencyWith(n[i])
		if s.Share = max(s.Share, s.Latency); more {
			s.Share = s.Latency // others have the time now
		}
		s.Cost = float64(n[i]) * s.step.Cost
		s.Reason = fmt.Sprintf("for %s, %v with %s: measured to suffice for all SLOs", s.Kind, seconds(s.Latency), instances(n[i]))
	}
	other.total()
	other.addCalls(app)
	return &other
}
