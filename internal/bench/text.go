package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/loadline/loadline/internal/result"
)

// WriteText writes the table: for every application, workload and perturbation the cost of each
// policy, whether it met the SLO, the comparison, and the gaps to the oracle and to the bound.
func (r *Results) WriteText(w io.Writer) error {
	var b strings.Builder
	for i, row := range r.Rows {
		if i == 0 || !sameCell(row.Case, r.Rows[i-1].Case) {
			r.writeCell(&b, i)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeCell writes the rows from the first of a cell to its last.
func (r *Results) writeCell(b *strings.Builder, from int) {
	c := r.Rows[from].Case
	fmt.Fprintf(b, "%s, %s engine, mean of %d\n", c.heading(), c.Engine, r.Rows[from].Seeds)
	if c.Cluster != "" {
		fmt.Fprintf(b, "  %s\n", c.Cluster)
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "  policy\tbill\tagainst %s\tabove oracle\tabove bound\tallocated\tused\tcore-hours\tover SLO\t"+
		"p99\treplicas\tchanges\t\n", r.Baseline)
	cell := r.Rows[from:]
	if n := slices.IndexFunc(cell, func(row Row) bool { return !sameCell(row.Case, c) }); n >= 0 {
		cell = cell[:n]
	}
	for _, row := range cell {
		m := row.Measures
		verdict := ""
		if !row.Met {
			verdict = "  SLO violated: the cost does not count"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%.3g\t%.3g\t%s\t%s\t%.0f ms\t%.1f\t%.0f\t%s\n", row.Case.Label, spread(m["bill"]),
			difference(row.Against["bill"], m["bill"]), above(row.AboveOracle, m["bill"]), above(row.AboveBound, m["bill"])+belowSign(row),
			float64(m["allocated_core_hours"].Mean), float64(m["used_core_hours"].Mean), spread(m["core_hours"]),
			overText(m), float64(m["p99_ms"].Mean), float64(m["mean_replicas"].Mean), float64(m["changes"].Mean), verdict)
	}
	t.Flush()
	for _, row := range cell {
		if text := row.applications(); text != "" {
			fmt.Fprintf(b, "  %s by application, bill and over SLO: %s\n", row.Case.Label, text)
		}
	}
	writeRemarks(b, cell)
	b.WriteByte('\n')
}

// applications are the share of the bill and the share over the SLO of each; "" = there is one.
func (r *Row) applications() string {
	var all []string
	for _, a := range r.Applications {
		all = append(all, fmt.Sprintf("%s %.3g, %s", a.Name, float64(a.Bill.Mean), result.Percent(a.Over.Mean)))
	}
	return strings.Join(all, "; ")
}

// writeRemarks has what a reader must know of the references.
func writeRemarks(b *strings.Builder, cell []Row) {
	below := false
	for _, row := range cell {
		below = below || row.BelowBound
		if isOracle(row.Case) && row.Bound != nil {
			fmt.Fprintf(b, "  %s %.4g, bound %.4g: the best policy is between the two.\n", row.Case.Label, float64(row.Measures["bill"].Mean),
				float64(row.Bound.Mean))
		}
		if o := row.OverOracle; o != nil && row.Met && o.Mean < 0.999 {
			fmt.Fprintf(b, "  %s beats the oracle: a better schedule exists than the one that the search found.\n", row.Case.Label)
		}
	}
	if below {
		b.WriteString("  ! " + belowLegend + "\n")
	}
}

const belowLegend = "below the bound by more than chance explains: a fault of the simulator or of the bound."

// belowSign marks a cell that belowLegend explains.
func belowSign(row Row) string {
	if row.BelowBound {
		return " !"
	}
	return ""
}

// above is a difference to a reference in percent of the reference.
func above(d *Interval, own Interval) string {
	if d == nil {
		return "-"
	}
	percent := 100 * float64(d.Mean) / float64(own.Mean-d.Mean)
	if math.IsNaN(percent) || math.IsInf(percent, 0) {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", percent)
}

func spread(i Interval) string {
	half := float64(i.High-i.Low) / 2
	if math.IsNaN(half) {
		return fmt.Sprintf("%.3g", float64(i.Mean))
	}
	return fmt.Sprintf("%.3g +- %.1g", float64(i.Mean), half)
}

// difference in percent of the baseline's cost; a star if the interval excludes zero.
func difference(d, own Interval) string {
	base := float64(own.Mean - d.Mean)
	percent := 100 * float64(d.Mean) / base
	if math.IsNaN(percent) {
		return "-"
	}
	star := ""
	if d.Low > 0 || d.High < 0 {
		star = " *"
	}
	return fmt.Sprintf("%+.1f %%%s", percent, star)
}
