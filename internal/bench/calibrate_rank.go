package bench

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadline/loadline/internal/result"
)

// usualMargin is the part of the allowed share of requests over the SLO that a setting may use on
// validation data, as a reserve for the test data.
const usualMargin = 0.7

func (t *Try) feasible() bool {
	if t.margin > 0 {
		return t.Over <= t.margin*result.CountsIf
	}
	return t.Over <= usualMargin*result.CountsIf
}

// calm reports whether a setting changes no more often than is allowed.
func (t *Try) calm() bool { return t.most == 0 || t.Changes <= t.most }

func (t *Try) remark() string {
	switch {
	case !t.feasible():
		return "too many requests over the SLO"
	case !t.calm():
		return "too many changes"
	}
	return ""
}

// Cost is the bill of a pool; without one, the core-hours.
func (t *Try) Cost() float64 {
	if t.Bill > 0 {
		return t.Bill
	}
	return t.CoreHours
}

// samePrice is the relative difference in cost below which two settings cost the same, and the
// one closer to the default is better.
const samePrice = 0.002

// rank sorts, best first: the cheapest of those that meet the SLO without too many changes, then
// those with too many, then the others by their violation. Ties go to the default.
func rank(tries []Try) []Try {
	ranked := slices.Clone(tries)
	slices.SortStableFunc(ranked, func(a, b Try) int {
		if a.feasible() != b.feasible() {
			if a.feasible() {
				return -1
			}
			return 1
		}
		if !a.feasible() {
			return cmp.Or(cmp.Compare(a.Violated, b.Violated), cmp.Compare(a.Over, b.Over), cmp.Compare(a.Cost(), b.Cost()),
				cmp.Compare(a.far, b.far))
		}
		if a.calm() != b.calm() {
			if a.calm() {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(price(a), price(b)), cmp.Compare(a.far, b.far),
			cmp.Compare(a.Cost(), b.Cost()))
	})
	return ranked
}

// price is in whole steps of samePrice, so that equality is transitive.
func price(t Try) float64 { return math.Round(math.Log(t.Cost()) / samePrice) }

// safest first.
func safest(tries []Try) []Try {
	sorted := slices.Clone(tries)
	slices.SortStableFunc(sorted, func(a, b Try) int {
		return cmp.Or(cmp.Compare(a.Violated, b.Violated), cmp.Compare(a.Over, b.Over), cmp.Compare(a.Cost(), b.Cost()))
	})
	return sorted
}

func contains(tries []Try, spec string) bool {
	return slices.ContainsFunc(tries, func(t Try) bool { return t.Spec == spec })
}

func containsText(all []string, one string) bool { return slices.Contains(all, one) }

func equal(a, b []float64) bool { return slices.Equal(a, b) }
