package policy

import (
	"cmp"
	"math"
	"slices"
)

// best is the action with the least expected cost at a load, among those tried. Without samples
// it keeps the current one.
func (t *tower) best(rps float64) action {
	known := t.aggregate()
	best, least := t.now, math.Inf(1)
	for busy := range throttleTargets {
		for quiet := range throttleTargets {
			a := action{busy, quiet}
			cost, ok := expectedCost(known, a, rps, t.cfg.bin)
			// An equally good action is not worth a change.
			if ok && (cost < least-1e-9 || cost < least+1e-9 && a == t.now) {
				best, least = a, cost
			}
		}
	}
	return best
}

// towerPoint is the typical cost of an action at a load, in excess of that load's usual cost.
type towerPoint struct {
	action
	rps  float64
	cost float64
}

// aggregate combines the samples of one action at about the same load by the median of their
// costs: a single bad minute does not decide.
func (t *tower) aggregate() []towerPoint {
	points := make([]towerPoint, len(t.samples))
	costs := costsOf(t.samples)
	trend := allocationTrend(t.samples, costs)
	for i, s := range t.samples {
		points[i] = towerPoint{
			action: action{slices.Index(throttleTargets, s.Busy), slices.Index(throttleTargets, s.Quiet)},
			rps:    math.Round(s.RPS/t.cfg.bin) * t.cfg.bin,
			cost:   costs[i] - trend(s.RPS),
		}
	}
	slices.SortFunc(points, func(a, b towerPoint) int {
		return cmp.Or(cmp.Compare(a.busy, b.busy), cmp.Compare(a.quiet, b.quiet), cmp.Compare(a.rps, b.rps), cmp.Compare(a.cost, b.cost))
	})
	var known []towerPoint
	for start := 0; start < len(points); {
		end := start + 1
		for end < len(points) && points[end].action == points[start].action && points[end].rps == points[start].rps {
			end++
		}
		median := points[start]
		median.cost = (points[(start+end-1)/2].cost + points[(start+end)/2].cost) / 2
		known = append(known, median)
		start = end
	}
	return known
}

// costsOf the samples: from 0 to 1 by the allocation where the SLO was met, from 2 to 3 by the
// violation where it was not.
func costsOf(samples []TowerSample) []float64 {
	within := func(met bool, value func(TowerSample) float64) func(TowerSample) float64 {
		low, high := math.Inf(1), math.Inf(-1)
		for _, s := range samples {
			if s.Met == met {
				low, high = min(low, value(s)), max(high, value(s))
			}
		}
		return func(s TowerSample) float64 {
			if high == low {
				return 0.5
			}
			return (value(s) - low) / (high - low)
		}
	}
	allocation := within(true, func(s TowerSample) float64 { return s.Allocation })
	latency := within(false, func(s TowerSample) float64 { return s.OverSLO })
	costs := make([]float64, len(samples))
	for i, s := range samples {
		if s.Met {
			costs[i] = allocation(s)
		} else {
			costs[i] = 2 + latency(s)
		}
	}
	return costs
}

// allocationTrend is how the cost of meeting the SLO grows with the load: a straight line, by
// least squares. Without it an action would look cheap because it was tried at a low load.
func allocationTrend(samples []TowerSample, costs []float64) func(rps float64) float64 {
	n, sumX, sumY, sumXX, sumXY := 0.0, 0.0, 0.0, 0.0, 0.0
	for i, s := range samples {
		if s.Met {
			n++
			sumX, sumY = sumX+s.RPS, sumY+costs[i]
			sumXX, sumXY = sumXX+s.RPS*s.RPS, sumXY+s.RPS*costs[i]
		}
	}
	spread := n*sumXX - sumX*sumX
	if n < 3 || spread < 1e-9*n*sumXX {
		return func(float64) float64 { return 0 }
	}
	slope := (n*sumXY - sumX*sumY) / spread
	return func(rps float64) float64 { return sumY/n + slope*(rps-sumX/n) }
}

// ladderWidth is the width of the kernel over the targets, in steps. It is narrow because the
// cost jumps where the SLO is violated.
const ladderWidth = 0.5

// expectedCost is the mean of the points, weighted by closeness in action and load. Untried
// actions are unknown: random exploration tries them.
func expectedCost(known []towerPoint, a action, rps, bin float64) (float64, bool) {
	sum, weights, tried := 0.0, 0.0, false
	for _, p := range known {
		busy, quiet := float64(a.busy-p.busy), float64(a.quiet-p.quiet)
		squares := busy*busy + quiet*quiet
		tried = tried || squares == 0
		// The load's weight decreases slowly, so that a new load is predicted by the nearest
		// ones.
		w := math.Exp(-squares/(2*ladderWidth*ladderWidth)) * math.Exp(-math.Abs(rps-p.rps)/bin)
		sum += w * p.cost
		weights += w
	}
	if !tried || weights == 0 {
		return 0, false
	}
	return sum / weights, true
}
