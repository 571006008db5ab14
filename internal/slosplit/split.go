package slosplit

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline/internal/suggest"
)

// Shares of a chain: for each step the seconds that one visit may take.
type Shares []float64

// Splitter divides a chain's budget among its steps. The shares, times their visits,
// sum to the budget or less. It gives an *Infeasible where it knows that no split can
// be kept.
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

// Even gives every visit the same.
type Even struct{}

// Split the chain.
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

// Proportional divides as env.NewGround does: by how long each visit takes when
// nothing waits, over what the mean request takes. Where calls are not always made
// that is less than what the path takes, and the shares along it sum to more than
// the budget.
type Proportional struct{}

// Split the chain.
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

// seconds as people read them, to four digits.
func seconds(s float64) time.Duration {
	d := time.Duration(s * float64(time.Second))
	unit := time.Nanosecond
	for math.Abs(float64(d/unit)) >= 10000 {
		unit *= 10
	}
	return d.Round(unit)
}
