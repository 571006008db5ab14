package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/result"
)

// WriteMarkdown writes the results as tables for a document: first the cheapest policy of each
// cell, then every cell.
func (r *Results) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Suite `%s`, %d seeds, made by %s. Policies are ranked by the bill; allocated, used and charged "+
		"core-hours stand beside it. Costs are means over seeds with half the width of their 95 %% interval; differences to %s are taken seed by seed, a star marks those whose interval leaves out zero. A cost counts only where the "+
		"SLO is met in every run: at most 1 %% of its requests over it.\n\n", r.Suite, r.Seeds, r.Program, r.Baseline)
	b.WriteString("## Cheapest policy with the SLO met\n\n")
	fmt.Fprintf(&b, "| scene | cheapest | bill | against %s | above oracle | above bound | allocated | used | policies that "+
		"violated the SLO |\n|---|---|---|---|---|---|---|---|---|\n", r.Baseline)
	cells := r.cells()
	for _, cell := range cells {
		writeWinner(&b, cell)
	}
	writeAllScenes(&b, cells)
	for _, cell := range cells {
		c := cell[0].Case
		fmt.Fprintf(&b, "\n## %s\n\n", c.heading())
		if c.Cluster != "" {
			fmt.Fprintf(&b, "`%s`\n\n", c.Cluster)
		}
		fmt.Fprintf(&b, "| policy | SLO | bill | against %s | above oracle | above bound | allocated | used | core-hours | over SLO | "+
			"minutes violated | p99 | replicas | changes |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n", r.Baseline)
		for _, row := range cell {
			writeRow(&b, row)
		}
		writeApplications(&b, cell)
		if slices.ContainsFunc(cell, func(row Row) bool { return row.BelowBound }) {
			fmt.Fprintf(&b, "\n! %s\n", belowLegend)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeApplications writes what each of several applications has of a cell.
func writeApplications(b *strings.Builder, cell []Row) {
	if len(cell[0].Applications) == 0 {
		return
	}
	b.WriteString("\nBy application: its share of the bill, and of its requests over the SLO. The worst application decides.\n\n| policy |")
	for _, a := range cell[0].Applications {
		fmt.Fprintf(b, " %s |", a.Name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(cell[0].Applications)) + "\n")
	for _, row := range cell {
		fmt.Fprintf(b, "| %s |", row.Case.Label)
		for _, a := range row.Applications {
			fmt.Fprintf(b, " %.3g, %s |", float64(a.Bill.Mean), result.Percent(a.Over.Mean))
		}
		b.WriteByte('\n')
	}
}

// cells are the rows of one application, workload and perturbation each.
func (r *Results) cells() [][]Row {
	var all [][]Row
	for i, row := range r.Rows {
		if i == 0 || !sameCell(row.Case, r.Rows[i-1].Case) {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], row)
	}
	return all
}

// writeWinner excludes oracles: they are references, not contenders.
func writeWinner(b *strings.Builder, cell []Row) {
	var best *Row
	var violated []string
	for i := range cell {
		row := &cell[i]
		switch {
		case isOracle(row.Case):
		case !row.Met:
			violated = append(violated, row.Case.Label)
		case best == nil || row.Measures["bill"].Mean < best.Measures["bill"].Mean:
			best = row
		}
	}
	fmt.Fprintf(b, "| %s | ", cell[0].Case.heading())
	if best == nil {
		b.WriteString("none | - | - | - | - | - | - | ")
	} else {
		fmt.Fprintf(b, "**%s** | %s | %s | %s | %s | %.3g | %.3g | ", best.Case.Label, spread(best.Measures["bill"]),
			difference(best.Against["bill"], best.Measures["bill"]), above(best.AboveOracle, best.Measures["bill"]),
			above(best.AboveBound, best.Measures["bill"])+belowSign(*best),
			float64(best.Measures["allocated_core_hours"].Mean), float64(best.Measures["used_core_hours"].Mean))
	}
	if len(violated) == 0 {
		violated = []string{"none"}
	}
	fmt.Fprintf(b, "%s |\n", strings.Join(violated, ", "))
}

func writeRow(b *strings.Builder, row Row) {
	m := row.Measures
	met, cost := "met", spread(m["bill"])
	if !row.Met {
		met, cost = "violated", "("+cost+")"
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %.3g | %.3g | %s | %s | %s | %.0f ms | %.1f | %.0f |\n", row.Case.Label, met, cost,
		difference(row.Against["bill"], m["bill"]), above(row.AboveOracle, m["bill"]), above(row.AboveBound, m["bill"])+belowSign(row),
		float64(m["allocated_core_hours"].Mean), float64(m["used_core_hours"].Mean), spread(m["core_hours"]),
		overText(m), result.Percent(m["windows_violated_ratio"].Mean), float64(m["p99_ms"].Mean), float64(m["mean_replicas"].Mean), float64(m["changes"].Mean))
}
