package cli

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/loadline/loadline/internal/twin"
)

// matters is the change of the share of requests over the SLO, or of the cost, from which on a
// figure should be measured.
const (
	mattersOver = 0.005
	mattersCost = 0.05
)

// mostRanges is how many ranges are printed.
const mostRanges = 12

// printRanges prints the nodes and neighbours that the history shows, and what it leaves open,
// with the effect of each figure on held-out history: the largest first.
func printRanges(w io.Writer, tab *tabwriter.Writer, t *twin.Twin) error {
	if c := &t.Report.Cluster; c.Nodes > 0 {
		fmt.Fprintf(w, "\nNodes: pods were on %s at once at most, usually of %g cores and %d GiB for pods.", count(c.Nodes, "node",
			"nodes"), c.Cores, c.Memory>>30)
		if c.Neighbours {
			fmt.Fprintf(w, " Others use %s of their cores\n(%s in the busiest twentieth of the time), request %s, and use %s of the memory.",
				missPercent(c.Use), missPercent(c.Busiest), missPercent(c.Request), missPercent(c.Memories))
		}
		fmt.Fprintln(w)
	}
	if len(t.Ranges) == 0 {
		return nil
	}
	list := slices.Clone(t.Ranges)
	slices.SortStableFunc(list, func(a, b twin.Range) int { return cmp.Compare(swing(b), swing(a)) })
	fmt.Fprintf(w, "\nNot determined by the history, with the effect on held-out history at the low, likely and high end:\n\n")
	fmt.Fprintln(tab, "FIGURE\tLOW\tLIKELY\tHIGH\tOVER SLO\tCORES\t\tBECAUSE")
	for _, r := range list[:min(len(list), mostRanges)] {
		name := string(r.Figure)
		if r.Service != "" {
			name = r.Service + " " + name
		}
		over, cores, advice := "-", "-", ""
		if r.AtLow != nil {
			over = fmt.Sprintf("%s .. %s .. %s", overPercent(r.AtLow.OverSLO), overPercent(r.AtLikely.OverSLO), overPercent(r.AtHigh.OverSLO))
			cores = fmt.Sprintf("%.3g .. %.3g .. %.3g", float64(r.AtLow.Cores), float64(r.AtLikely.Cores), float64(r.AtHigh.Cores))
			if swing(r) >= 1 {
				advice = "measure it"
			}
		}
		fmt.Fprintf(tab, "%s\t%g\t%g\t%g\t%s\t%s\t%s\t%s\n", name, r.Low, r.Likely, r.High, over, cores, advice, r.Source)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	if rest := len(list) - mostRanges; rest > 0 {
		fmt.Fprintf(w, "and %d more with less effect (--output json has all)\n", rest)
	}
	return nil
}

// swing is the effect of a range, 1 where it begins to matter.
func swing(r twin.Range) float64 {
	if r.AtLow == nil || r.AtLikely == nil || r.AtHigh == nil {
		return 0
	}
	most := 0.0
	for _, e := range []*twin.Effect{r.AtLow, r.AtHigh} {
		over := math.Abs(float64(e.OverSLO-r.AtLikely.OverSLO)) / mattersOver
		cost := math.Abs(float64(e.Cores/r.AtLikely.Cores)-1) / mattersCost
		for _, v := range []float64{over, cost} {
			if v > most { // NaN is no effect
				most = v
			}
		}
	}
	return most
}

// overPercent writes a share of requests with the digits that small ones need.
func overPercent(n twin.Number) string {
	v := 100 * float64(n)
	switch {
	case math.IsNaN(v):
		return "-"
	case v < 1:
		return fmt.Sprintf("%.2f %%", v)
	}
	return missPercent(n)
}
