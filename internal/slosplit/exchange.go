package slosplit

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadline/loadline"
)

// exchange replaces instances by cheaper combinations. Candidates come from the profiles,
// scaled by the last measurement: the ratio of a kind's tail to the sum of the profiles of its
// slowest chain. Each candidate is measured; if it violates an SLO, the next ones are scaled by
// that tail, which is more conservative. It ends when the profiles give nothing cheaper.
func (a *adjuster) exchange() error {
	if len(a.best.Tails) == 0 {
		return nil // no load, so nothing was measured
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

// exchange predicts tails from numbers of instances by the profiles.
type exchange struct {
	kinds    []exchangeKind
	chains   []int // their kinds
	services []exchangeService
}

// exchangeKind is a kind of request that was measured.
type exchangeKind struct {
	name string
	slo  float64
	// over is the ratio of its measured tail, the error included, to the sum of the profiles.
	over float64
}

// exchangeService is a service whose instances may be exchanged.
type exchangeService struct {
	service, min, max int
	cost              float64
	on                []exchangeStep
}

// exchangeStep is a step of a service on a chain, and the time of its visits by number of
// instances.
type exchangeStep struct {
	chain int
	times []float64
}

// position is numbers of instances, by service, and their predictions.
type position struct {
	instances []int
	cost      float64
	times     []float64 // sums of the profiles, by chain
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
			continue // no requests of this kind
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

// learn updates the ratios from measured tails. Violated SLOs can only make it more
// conservative; it returns false if they did not.
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

// move changes the number of instances of a service; it returns false, and changes nothing, if
// the number is out of bounds or too small for the load.
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

// room is the sum of the free parts of the kinds' SLOs by the profiles; false if a kind has
// none.
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

// How many instances of a service are added or removed at once; fewer for pairs of services,
// which are tried only if there are not too many.
const (
	exchangeMost  = 6
	exchangePair  = 3
	exchangePairs = 16 // services
)

// gift adds instances to a service, by its index.
type gift struct{ to, instances int }

// cheaper returns cheaper numbers of instances that meet all SLOs by the profiles, or the same
// ones if there are none: it adds some to one or two services, removes as many as possible from
// all others, and continues from the cheapest.
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

// take removes instances in order of cost saved per room used, as long as there is room, but
// not from services that were given some. It returns false if none could be removed.
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

// with is the plan with other numbers of instances and matching shares.
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
			s.Share = s.Latency // other services use the time now
		}
		s.Cost = float64(n[i]) * s.step.Cost
		s.Reason = fmt.Sprintf("for %s, %v with %s: measured to suffice for all SLOs", s.Kind, seconds(s.Latency), instances(n[i]))
	}
	other.total()
	other.addCalls(app)
	return &other
}
