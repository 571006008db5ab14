package slosplit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/profile"
)

// Profiles finds the profile of a service at a percentile; nil if there is none.
type Profiles func(service int, percentile float64) *profile.Profile

// Cut extracts the chains of an application under the given requests per second of each kind.
// The longest path of each kind by unloaded time comes first; then, for each call that is not
// covered yet, the longest path through it, because which of several parallel calls is slowest
// depends on the load. Optional and probabilistic calls count as made: the tail consists of
// requests that made them.
//
// A service without a profile has no curve: some splitters need none. A profile that cannot be
// used is an error.
func Cut(app *loadline.App, perSecond []float64, profiles Profiles) ([]Chain, error) {
	if len(perSecond) != len(app.Kinds) {
		return nil, fmt.Errorf("%d rates for %d kinds of requests", len(perSecond), len(app.Kinds))
	}
	cut := cutter{Unloaded: formulation.Unloaded{App: app}, profiles: profiles, load: make([]float64, len(app.Services))}
	for i, g := range formulation.NewTopology(app).Services {
		for k, n := range g.Visits {
			cut.load[i] += n * perSecond[k]
		}
	}
	var chains []Chain
	var faults []error
	for k := range app.Kinds {
		kind := &app.Kinds[k]
		if kind.SLO.Latency <= 0 {
			continue // no SLO
		}
		covered := map[*loadline.Call]bool{}
		for call := &kind.Root; call != nil; call = cut.uncovered(&kind.Root, -1, covered) {
			var path []visit
			cut.walk(visit{&kind.Root, -1, 1}, call, &path)
			for _, v := range path {
				covered[v.call] = true
			}
			chain, err := cut.chain(kind, path)
			faults = append(faults, err)
			chains = append(chains, chain)
		}
	}
	return chains, errors.Join(faults...)
}

type cutter struct {
	formulation.Unloaded
	profiles Profiles
	load     []float64
}

// visit is a call on a path with its number of repetitions.
type visit struct {
	call   *loadline.Call
	caller int // service; -1 = the users
	times  float64
}

// uncovered finds a call that is on no path yet, callers before callees.
func (c *cutter) uncovered(call *loadline.Call, caller int, covered map[*loadline.Call]bool) *loadline.Call {
	if c.Made(call, caller) == 0 {
		return nil
	}
	if !covered[call] {
		return call
	}
	for _, stage := range call.Stages {
		for i := range stage {
			if found := c.uncovered(&stage[i], call.Service, covered); found != nil {
				return found
			}
		}
	}
	return nil
}

// walk collects the longest path under a call, through via if that is below it.
func (c *cutter) walk(from visit, via *loadline.Call, path *[]visit) {
	*path = append(*path, from)
	call := from.call
	for _, stage := range call.Stages {
		var chosen *loadline.Call
		longest := -1.0
		for i := range stage {
			next := &stage[i]
			if c.Made(next, call.Service) == 0 {
				continue
			}
			if holds(next, via) {
				chosen = next
				break
			}
			if t := float64(next.Times) * c.Time(next); t > longest {
				chosen, longest = next, t
			}
		}
		if chosen != nil {
			c.walk(visit{chosen, call.Service, from.times * float64(chosen.Times)}, via, path)
		}
	}
}

// holds reports whether a call is another one or contains it.
func holds(call, other *loadline.Call) bool {
	if call == other {
		return true
	}
	for _, stage := range call.Stages {
		for i := range stage {
			if holds(&stage[i], other) {
				return true
			}
		}
	}
	return false
}

// chain joins the visits of a path by service.
func (c *cutter) chain(kind *loadline.Kind, path []visit) (Chain, error) {
	chain := Chain{Kind: kind.Name, Percentile: kind.SLO.Percentile, Budget: kind.SLO.Latency.Seconds(), Whole: c.Time(&kind.Root)}
	at := map[int]int{}
	var faults []error
	for _, v := range path {
		i, known := at[v.call.Service]
		if !known {
			i = len(chain.Steps)
			at[v.call.Service] = i
			step, err := c.step(v.call.Service, kind.SLO.Percentile)
			faults = append(faults, err)
			chain.Steps = append(chain.Steps, step)
		}
		s := &chain.Steps[i]
		s.Unloaded = (s.Unloaded*s.Visits + c.Own(v.call)*v.times) / (s.Visits + v.times)
		s.Visits += v.times
		if v.caller < 0 || v.caller == v.call.Service {
			continue
		}
		if edge := [2]int{at[v.caller], i}; !slices.Contains(chain.Calls, edge) {
			chain.Calls = append(chain.Calls, edge)
		}
	}
	return chain, errors.Join(faults...)
}

func (c *cutter) step(service int, percentile float64) (Step, error) {
	s := &c.App.Services[service]
	step := Step{
		Service: service, Name: s.Name, Load: c.load[service], Cost: InstanceCost(s.Size),
		// A service at zero replicas has no SLO.
		Min: max(s.Bounds.MinReplicas, 1), Max: max(s.Bounds.MaxReplicas, 1),
	}
	if c.profiles == nil {
		return step, nil
	}
	curve, err := c.profiles(service, percentile).Curve()
	if errors.Is(err, profile.ErrAbsent) {
		return step, nil
	}
	step.Curve = curve
	return step, err
}
