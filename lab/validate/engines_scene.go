package validate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/pool"
	simulation "github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

// Scene is an application under a load with several policies, each of which is run in both
// engines. The fluid engine has to put the policies in the order in which the event engine
// does.
type Scene struct {
	Name     string
	Drawn    bool // at random, not because the fluid engine once failed in it
	App      *loadline.App
	Load     string // a workload's specification
	Cluster  pool.Cluster
	Policies []string
	Duration time.Duration
	WarmUp   time.Duration
}

// PolicyResult is one policy of a scene in both engines, over the seeds.
type PolicyResult struct {
	Policy       string
	Event, Fluid SceneFigures
	// Over the seeds of the event engine.
	OverInterval, CostInterval bench.Interval
}

// billed reports whether the bill depends on the policy: fixed nodes without neighbours cost the
// same whatever runs on them.
func (s Scene) billed() bool {
	elastic := slices.ContainsFunc(s.Cluster.Pools, func(p pool.Pool) bool { return p.Elastic })
	return elastic || s.Cluster.Neighbours.Use > 0
}

// SceneFigures are the means over the seeds.
type SceneFigures struct {
	OverSLO float64 // share of requests
	Cost    float64 // the bill, or core-hours where it does not depend on the policy
	P99Ms   float64
}

// SceneResult is one scene.
type SceneResult struct {
	Scene    string
	Drawn    bool
	Policies []PolicyResult
}

// Run runs a scene in both engines with seeds from 1.
func (s Scene) Run(ctx context.Context, seeds int) (SceneResult, error) {
	out := SceneResult{Scene: s.Name, Drawn: s.Drawn}
	for _, policy := range s.Policies {
		event, overs, costs, err := s.figures(ctx, policy, "event", seeds)
		if err != nil {
			return out, err
		}
		fluid, _, _, err := s.figures(ctx, policy, "fluid", seeds)
		if err != nil {
			return out, err
		}
		out.Policies = append(out.Policies, PolicyResult{
			Policy: policy, Event: event, Fluid: fluid,
			OverInterval: bench.IntervalOf(overs), CostInterval: bench.IntervalOf(costs),
		})
	}
	return out, nil
}

func (s Scene) figures(ctx context.Context, policy, engine string, seeds int) (mean SceneFigures, overs, costs []float64, err error) {
	n := float64(seeds)
	for seed := uint64(1); seed <= uint64(seeds); seed++ {
		w, err := workload.Parse(s.Load, s.Duration, time.Second, seed)
		if err != nil {
			return mean, nil, nil, fmt.Errorf("scene %s: %w", s.Name, err)
		}
		load, err := w.For(s.App)
		if err != nil {
			return mean, nil, nil, fmt.Errorf("scene %s: %w", s.Name, err)
		}
		run, err := simulation.Run(ctx, simulation.Spec{
			App: s.App, Load: load, Workload: s.Load, Policy: policy, Engine: engine, Cluster: s.Cluster,
			Duration: s.Duration, WarmUp: s.WarmUp, Seed: seed,
		})
		if err != nil {
			return mean, nil, nil, fmt.Errorf("scene %s: %s in the %s engine: %w", s.Name, policy, engine, err)
		}
		r := run.Result
		cost := float64(r.CoreHours)
		if s.billed() {
			cost = float64(r.Bill)
		}
		mean.OverSLO += float64(r.OverSLORatio) / n
		mean.Cost += cost / n
		mean.P99Ms += float64(r.Latency.P99) / n
		overs, costs = append(overs, float64(r.OverSLORatio)), append(costs, cost)
	}
	return mean, overs, costs, nil
}

// The agreement that is asked for of one policy in one scene.
const (
	overWithin = 0.02 // share of requests
	costWithin = 0.05 // of the event engine's cost
)

// Differences between policies that are too small to choose by, whatever the intervals.
const (
	overMatters = 0.002
	costMatters = 0.01
)

// OverOff is how far the fluid engine's share over the SLO is off.
func (p PolicyResult) OverOff() float64 { return p.Fluid.OverSLO - p.Event.OverSLO }

// CostOff is the relative error of the cost.
func (p PolicyResult) CostOff() float64 { return off(p.Fluid.Cost, p.Event.Cost) }

// P99Off is the relative error of the p99.
func (p PolicyResult) P99Off() float64 { return off(p.Fluid.P99Ms, p.Event.P99Ms) }

// Within reports whether both figures agree.
func (p PolicyResult) Within() bool {
	return math.Abs(p.OverOff()) <= overWithin && math.Abs(p.CostOff()) <= costWithin
}

// ScenesSummary counts agreement over scenes.
type ScenesSummary struct {
	Runs                     int // policies in scenes
	OverWithin, CostWithin   int
	BothWithin               int
	Meet, MeetWithin         int     // runs that meet the SLO in the event engine; of them, both within
	SameVerdict              int     // runs that meet the SLO in both engines or in neither
	OverMedian, CostMedian   float64 // of the absolute errors
	P99Median                float64
	PairsOver, PairsOverKept int // pairs that the event engine separates by the share over the SLO; of them, in the same order
	PairsCost, PairsCostKept int // the same by the cost
}

// Kept is the share of the separated pairs that keep their order.
func (s ScenesSummary) Kept() float64 {
	return float64(s.PairsOverKept+s.PairsCostKept) / float64(s.PairsOver+s.PairsCost)
}

// SummariseScenes counts over the scenes that pass keep (nil = all).
func SummariseScenes(all []SceneResult, keep func(SceneResult) bool) ScenesSummary {
	var s ScenesSummary
	var over, cost, p99 []float64
	for _, r := range all {
		if keep != nil && !keep(r) {
			continue
		}
		for i, p := range r.Policies {
			s.Runs++
			over, cost = append(over, math.Abs(p.OverOff())), append(cost, math.Abs(p.CostOff()))
			p99 = append(p99, math.Abs(p.P99Off()))
			if over[len(over)-1] <= overWithin {
				s.OverWithin++
			}
			if cost[len(cost)-1] <= costWithin {
				s.CostWithin++
			}
			if p.Within() {
				s.BothWithin++
			}
			s.countVerdict(p)
			for _, q := range r.Policies[:i] {
				s.countPair(p, q)
			}
		}
	}
	s.OverMedian, s.CostMedian, s.P99Median = median(over), median(cost), median(p99)
	return s
}

// countVerdict counts whether the engines agree on what is decided: that the SLO is met.
func (s *ScenesSummary) countVerdict(p PolicyResult) {
	met := p.Event.OverSLO <= result.CountsIf
	if met {
		s.Meet++
		if p.Within() {
			s.MeetWithin++
		}
	}
	if met == (p.Fluid.OverSLO <= result.CountsIf) {
		s.SameVerdict++
	}
}

// countPair counts a pair by both figures, where the event engine's intervals are apart.
func (s *ScenesSummary) countPair(p, q PolicyResult) {
	if apart(p.OverInterval, q.OverInterval) && math.Abs(p.Event.OverSLO-q.Event.OverSLO) >= overMatters {
		s.PairsOver++
		if (p.Event.OverSLO < q.Event.OverSLO) == (p.Fluid.OverSLO < q.Fluid.OverSLO) {
			s.PairsOverKept++
		}
	}
	if apart(p.CostInterval, q.CostInterval) && math.Abs(off(p.Event.Cost, q.Event.Cost)) >= costMatters {
		s.PairsCost++
		if (p.Event.Cost < q.Event.Cost) == (p.Fluid.Cost < q.Fluid.Cost) {
			s.PairsCostKept++
		}
	}
}

// apart reports whether two intervals do not overlap; with one seed there is none.
func apart(a, b bench.Interval) bool { return a.High < b.Low || b.High < a.Low }
