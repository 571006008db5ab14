package decisionlog

import (
	"slices"
	"time"
)

// InOrder sorts entries in the order of their decisions: a decision is written when it is
// applied, possibly after later ones. It delays entries by up to Delay, and passes them to
// Visit.
type InOrder struct {
	Delay time.Duration
	Visit func(Entry) error
	held  []Entry // by their instants
}

// Add adds the next entry as written.
func (o *InOrder) Add(e Entry) error {
	i := len(o.held)
	for i > 0 && o.held[i-1].Record.At.After(e.Record.At) {
		i--
	}
	o.held = slices.Insert(o.held, i, e)
	return o.release(o.held[len(o.held)-1].Record.At.Add(-o.Delay))
}

// Flush passes on the rest.
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
