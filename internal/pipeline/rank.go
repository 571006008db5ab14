package pipeline

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadline/loadline/internal/result"
)

// rank sorts the entries: by cost those that meet the SLO, then those of which it is not clear,
// then the others by their share over it. It marks the Pareto front, and ranks by mean pods as
// Scaling-Ops does.
func (e *Evaluation) rank() {
	order := []State{Yes, Unclear, No}
	slices.SortStableFunc(e.Entries, func(a, b Entry) int {
		if c := cmp.Compare(slices.Index(order, a.SLO), slices.Index(order, b.SLO)); c != 0 {
			return c
		}
		if a.SLO == No {
			return cmp.Compare(a.Over, b.Over)
		}
		return cmp.Compare(a.PerMonth, b.PerMonth)
	})
	markFront(e.Entries)
	var on []*Entry
	for i := range e.Entries {
		if e.Entries[i].ENV2 != nil {
			on = append(on, &e.Entries[i])
		}
	}
	slices.SortStableFunc(on, func(a, b *Entry) int { return cmp.Compare(a.ENV2.MeanPods, b.ENV2.MeanPods) })
	e.ByPods = []string{}
	for _, entry := range on {
		e.ByPods = append(e.ByPods, entry.Label)
	}
}

// markFront marks the contenders that no other beats on both cost and share over
// the SLO.
func markFront(entries []Entry) {
	var contenders []*Entry
	for i := range entries {
		e := &entries[i]
		if e.Role != RoleReference && !math.IsNaN(float64(e.PerMonth)) && !math.IsNaN(float64(e.Over)) {
			contenders = append(contenders, e)
		}
	}
	slices.SortStableFunc(contenders, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.PerMonth, b.PerMonth), cmp.Compare(a.Over, b.Over))
	})
	safest := result.Number(math.Inf(1))
	for _, e := range contenders {
		if e.Over < safest {
			e.Front = true
			safest = e.Over
		}
	}
}
