package report

import (
	"cmp"
	"math"
	"slices"
)

// markFront marks the contenders of a scenario that no other beats on both cost and share over
// the SLO. Oracles are excluded: otherwise the front would be theirs alone.
func (b *builder) markFront(rows []int) {
	all := b.report.Summary.Rows
	place := func(i int) (cost, over float64) {
		return float64(all[i].Values[b.report.Summary.Cost][0]), float64(all[i].Values["over_slo_ratio"][0])
	}
	var contenders []int
	for _, i := range rows {
		cost, over := place(i)
		if !b.report.Summary.Policies[all[i].Policy].Reference && !math.IsNaN(cost) && !math.IsNaN(over) {
			contenders = append(contenders, i)
		}
	}
	slices.SortStableFunc(contenders, func(i, j int) int {
		iCost, iOver := place(i)
		jCost, jOver := place(j)
		return cmp.Or(cmp.Compare(iCost, jCost), cmp.Compare(iOver, jOver))
	})
	safest := math.Inf(1)
	for _, i := range contenders {
		if _, over := place(i); over < safest {
			all[i].Front = true
			safest = over
		}
	}
}
