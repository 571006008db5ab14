package slosplit

import (
	"errors"
	"fmt"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/profile"
)

// Chain is the services along one path of one kind of request: sequential calls, and one call
// of each parallel stage.
type Chain struct {
	Kind       string  `json:"kind"`
	Percentile float64 `json:"percentile"`
	Budget     float64 `json:"budget"` // seconds that the path may take: the SLO, or more after measuring
	Whole      float64 `json:"whole"`  // seconds of a mean unloaded request
	Steps      []Step  `json:"steps"`  // each service once, in the order of its first visit
	// Calls are the edges of the chain's graph: pairs of steps, caller first, each once.
	Calls [][2]int `json:"calls,omitempty"`
}

// Step is one service of a chain.
type Step struct {
	Service  int            `json:"service"` // index into App.Services
	Name     string         `json:"name"`
	Visits   float64        `json:"visits"`   // of one request on this path, in sequence
	Unloaded float64        `json:"unloaded"` // seconds of one visit without load
	Load     float64        `json:"load"`     // visits per second from all kinds of requests
	Cost     float64        `json:"cost"`     // of an instance, in cores; see InstanceCost
	Min      int            `json:"min"`      // instances
	Max      int            `json:"max"`
	Curve    *profile.Curve `json:"curve"` // nil = no profile
}

// InstanceCost is the cost of an instance in cores: its CPU request, and its memory at the
// price of memory relative to a core.
func InstanceCost(s loadline.Size) float64 {
	return s.CPURequest + formulation.MemoryPrice*float64(s.MemoryRequest)/(1<<30)
}

// Validate reports every fault.
func (c *Chain) Validate() error {
	var faults []error
	if !(c.Budget > 0) {
		faults = append(faults, fmt.Errorf("the budget of %v s must be above 0", c.Budget))
	}
	if len(c.Steps) == 0 {
		faults = append(faults, errors.New("the path has no services"))
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if !(s.Visits > 0) || !(s.Load >= 0) || !(s.Cost >= 0) || s.Min < 0 || s.Max < max(s.Min, 1) {
			faults = append(faults, fmt.Errorf("%s: %v visits, %v visits/s, cost %v, %d to %d instances: visits must be above 0, "+
				"load and cost at least 0, and at least one instance allowed", s.Name, s.Visits, s.Load, s.Cost, s.Min, s.Max))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("chain of %s: %w", c.Kind, err)
	}
	return nil
}

// Time is the sum of the shares along the path, in seconds.
func (c *Chain) Time(shares Shares) float64 {
	sum := 0.0
	for i := range c.Steps {
		sum += c.Steps[i].Visits * shares[i]
	}
	return sum
}
