package bench

import (
	"fmt"
	"math"
	"strings"

	"github.com/loadline/loadline/internal/result"
)

// overall is one policy over all scenes of a comparison.
type overall struct {
	label       string
	oracle      bool
	scenes, met int
	bill        float64 // sum of the scenes' means
	// Above the oracle, in the scenes that have one: the geometric mean and the largest of the ratios
	// of bills; 0 = no scene has one.
	mean, worst float64
	over        float64 // the largest mean of a scene
}

// overAll sums the policies that ran in every scene, in their order. Policies that a scene lacks are
// left out: sums over different scenes cannot be compared.
func overAll(cells [][]Row) []overall {
	var all []overall
	if len(cells) == 0 {
		return nil
	}
	for _, first := range cells[0] {
		o := overall{label: first.Case.Label, oracle: isOracle(first.Case)}
		logs, ratios := 0.0, 0
		for _, cell := range cells {
			for _, row := range cell {
				if row.Case.Label != o.label {
					continue
				}
				o.scenes++
				if row.Met {
					o.met++
				}
				o.bill += float64(row.Measures["bill"].Mean)
				o.over = max(o.over, float64(row.Measures["degraded_ratio"].Mean))
				if ratio := aboveOracle(row, cell); ratio > 0 {
					logs, ratios, o.worst = logs+math.Log(ratio), ratios+1, max(o.worst, ratio)
				}
			}
		}
		if ratios > 0 {
			o.mean = math.Exp(logs / float64(ratios))
		}
		if o.scenes == len(cells) {
			all = append(all, o)
		}
	}
	return all
}

// aboveOracle is the row's bill over that of the oracle in its cell; 0 = there is none.
func aboveOracle(row Row, cell []Row) float64 {
	for _, other := range cell {
		if b := float64(other.Measures["bill"].Mean); isOracle(other.Case) && b > 0 {
			return float64(row.Measures["bill"].Mean) / b
		}
	}
	return 0
}

// writeAllScenes writes a table of the policies over all scenes, if there are several.
func writeAllScenes(b *strings.Builder, cells [][]Row) {
	all := overAll(cells)
	if len(cells) < 2 || len(all) == 0 {
		return
	}
	b.WriteString("\n## All scenes\n\nThe bill is the sum over scenes. Above the oracle: the geometric mean of the ratios, and the largest.\n\n" +
		"| policy | scenes with the SLO met | bill | above oracle | most above oracle | most over SLO |\n|---|---|---|---|---|---|\n")
	for _, o := range all {
		mean, worst := "-", "-"
		if o.mean > 0 && !o.oracle {
			mean, worst = fmt.Sprintf("%.2fx", o.mean), fmt.Sprintf("%.2fx", o.worst)
		}
		fmt.Fprintf(b, "| %s | %d of %d | %.3g | %s | %s | %s |\n", o.label, o.met, o.scenes, o.bill, mean, worst,
			result.Percent(result.Number(o.over)))
	}
}

// overText is the share over the SLO and, where optional calls were dropped, with them at their price.
func overText(m map[string]Interval) string {
	text := result.Percent(m["over_slo_ratio"].Mean)
	if d := m["degraded_ratio"].Mean; d > m["over_slo_ratio"].Mean {
		text += fmt.Sprintf(" (%s with dropped calls)", result.Percent(d))
	}
	return text
}
