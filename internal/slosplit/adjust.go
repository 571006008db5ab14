package slosplit

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/loadline/loadline"
)

// DefaultRuns is how many measurements Adjust makes at most.
const DefaultRuns = 20

// Adjust splits until the measured tails meet the SLOs at the least cost it finds. Tail
// latencies do not add: a request is rarely late at two services, so shares that sum to the SLO
// leave room, while services that wait for each other's workers may violate it. So each kind's
// budget is the SLO times a factor, which is raised while the measured tail allows it, and
// lowered where it does not. Then instances are exchanged for cheaper combinations, and single
// ones removed, in order of cost saved per time added, as long as all SLOs are met.
//
// The result was measured to meet all SLOs; if none did, the error is an *Infeasible with the
// lowest measured tail.
func Adjust(app *loadline.App, chains []Chain, split Splitter, measure Measure, runs int, progress func(share float64)) (*Plan, error) {
	if runs < 1 {
		return nil, fmt.Errorf("%d runs are too few to measure anything: at least 1", runs)
	}
	if progress == nil {
		progress = func(float64) {}
	}
	a := adjuster{app: app, chains: chains, split: split, measure: measure, runs: runs, progress: progress, measured: map[string][]Tail{}}
	if err := a.begin(); err != nil {
		return nil, err
	}
	if err := a.search(); err != nil {
		return nil, err
	}
	if a.best == nil {
		return nil, a.broken()
	}
	if err := a.tighten(); err != nil {
		return nil, err
	}
	if err := a.exchange(); err != nil {
		return nil, err
	}
	if err := a.trim(); err != nil {
		return nil, err
	}
	a.best.Runs = len(a.measured)
	return a.best, nil
}

// factor of one kind's budget.
type factor struct {
	kind      string
	slo       float64
	now       float64
	least     float64 // no split exists below it
	good, bad float64 // the highest that met the SLO, the lowest that did not; 0 and +Inf = none yet
	floored   bool    // the SLO was not met at least
	best      float64 // of the best plan
	tail      Tail    // of the last measurement
	cost      float64 // of its chains at least
	service   string
	takes     float64
}

type adjuster struct {
	app      *loadline.App
	chains   []Chain
	split    Splitter
	measure  Measure
	runs     int
	progress func(float64)
	measured map[string][]Tail // by instances
	factors  []factor
	best     *Plan
}

// begin finds the kinds and the lower bounds of their budgets: shares that cannot sum to the
// SLO may still meet it.
func (a *adjuster) begin() error {
	for c := range a.chains {
		chain := &a.chains[c]
		for i := range chain.Steps {
			if _, _, err := chain.Steps[i].Instances(math.Inf(1)); err != nil {
				return fmt.Errorf("chain of %s: %w", chain.Kind, err)
			}
		}
		e := Least(chain)
		if math.IsInf(e.Least, 1) {
			return e
		}
		least := e.Least / chain.Budget * (1 + 1e-6)
		if f := a.factor(chain.Kind); f == nil {
			a.factors = append(a.factors, factor{kind: chain.Kind, slo: chain.Budget, least: least, bad: math.Inf(1), cost: e.Cost,
				service: e.Service, takes: e.Takes})
		} else if least > f.least {
			f.least, f.cost, f.service, f.takes = least, e.Cost, e.Service, e.Takes
		}
	}
	for i := range a.factors {
		a.factors[i].now = max(1, a.factors[i].least)
	}
	return nil
}

func (a *adjuster) factor(kind string) *factor {
	for i := range a.factors {
		if a.factors[i].kind == kind {
			return &a.factors[i]
		}
	}
	return nil
}

// closeEnough is the ratio of bad to good at which the search for a factor ends.
const closeEnough = 1.04

// search finds the factors. Some of the runs are reserved for what follows.
func (a *adjuster) search() error {
	// Some factors lead to instances that were measured before: these cost nothing, but must
	// terminate too.
	for range 4 * a.runs {
		if len(a.measured) >= max(a.runs*6/10, 1) && a.best != nil || len(a.measured) >= a.runs {
			return nil
		}
		plan, err := NewPlan(a.app, a.scaled(), a.split)
		if err != nil {
			return err
		}
		met, err := a.try(plan)
		if err != nil {
			return err
		}
		if met && (a.best == nil || plan.Cost < a.best.Cost) {
			a.best = plan
			for i := range a.factors {
				a.factors[i].best = a.factors[i].now
			}
		}
		done := true
		for i := range a.factors {
			if !a.factors[i].step() {
				done = false
			}
		}
		if done {
			return nil
		}
	}
	return nil
}

// scaled returns the chains with their kinds' budgets.
func (a *adjuster) scaled() []Chain {
	list := slices.Clone(a.chains)
	for i := range list {
		list[i].Budget *= a.factor(list[i].Kind).now
	}
	return list
}

// try measures a plan, unless its instances were measured before.
func (a *adjuster) try(p *Plan) (met bool, err error) {
	key := fmt.Sprint(p.Instances())
	tails, known := a.measured[key]
	if !known {
		if tails, err = a.measure(p.Instances()); err != nil {
			return false, err
		}
		a.measured[key] = tails
		a.progress(float64(len(a.measured)) / float64(a.runs))
	}
	p.Tails = tails
	met = true
	for _, t := range tails {
		met = met && t.Met()
		if f := a.factor(t.Kind); f != nil {
			f.tail = t
		}
	}
	return met, nil
}

// step moves a factor according to the measurement, and reports whether it is precise enough.
func (f *factor) step() bool {
	met := f.tail.Met()
	if f.tail.Kind == "" { // no requests of this kind
		return true
	}
	ratio := 0.0
	if !f.tail.Failing {
		ratio = f.slo / (f.tail.Latency + 2*f.tail.Error)
	}
	if met {
		f.good = max(f.good, f.now)
		if f.bad <= f.good {
			f.bad = math.Inf(1) // another kind was the cause
		}
	} else {
		f.bad = min(f.bad, f.now)
		if f.good >= f.bad {
			f.good = 0
		}
		f.floored = f.now <= f.least*(1+1e-9)
	}
	switch {
	case f.good > 0 && f.bad <= f.good*closeEnough:
		f.now = f.good
		return true
	case f.good > 0 && math.IsInf(f.bad, 1):
		if f.now >= factorMost*f.least {
			return true // nothing is left to save
		}
		f.now = f.good * min(max(ratio, 1.1), 2)
	case f.good > 0:
		f.now = (f.good + f.bad) / 2
	case f.floored:
		f.now = f.least
		return true
	default:
		f.now = max(f.now*min(max(0.97*ratio, 0.4), 0.93), f.least)
	}
	return false
}

// factorMost is beyond what non-additive tails could ever allow: a hundred times the least.
const factorMost = 100

// broken reports the kinds whose SLO was not met.
func (a *adjuster) broken() error {
	var faults []error
	for i := range a.factors {
		f := &a.factors[i]
		switch t := f.tail; {
		case t.Kind == "" || t.Met():
		case f.floored && !t.Failing:
			faults = append(faults, &Infeasible{Kind: f.kind, SLO: f.slo, Least: t.Latency, Cost: f.cost, Measured: true,
				Service: f.service, Takes: f.takes})
		case f.floored:
			faults = append(faults, &Infeasible{Kind: f.kind, SLO: f.slo, Least: math.Inf(1), Cost: f.cost, Measured: true,
				Service: f.service})
		default:
			faults = append(faults, fmt.Errorf("%s: no split that meets %v was found in %d runs, the last took %v; allow more runs",
				f.kind, seconds(f.slo), len(a.measured), seconds(t.Latency)))
		}
	}
	if faults == nil {
		return fmt.Errorf("no split that meets all SLOs at once was found in %d runs; allow more runs", len(a.measured))
	}
	return errors.Join(faults...)
}

// tightenSteps is how often the interval of a factor is halved: to a few per cent of the
// initial one.
const tightenSteps = 8

// tighten lowers the factors of the best plan as far as its instances stay the same: a factor
// that was raised without effect must not promise time that does not exist.
func (a *adjuster) tighten() error {
	want := a.best.Instances()
	tails := a.best.Tails
	for i := range a.factors {
		a.factors[i].now = a.factors[i].best
	}
	for i := range a.factors {
		f := &a.factors[i]
		high, low := f.best, min(max(1, f.least), f.best)
		for step := range tightenSteps {
			f.now = (low + high) / 2
			if step == 0 {
				f.now = low // most often it was raised without any effect
			}
			plan, err := NewPlan(a.app, a.scaled(), a.split)
			if err != nil {
				return err
			}
			if !slices.Equal(plan.Instances(), want) {
				low = f.now
				continue
			}
			high, a.best = f.now, plan
			if high == low {
				break
			}
		}
		f.now = high
	}
	a.best.Tails, a.best.Factors = tails, map[string]float64{}
	for i := range a.factors {
		a.best.Factors[a.factors[i].kind] = a.factors[i].now
	}
	return nil
}

// trim removes single instances. A service where that violated an SLO is skipped: with others
// removed too it would be worse.
func (a *adjuster) trim() error {
	tight := make([]bool, len(a.best.Services))
	for len(a.measured) < a.runs {
		at, best := -1, 0.0
		for i := range a.best.Services {
			s := &a.best.Services[i]
			if tight[i] || s.step == nil || s.Instances <= s.step.Min {
				continue
			}
			with := s.step.LatencyWith(s.Instances - 1)
			if math.IsInf(with, 1) {
				continue
			}
			if gain := s.step.Cost / (s.step.Visits*(with-s.Latency) + 1e-6); gain > best {
				at, best = i, gain
			}
		}
		if at < 0 {
			return nil
		}
		n := a.best.Instances()
		n[at]--
		try := a.best.with(a.app, n)
		met, err := a.try(try)
		if err != nil {
			return err
		}
		if met {
			a.best = try
		} else {
			tight[at] = true
		}
	}
	return nil
}
