package cli

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/history"
)

type historyShowFlags struct {
	services []string
	since    time.Duration
	svg      string
	output   Format
}

func newHistoryShow() *cobra.Command {
	var f historyShowFlags
	c := &cobra.Command{
		Use:   "show DIR",
		Short: "Summarise a history and plot it",
		Long: `Prints for each service of a history the ranges of its metrics, the share of steps
with values, and the absent metrics with the consequence for a fit. Then it plots the
history in the terminal; --svg plots it to a file as well.`,
		Example: `  loadline history show past
  loadline history show past --service reviews --svg reviews.svg
  loadline history show past --since 1d
  loadline history show past --output json`,
		Args: Exactly("the folder of a history"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(args[0], c.OutOrStdout()) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.services, "service", nil, "show only this service; repeatable")
	spanVar(flags, &f.since, "since", 0, "show only so much of the end, such as 6h or 2d")
	f.output.Add(flags)
	flags.StringVar(&f.svg, "svg", "", "draw it to this file as well")
	return c
}

func (f *historyShowFlags) run(dir string, out io.Writer) error {
	if err := CheckWritable("svg", f.svg); err != nil {
		return err
	}
	h, err := history.Read(dir, history.Options{Services: f.services, Last: f.since})
	if err != nil {
		return err
	}
	if f.svg != "" {
		picture := historyFigure(h, f.services, 4).SVG()
		if err := atomicfile.Write(f.svg, func(w io.Writer) error { _, err := w.Write(picture); return err }); err != nil {
			return err
		}
	}
	sum := h.Summarise()
	if f.output.Structured() {
		return f.output.Encode(out, sum)
	}
	if err := printHistory(out, h, sum); err != nil {
		return err
	}
	width, colour := Screen(out)
	_, err = io.WriteString(out, "\n"+historyFigure(h, f.services, 2).Terminal(width, colour))
	return err
}

func printHistory(out io.Writer, h *history.History, sum history.Summary) error {
	fmt.Fprintf(out, "%s\n%s\n\n", h.Manifest.Source, historyLine(h))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SERVICE\tREQUESTS/S\tPRESENT\tCORES PER POD\tREPLICAS SEEN\tP99\tALSO ABSENT")
	for _, s := range sum.Services {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, spread(s.Metrics, history.Rate, plain),
			share(s.Metrics, history.Rate, sum.Steps),
			spreadOf(s.PerPod, plain), replicasSeen(s.Replicas), spread(s.Metrics, history.LatencyP99, seconds), absentList(s.Absent))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := printAutoscalers(out, h.Manifest.Autoscalers); err != nil {
		return err
	}
	if err := printAbsent(out, sum.Absent); err != nil {
		return err
	}
	for _, note := range h.Manifest.Notes {
		fmt.Fprintf(out, "note: %s\n", note)
	}
	return nil
}

// printAutoscalers lists what scales the services.
func printAutoscalers(out io.Writer, all []history.Autoscaler) error {
	if len(all) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nAUTOSCALER\tSERVICE\tREPLICAS\tTARGETS")
	for _, a := range all {
		var targets []string
		for _, target := range a.Targets {
			unit := map[string]string{history.Utilization: " %", history.AverageValue: " per pod"}[target.Type]
			targets = append(targets, fmt.Sprintf("%s %g%s", target.Metric, target.Value, unit))
		}
		fmt.Fprintf(t, "%s\t%s\t%d to %d\t%s\n", a.Name, a.Service, a.MinReplicas, a.MaxReplicas, strings.Join(targets, ", "))
	}
	return t.Flush()
}

// printAbsent lists the metrics that no service or no call has, by reason, mostly a single one.
func printAbsent(out io.Writer, absent []history.Absence) error {
	var reasons []string
	for _, a := range absent {
		if a.Cost != "" && !slices.Contains(reasons, a.Reason) {
			reasons = append(reasons, a.Reason)
		}
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, reason := range reasons {
		fmt.Fprintf(t, "\nAbsent for all, because %s:\n", reason)
		for _, a := range absent {
			if a.Cost != "" && a.Reason == reason {
				fmt.Fprintf(t, "  %s of %ss\t%s\n", a.Metric, a.Of, a.Cost)
			}
		}
	}
	return t.Flush()
}

func spread(metrics map[string]history.Range, m history.ServiceMetric, write func(float64) string) string {
	r, found := metrics[m.String()]
	if !found {
		return "absent"
	}
	return spreadOf(&r, write)
}

func spreadOf(r *history.Range, write func(float64) string) string {
	if r == nil {
		return "absent"
	}
	return write(r.Min) + " to " + write(r.Max)
}

func plain(v float64) string { return fmt.Sprintf("%.3g", v) }

// seconds in a readable unit.
func seconds(v float64) string {
	if v < 1 {
		return fmt.Sprintf("%.3g ms", 1000*v)
	}
	return fmt.Sprintf("%.3g s", v)
}

func share(metrics map[string]history.Range, m history.ServiceMetric, steps int) string {
	return Percent(float64(metrics[m.String()].Present) / float64(steps))
}

// replicasSeen is the range, and whether all counts in it occurred: the behaviour at a count
// that did not is a guess.
func replicasSeen(counts []int) string {
	switch n := len(counts); {
	case n == 0:
		return "absent"
	case n == 1:
		return fmt.Sprintf("%d only", counts[0])
	case counts[n-1]-counts[0] == n-1:
		return fmt.Sprintf("%d to %d", counts[0], counts[n-1])
	default:
		return fmt.Sprintf("%d to %d, %d counts", counts[0], counts[n-1], n)
	}
}

func absentList(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ", ")
}

// Percent of a share; "-" if it is not known.
func Percent(share float64) string {
	if math.IsNaN(share) {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}
