package policy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// Autothrottle sizes the CPU of every service by how often the kernel throttles it. A captain
// beside each service keeps the share of throttled periods near a target, every second
// (autothrottle_captain.go); one tower chooses the targets of two groups of services, every
// minute, by their cost and whether the SLO was met (autothrottle_tower.go). After Wang et al.,
// "Autothrottle: A Practical Bi-Level Approach to Resource Management for SLO-Targeted
// Microservices" (NSDI 2024), and its public code.
//
// Deviations from the original:
//   - A captain sees means of one second, not of 100 ms, and estimates from them
//     the peak and the deviation that it would have seen (see captain.peak).
//   - The throttled share is of the periods in which a pod ran. An idle one seems
//     throttled more than it is.
//   - A limit is set by resizing the pod, which takes about a second, not by
//     writing to its cgroup. So a cut counts as recent for two seconds, and what
//     follows it replaces that second's decision.
//   - All replicas of a service have one limit, and the request follows it: the
//     limit is what the original counts as allocated.
//   - The tower's cost model is a straight line over the load and a local average
//     over the targets, in place of Vowpal Wabbit's network of three neurons; a
//     minute is learned from at its own load, not at that of the minute before. It
//     chooses among targets that it has tried, and random trials lead it to their
//     neighbours, where the other is initially optimistic about what it has never
//     tried; so it can start in production, from given targets, without the
//     paper's hours of exploring everything.
//   - Whether the SLO held is judged exactly, by the share of requests over it;
//     how far it was missed by the mean of one-second percentiles.
//   - It learns from the last day only.
//   - Services are grouped once, by their use in the first minutes, not by hand.
type Autothrottle struct {
	captains []captain
	tower    *tower
}

// throttleTargets are the targets that the tower chooses from.
var throttleTargets = []float64{0, 0.02, 0.04, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3}

func throttleTarget(s string) error {
	for _, t := range throttleTargets {
		if s == fmt.Sprint(t) {
			return nil
		}
	}
	return fmt.Errorf("must be one of %v", throttleTargets)
}

var autothrottleMethod = Method{
	Name:   "autothrottle",
	About:  "CPU limits by how often they throttle: captains each second, a learning tower each minute",
	Search: autothrottleSearch,
	// The fluid engine computes the mean of a step, and autothrottle depends on what happens
	// within a second.
	SearchEngine: "event",
	Options: func(*loadline.App) []Option {
		return []Option{
			{"busy-target", "0.1", "throttled share to start with, for the services that use most CPU", throttleTarget},
			{"quiet-target", "0.1", "the same for the others", throttleTarget},
			{"tower", "on", "off: the targets stay as they are", OneOf("on", "off")},
			{"explore", "0.1", "probability that the tower tries a neighbour of the best targets", Number(0, 1)},
			{"rps-bin", "20", "requests per second that it takes for the same load", Number(0.001, 1e9)},
			{"warm-up", "3m", "before the tower begins", Span(time.Minute, 24*time.Hour)},
			{"seed", "1", "of its random numbers", Count(0, math.MaxInt32)},
		}
	},
	New: func(app *loadline.App, v Values) (loadline.Policy, error) {
		p := &Autothrottle{captains: make([]captain, len(app.Services))}
		for i := range p.captains {
			p.captains[i] = newCaptain(v.Float("quiet-target"))
		}
		p.tower = newTower(towerConfig{
			start: action{
				busy:  slices.Index(throttleTargets, v.Float("busy-target")),
				quiet: slices.Index(throttleTargets, v.Float("quiet-target")),
			},
			learns:  v["tower"] == "on",
			explore: v.Float("explore"), bin: v.Float("rps-bin"), warmUp: v.Span("warm-up"),
		}, rand.New(rand.NewPCG(uint64(v.Int("seed")), 0)), len(app.Services))
		return p, nil
	},
}

// Name of the policy.
func (*Autothrottle) Name() string { return "autothrottle" }

// Needs are those of the captains, which run beside the pods.
func (*Autothrottle) Needs() loadline.Needs {
	return loadline.Needs{Period: time.Second, Scrape: time.Second, Window: time.Second}
}

// Decide updates the tower, which chooses once a minute, and then runs every captain.
func (p *Autothrottle) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	if p.tower.watch(now, s) {
		for i := range p.captains {
			p.captains[i].target = p.tower.target(i)
		}
	}
	var proposal loadline.Proposal
	blind := true
	for i := range s.App.Services {
		seen := &s.Now().Services[i]
		c := &p.captains[i]
		if !seen.Throttled.Present() || !c.note(now, seen.Pods) {
			continue
		}
		blind = false
		bounds := s.App.Services[i].Bounds
		limit := startLimit(s.InFlight[i].Size.CPULimit, bounds)
		next, reason := c.decide(limit, seen.Throttled.Value)
		next = math.Ceil(withinCPU(bounds, next)*1000-1e-6) / 1000 // whole milli-cores
		if next == limit && s.InFlight[i].Size.CPURequest == limit {
			continue
		}
		proposal.Services = append(proposal.Services, loadline.ServiceProposal{
			Service: i, Reason: reason,
			Setting: loadline.Setting{CPURequest: loadline.Some(next), CPULimit: loadline.Some(next)},
		})
	}
	if blind && len(s.App.Services) > 0 {
		return proposal, fmt.Errorf("%w: no service has its CPU use and its throttled periods", loadline.ErrNoData)
	}
	return proposal, nil
}

// unlimited is the initial limit of the original's captains.
const unlimited = 32 // cores

// startLimit is the initial limit; a pod without one gets the highest.
func startLimit(limit float64, b loadline.Bounds) float64 {
	switch {
	case limit > 0:
		return limit
	case b.MaxCPU > 0:
		return b.MaxCPU
	}
	return unlimited
}

// withinCPU clamps a limit to the user's bounds, and to the smallest possible quota.
func withinCPU(b loadline.Bounds, cores float64) float64 {
	cores = max(cores, b.MinCPU, 0.01)
	if b.MaxCPU > 0 {
		cores = min(cores, b.MaxCPU)
	}
	return cores
}
