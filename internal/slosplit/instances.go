package slosplit

import (
	"fmt"
	"math"

	"github.com/loadline/loadline/internal/profile"
)

// LatencyWith is the duration of a visit with the given instances, in seconds; +Inf if they are
// too few for the load.
func (s *Step) LatencyWith(instances int) float64 {
	return s.Curve.At(s.Load / float64(instances))
}

// Instances is the fewest instances with which a visit takes no longer than its share, within
// the bounds. False means that none do: then it is the fewest that come closest.
func (s *Step) Instances(share float64) (n int, kept bool, err error) {
	if s.Curve == nil {
		return 0, false, fmt.Errorf("%w of %s: measure one with loadline profile", profile.ErrAbsent, s.Name)
	}
	if load, can := s.Curve.LoadAt(share); can {
		// Floating point: 3.0000000001 means 3. A number beyond the bounds may overflow an int.
		n = int(min(math.Ceil(s.Load/load-1e-9), float64(s.Max)+1))
		if n = max(n, s.Min); n <= s.Max {
			return n, true, nil
		}
	}
	return s.Fastest(), false, nil
}

// Fastest is the fewest instances of the least latency within the bounds; the maximum where
// even that cannot serve the load.
func (s *Step) Fastest() int {
	least := s.LatencyWith(s.Max)
	n := s.Max
	for !math.IsInf(least, 1) && n > s.Min && s.LatencyWith(n-1) <= least {
		n--
	}
	return n
}

// Infeasible is an SLO that cannot be met within the bounds.
type Infeasible struct {
	Kind     string
	SLO      float64 // seconds
	Least    float64 // seconds: the least possible; +Inf = some service cannot serve its load
	Cost     float64 // of it, in cores
	Measured bool    // Least is the measured tail, not a sum of shares
	Service  string  // the service that takes most of it, or cannot serve its load
	Takes    float64 // its part of Least in seconds
}

func (e *Infeasible) Error() string {
	if math.IsInf(e.Least, 1) {
		return fmt.Sprintf("%s cannot be met within %v: %s cannot handle its load with all the instances that its bounds allow "+
			"(%.4g cores in total); raise its bounds or its size", e.Kind, seconds(e.SLO), e.Service, e.Cost)
	}
	what := "the shares of its path sum to"
	if e.Measured {
		what = "it takes"
	}
	return fmt.Sprintf("%s cannot be met within %v: %s at least %v, for %.4g cores, %v of it in %s; allow more time, or give that "+
		"service more CPU or a faster version",
		e.Kind, seconds(e.SLO), what, seconds(e.Least), e.Cost, seconds(e.Takes), e.Service)
}

// Least is the least possible time of a chain: what a splitter returns where that exceeds the
// budget.
func Least(c *Chain) *Infeasible {
	e := &Infeasible{Kind: c.Kind, SLO: c.Budget}
	for i := range c.Steps {
		s := &c.Steps[i]
		n := s.Fastest()
		takes := s.Visits * s.LatencyWith(n)
		e.Least += takes
		e.Cost += float64(n) * s.Cost
		if takes > e.Takes {
			e.Service, e.Takes = s.Name, takes
		}
	}
	return e
}
