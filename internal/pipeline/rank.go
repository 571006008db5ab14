package pipeline

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

// rank sorts the entries: by cost those that meet the SLO, then the others by their share
// over it. It marks the Pareto front, finds the rule to beat, compares every entry with
// it, and ranks by mean pods as Scaling-Ops does.
func (e *Evaluation) rank() {
	slices.SortStableFunc(e.Entries, func(a, b Entry) int {
		switch {
		case a.Met != b.Met:
			return cmp.Compare(later(a.Met), later(b.Met))
		case a.Met:
			return cmp.Compare(a.CoreHours, b.CoreHours)
		}
		return cmp.Compare(a.Over, b.Over)
	})
	markFront(e.Entries)
	if rule := e.ruleToBeat(); rule != nil {
		e.Rule = rule.Label
		for i := range e.Entries {
			e.Entries[i].compareWith(rule)
		}
	}
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

func later(met bool) int {
	if met {
		return 0
	}
	return 1
}

// markFront marks the contenders that no other beats on both cost and share over
// the SLO.
func markFront(entries []Entry) {
	var contenders []*Entry
	for i := range entries {
		e := &entries[i]
		if e.Role != RoleReference && !math.IsNaN(float64(e.CoreHours)) && !math.IsNaN(float64(e.Over)) {
			contenders = append(contenders, e)
		}
	}
	slices.SortStableFunc(contenders, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.CoreHours, b.CoreHours), cmp.Compare(a.Over, b.Over))
	})
	safest := result.Number(math.Inf(1))
	for _, e := range contenders {
		if e.Over < safest {
			e.Front = true
			safest = e.Over
		}
	}
}

// ruleToBeat is the best of the calibrated baselines, or of all if none is calibrated: the
// entries are sorted already. Nil = no baseline.
func (e *Evaluation) ruleToBeat() *Entry {
	for _, calibrated := range []bool{true, false} {
		for i := range e.Entries {
			if entry := &e.Entries[i]; entry.Role == RoleBaseline && (entry.Calibrated || !calibrated) {
				return entry
			}
		}
	}
	return nil
}

// compareWith compares with the rule run by run: the same stretch with the same seed.
func (e *Entry) compareWith(rule *Entry) {
	if e.Label == rule.Label {
		return
	}
	var off []float64
	for _, r := range e.runs {
		for _, o := range rule.runs {
			if r.Seed == o.Seed && r.Case.Workload == o.Case.Workload {
				off = append(off, float64(r.Result.CoreHours/o.Result.CoreHours)-1)
			}
		}
	}
	i := bench.IntervalOf(off)
	e.Against, e.Pairs = &i, len(off)
}

// Beats reports whether the candidate is better than the rule on the held-out part: it
// meets the SLO, and the rule either does not or costs significantly more (the 95 %
// interval of the relative cost, run by run, lies below zero).
func (e *Entry) Beats(rule *Entry) bool {
	switch {
	case !e.Met:
		return false
	case rule == nil || !rule.Met:
		return true
	}
	return e.Against != nil && e.Against.High < 0
}
