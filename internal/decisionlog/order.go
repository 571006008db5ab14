package decisionlog

import (
	"slices"
	"time"
)

// InOrder puts entries in the order in which they were decided: a decision is
// written when it is applied, which may be after later ones. It holds entries
// back for as long as Delay, and passes them on to Visit.
type InOrder struct {
	Delay time.Duration
	Visit func(Entry) error
	held  []Entry // by their instants
}

// Add takes the next entry as it was written.
func (o *InOrder) Add(e Entry) error {
	i := len(o.held)
	for i > 0 && o.held[i-1].Record.At.After(e.Record.At) {
		i--
	}
	o.held = slices.Insert(o.held, i, e)
	return o.release(o.held[len(o.held)-1].Record.At.Add(-o.Delay))
}

// Flush passes on what is left.
func (o *InOrder) Flush() error {
	for _, e := range o.held {
		if err := o.Visit(e); err != nil {
			return err
		}
	}
	o.held = nil
	return nil
}

func (o *InOrder) release(until time.Time) error {
	n := 0
	for n < len(o.held) && o.held[n].Record.At.Before(until) {
		if err := o.Visit(o.held[n]); err != nil {
			return err
		}
		n++
	}
	o.held = slices.Delete(o.held, 0, n)
	return nil
}
