package bench

import (
	"fmt"
	"math"
	"slices"
)

// same is the relative difference below which two figures are equal: results are written with
// nine digits, and machines may round the last differently.
const same = 1e-6

// Drift lists the differences between committed results and present ones: cases that were added
// or removed, and every reproducible measure.
func Drift(want, got *Results) []string {
	var found []string
	for _, w := range want.Rows {
		i := slices.IndexFunc(got.Rows, func(g Row) bool { return g.Case == w.Case })
		if i < 0 {
			found = append(found, fmt.Sprintf("%s: gone", name(w.Case)))
			continue
		}
		for _, m := range MeasureNames() {
			committed, has := w.Measures[m] // results of before a measure was added do not have it
			a, b := float64(committed.Mean), float64(got.Rows[i].Measures[m].Mean)
			if has && m != DecisionUs && !alike(a, b) {
				found = append(found, fmt.Sprintf("%s: %s was %.9g, is %.9g", name(w.Case), m, a, b))
			}
		}
	}
	for _, g := range got.Rows {
		if !slices.ContainsFunc(want.Rows, func(w Row) bool { return w.Case == g.Case }) {
			found = append(found, fmt.Sprintf("%s: new", name(g.Case)))
		}
	}
	return found
}

func alike(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= same*max(math.Abs(a), math.Abs(b))
}

func name(c Case) string {
	if c.Scene != "" {
		return fmt.Sprintf("%s (%s) in %s", c.Label, c.Policy, c.heading())
	}
	return fmt.Sprintf("%s (%s) on %s, %s, %s", c.Label, c.Policy, c.App, c.Workload, c.Perturbation)
}
