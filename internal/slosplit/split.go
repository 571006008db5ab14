package slosplit

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline/internal/suggest"
)

// Shares of a chain: for each step the seconds that one visit may take.
type Shares []float64

// Splitter divides a chain's budget among its steps. The shares, times their visits, sum to the
// budget or less. It returns an *Infeasible if it finds that no split can be met.
type Splitter interface {
	Split(c *Chain) (Shares, error)
}

// Ways lists the splitters by name.
func Ways() []string { return []string{"parslo", "proportional", "even"} }

// NewSplitter makes the named one.
func NewSplitter(way string) (Splitter, error) {
	switch way {
	case "parslo":
		return Parslo{}, nil
	case "proportional":
		return Proportional{}, nil
	case "even":
		return Even{}, nil
	}
	return nil, fmt.Errorf("unknown splitting method %q%s", way, suggest.Hint(way, Ways()))
}

// Even gives every visit the same time.
type Even struct{}

// Split splits the chain.
func (Even) Split(c *Chain) (Shares, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	visits := 0.0
	for i := range c.Steps {
		visits += c.Steps[i].Visits
	}
	shares := make(Shares, len(c.Steps))
	for i := range shares {
		shares[i] = c.Budget / visits
	}
	return shares, nil
}

// Proportional divides as formulation.NewTopology does: by the unloaded time of each visit,
// relative to that of the mean request. Where calls are not always made that is less than the
// time of the path, and the shares along it sum to more than the budget.
type Proportional struct{}

// Split splits the chain.
func (Proportional) Split(c *Chain) (Shares, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if !(c.Whole > 0) {
		return nil, fmt.Errorf("chain of %s: its requests take no time without queueing, so a proportional split is undefined; split "+
			"it evenly", c.Kind)
	}
	shares := make(Shares, len(c.Steps))
	for i := range shares {
		shares[i] = c.Budget * c.Steps[i].Unloaded / c.Whole
	}
	return shares, nil
}

// seconds formats with four digits.
func seconds(s float64) time.Duration {
	d := time.Duration(s * float64(time.Second))
	unit := time.Nanosecond
	for math.Abs(float64(d/unit)) >= 10000 {
		unit *= 10
	}
	return d.Round(unit)
}
