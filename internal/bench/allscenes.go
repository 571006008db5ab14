package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/result"
)

// overall is one policy over all scenes of a comparison.
type overall struct {
	label        string
	oracle, rule bool
	scenes, met  int
	bill         float64 // sum of the scenes' means
	// Above the oracle, in the scenes that have one: the geometric mean and the largest of the ratios
	// of bills; 0 = no scene has one.
	mean, worst float64
	over        float64 // the largest mean of a scene

	// Relative to the best plain rule of each scene, chosen by hindsight: the geometric mean and the
	// largest of the ratios of bills, over the scenes where both met the SLO; 0 = there is none.
	hindsight, worstHindsight float64
	// safe is the ratio of the bill to that of the one rule that met the SLO in all scenes; 0 = none did.
	safe float64
}

// isRule reports whether a case is of a plain rule, at any setting.
func isRule(c Case) bool {
	name, _, _ := strings.Cut(c.Policy, ":")
	name, _, _ = strings.Cut(name, "@")
	return slices.Contains(plainRules, name) || name == Rules
}

// bestRule is the least bill of the plain rules that met the SLO in a cell; 0 = none did.
func bestRule(cell []Row) float64 {
	best := 0.0
	for _, row := range cell {
		if b := float64(row.Measures["bill"].Mean); row.Met && isRule(row.Case) && (best == 0 || b < best) {
			best = b
		}
	}
	return best
}

// safeRule is the cheapest of the plain rules that met the SLO in every cell.
func safeRule(all []overall) (safe overall, found bool) {
	for _, o := range all {
		if o.rule && o.met == o.scenes && (!found || o.bill < safe.bill) {
			safe, found = o, true
		}
	}
	return safe, found
}

// overAll sums the policies that ran in every scene, in their order. Policies that a scene lacks are
// left out: sums over different scenes cannot be compared.
func overAll(cells [][]Row) []overall {
	var all []overall
	if len(cells) == 0 {
		return nil
	}
	for _, first := range cells[0] {
		o := overall{label: first.Case.Label, oracle: isOracle(first.Case), rule: isRule(first.Case)}
		logs, ratios := 0.0, 0
		ruleLogs, ruleRatios := 0.0, 0
		for _, cell := range cells {
			best := bestRule(cell)
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
				if bill := float64(row.Measures["bill"].Mean); best > 0 && bill > 0 && row.Met {
					ruleLogs, ruleRatios, o.worstHindsight = ruleLogs+math.Log(bill/best), ruleRatios+1, max(o.worstHindsight, bill/best)
				}
			}
		}
		if ratios > 0 {
			o.mean = math.Exp(logs / float64(ratios))
		}
		if ruleRatios > 0 {
			o.hindsight = math.Exp(ruleLogs / float64(ruleRatios))
		}
		if o.scenes == len(cells) {
			all = append(all, o)
		}
	}
	if safe, found := safeRule(all); found {
		for i := range all {
			all[i].safe = all[i].bill / safe.bill
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
	safe, found := safeRule(all)
	b.WriteString("\n## All scenes\n\nThe bill is the sum over scenes. Above the oracle, and against the best plain rule of each scene (chosen " +
		"by hindsight, of those here that met its SLO, where the policy met it too): the geometric mean of the ratios, and the largest.")
	if found {
		fmt.Fprintf(b, " The one rule that met the SLO in every scene at the least bill is %s.", safe.label)
	} else {
		b.WriteString(" No rule met the SLO in every scene.")
	}
	b.WriteString(" Figures in parentheses do not count: the SLO was not met everywhere.")
	b.WriteString("\n\n| policy | scenes with the SLO met | most over SLO | bill | against the best rule | worst scene | against the one safe " +
		"rule | above oracle | worst scene |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, o := range all {
		mean, worst := "-", "-"
		if o.mean > 0 && !o.oracle {
			mean, worst = fmt.Sprintf("%.2fx", o.mean), fmt.Sprintf("%.2fx", o.worst)
		}
		bill, against := fmt.Sprintf("%.3g", o.bill), relative(o.safe)
		if o.met < o.scenes { // it does not count
			bill, against = "("+bill+")", "("+against+")"
		}
		fmt.Fprintf(b, "| %s | %d of %d | %s | %s | %s | %s | %s | %s | %s |\n", o.label, o.met, o.scenes, result.Percent(result.Number(o.over)),
			bill, relative(o.hindsight), relative(o.worstHindsight), against, mean, worst)
	}
}

// relative is a ratio as a signed percentage; 0 = there is none.
func relative(ratio float64) string {
	if ratio == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100*(ratio-1))
}

// overText is the share over the SLO and, where optional calls were dropped, with them at their price.
func overText(m map[string]Interval) string {
	text := result.Percent(m["over_slo_ratio"].Mean)
	if d := m["degraded_ratio"].Mean; d > m["over_slo_ratio"].Mean {
		text += fmt.Sprintf(" (%s with dropped calls)", result.Percent(d))
	}
	return text
}
