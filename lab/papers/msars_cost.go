package papers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/slosplit"
	"github.com/loadline/loadline/internal/slosplit/learned"
)

// shortest is the length of chains up to which all numbers of instances are tried.
const shortest = 5

// cheapest tries every number of instances of every step, and returns the least cost of those
// that meet the budget by the profiles.
func cheapest(c *slosplit.Chain) float64 {
	best := math.Inf(1)
	var try func(i int, took, cost float64)
	try = func(i int, took, cost float64) {
		if took > c.Budget*(1+1e-9) || cost >= best {
			return
		}
		if i == len(c.Steps) {
			best = cost
			return
		}
		s := &c.Steps[i]
		for n := s.Min; n <= s.Max; n++ {
			try(i+1, took+s.Visits*s.LatencyWith(n), cost+float64(n)*s.Cost)
		}
	}
	try(0, 0, 0)
	return best
}

// byProfiles measures a chain as if tails added: the sum of the profiles.
func byProfiles(c *slosplit.Chain) slosplit.Measure {
	return func(instances []int) ([]slosplit.Tail, error) {
		t := slosplit.Tail{Kind: c.Kind, SLO: c.Budget}
		for i := range c.Steps {
			s := &c.Steps[i]
			t.Latency += s.Visits * s.LatencyWith(instances[s.Service])
		}
		t.Failing = math.IsInf(t.Latency, 1)
		return []slosplit.Tail{t}, nil
	}
}

// onChain is the cost of a plan's instances on a chain.
func onChain(p *slosplit.Plan, c *slosplit.Chain) float64 {
	cost := 0.0
	for _, s := range c.Steps {
		cost += float64(p.Services[s.Service].Instances) * s.Cost
	}
	return cost
}

// shortSubjects are chains of up to five services that are held out, by their shape or by their
// release.
func (s *msarsStage) shortSubjects() []learned.Subject {
	list := []learned.Subject{
		{Releases: s.shop, Chain: 0, Release: testRelease, Profiled: testRelease},
		{Releases: s.shop, Chain: 1, Release: testRelease, Profiled: testRelease},
		{Releases: s.shop, Chain: 0, Release: testRelease + 2, Profiled: testRelease + 2},
		{Releases: s.shop, Chain: 1, Release: testRelease + 2, Profiled: testRelease + 2},
		{Releases: s.book, Chain: 0, Release: 0, Profiled: 0},
		{Releases: s.book, Chain: 0, Release: testRelease, Profiled: testRelease},
		{Releases: s.boutique, Chain: 3, Release: testRelease, Profiled: testRelease},
	}
	if s.few {
		return list[:1]
	}
	return list
}

// costs of a method's splits relative to the cheapest numbers of instances, by the profiles:
// unadjusted, and after Adjust.
func (s *msarsStage) costs(ctx context.Context, split slosplit.Splitter, each int, seed uint64) (plain, adjusted []float64, err error) {
	for _, of := range s.shortSubjects() {
		rng := rand.New(rand.NewPCG(seed, uint64(of.Chain)<<16|uint64(of.Release)))
		for range each {
			drawn, err := of.Draw(ctx, rng, of.Sizes(rng), math.Inf(1))
			if err != nil {
				return nil, nil, err
			}
			c := &drawn.Chain
			if len(c.Steps) > shortest {
				return nil, nil, fmt.Errorf("%s has %d services, more than %d", of.Name(), len(c.Steps), shortest)
			}
			best := cheapest(c)
			shares, err := split.Split(c)
			if err != nil {
				return nil, nil, err
			}
			cost, err := learned.Cost(c, shares)
			if err != nil {
				return nil, nil, err
			}
			plain = append(plain, cost/best)
			plan, err := slosplit.Adjust(drawn.App(), []slosplit.Chain{*c}, split, byProfiles(c), slosplit.DefaultRuns, nil)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", of.Name(), err)
			}
			adjusted = append(adjusted, onChain(plan, c)/best)
		}
	}
	return plain, adjusted, nil
}

// measuredCost is one split that is adjusted until the tail measured in the event engine meets
// the SLO.
type measuredCost struct {
	name string
	slo  float64
	tail slosplit.Tail // on held-out seeds
	cost float64
	// ratio is its cost relative to the cheapest numbers of instances that were measured to
	// meet the SLO, and parslo relative to parslo's, adjusted in the same way.
	ratio, parslo float64
	tried         int // cheaper numbers of instances that were measured
}

const (
	// measuredSeeds are enough to estimate the error of a tail: with three, too few instances
	// are accepted now and then because the seeds happen to agree.
	measuredSeeds = 5
	heldOutSeed   = 100
)

// effort bounds a measurement.
type effort struct {
	rate  float64 // requests per second at most
	runs  int     // of Adjust
	tried int     // cheaper ones that are measured, most likely first
}

// measuredDraws is the maximum number of loads and SLOs drawn until one can be met: what is
// feasible by the profiles may not be when kinds of requests interfere.
const measuredDraws = 10

// measured splits a chain by the tails of the event engine, and measures cheaper numbers of
// instances that can serve the load.
func measured(ctx context.Context, of learned.Subject, split slosplit.Splitter, seed uint64, effort effort) (*measuredCost, error) {
	rng := rand.New(rand.NewPCG(seed, uint64(of.Release)))
	for draw := 1; ; draw++ {
		m, err := measuredOnce(ctx, of, split, rng, effort)
		var none *slosplit.Infeasible
		if !errors.As(err, &none) || draw == measuredDraws {
			return m, err
		}
	}
}

func measuredOnce(ctx context.Context, of learned.Subject, split slosplit.Splitter, rng *rand.Rand, effort effort) (*measuredCost, error) {
	drawn, err := of.Draw(ctx, rng, of.Sizes(rng), effort.rate)
	if err != nil {
		return nil, err
	}
	c, app := &drawn.Chain, drawn.App()
	app.Kinds = slices.Clone(app.Kinds)
	rates := drawn.PerSecond()
	for k := range app.Kinds {
		app.Kinds[k].SLO.Latency = 0
		if app.Kinds[k].Name == c.Kind {
			app.Kinds[k].SLO.Latency = time.Duration(c.Budget * float64(time.Second))
		} else {
			rates[k] = max(rates[k], rates[app.KindIndex(c.Kind)]/20) // rare kinds take long to measure
		}
	}
	in := func(seeds int, first uint64) slosplit.Measure {
		measure := slosplit.InEventEngine(ctx, app, slosplit.Measurement{PerSecond: rates, Seeds: seeds, FirstSeed: first, Requests: 1000})
		return func(instances []int) ([]slosplit.Tail, error) { return measure(roomy(app, c, instances)) }
	}
	plan, err := slosplit.Adjust(app, []slosplit.Chain{*c}, split, in(measuredSeeds, 0), effort.runs, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of.Name(), err)
	}
	tails, err := in(measuredSeeds, heldOutSeed)(plan.Instances())
	if err != nil {
		return nil, err
	}
	m := &measuredCost{name: of.Name(), slo: c.Budget, tail: tails[0], cost: onChain(plan, c)}
	rival, err := slosplit.Adjust(app, []slosplit.Chain{*c}, slosplit.Parslo{}, in(measuredSeeds, 0), effort.runs, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of.Name(), err)
	}
	m.parslo = onChain(rival, c)
	best := min(m.cost, m.parslo)
	again := in(measuredSeeds, 0) // the seeds that Adjust used: others would not be comparable
	for _, instances := range cheaper(c, len(app.Services), m.cost) {
		if m.tried >= effort.tried {
			break
		}
		m.tried++
		tails, err := again(instances.each)
		if err != nil {
			return nil, err
		}
		if tails[0].Met() {
			best = min(best, instances.cost)
		}
	}
	m.ratio, m.parslo = m.cost/best, m.parslo/best
	return m, nil
}

// roomy gives services off the chain their maximum of instances.
func roomy(app *loadline.App, c *slosplit.Chain, instances []int) []int {
	list := make([]int, len(app.Services))
	for i := range list {
		list[i] = max(app.Services[i].Bounds.MaxReplicas, 1)
	}
	for _, s := range c.Steps {
		list[s.Service] = instances[s.Service]
	}
	return list
}

type numbersOf struct {
	each []int // by service
	cost float64
}

// cheaper numbers of instances that can serve the load, in order of their chance by the
// profiles.
func cheaper(c *slosplit.Chain, services int, than float64) []numbersOf {
	type ranked struct {
		numbersOf
		took float64
	}
	var list []ranked
	var try func(i int, each []int, took, cost float64)
	try = func(i int, each []int, took, cost float64) {
		if cost >= than*(1-1e-9) {
			return
		}
		if i == len(c.Steps) {
			list = append(list, ranked{numbersOf{slices.Clone(each), cost}, took})
			return
		}
		s := &c.Steps[i]
		for n := s.Min; n <= s.Max; n++ {
			if l := s.LatencyWith(n); !math.IsInf(l, 1) {
				each[s.Service] = n
				try(i+1, each, took+s.Visits*l, cost+float64(n)*s.Cost)
			}
		}
	}
	try(0, make([]int, services), 0, 0)
	slices.SortStableFunc(list, func(a, b ranked) int {
		switch {
		case a.took < b.took:
			return -1
		case a.took > b.took:
			return 1
		}
		return 0
	})
	var out []numbersOf
	for _, r := range list {
		out = append(out, r.numbersOf)
	}
	return out
}
