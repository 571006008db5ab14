package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/cli"
	"github.com/loadline/loadline/internal/workload"
	"github.com/loadline/loadline/lab/capacity"
)

// forecastCapacity are the settings of forecast capacity.
type forecastCapacity struct {
	series, models []string
	data, workload string
	until          time.Duration
	output         cli.Format
}

func newForecastCapacity() *cobra.Command {
	var e forecastCapacity
	c := &cobra.Command{
		Use:   "capacity",
		Short: "Compare forecasts by the capacity that they call for",
		Long: `Forecasts the largest load within lead times, every 15 s, as the planner does, and
scores the last 30 % of a trace, or two days of a generated load after seven days of
other draws. Models see the bins in turn. Loads are scaled to a peak of 400 requests/s.

LOSS is the pinball loss at a quantile of 99.33 %, in % of the load; COVERED the share of
forecasts at that quantile that were not exceeded. COST is the mean capacity over the
mean load where 0.2 % and 1 % of the load came in excess, by hindsight: with one quantile
at all moments, and (SHARE) with one expected share in excess at all moments. HELD and
EXCESS are what came of a share of 0.2 % without hindsight.`,
		Example: `  loadline-lab forecast capacity --series bursty,flash --model planner,analogs
  loadline-lab forecast capacity --data traces --series nasa-jul
  loadline-lab forecast capacity --workload requests.csv.gz --until 300h`,
		Args: cli.Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return e.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringSliceVar(&e.series, "series", capacity.Known(), "known series: public traces, and the generated loads of the suite bar")
	f.StringVar(&e.data, "data", "data", "folder of the public traces")
	f.StringVar(&e.workload, "workload", "", "a file of requests instead")
	cli.LengthVar(f, &e.until, "until", "with --workload: leave out what is later")
	f.StringSliceVar(&e.models, "model", capacity.Models, "models")
	e.output.Add(f)
	return c
}

func (e *forecastCapacity) run(ctx context.Context, out, stderr io.Writer) error {
	if err := capacity.CheckModels(e.models); err != nil {
		return cli.UsageError(err)
	}
	names := e.series
	if e.workload != "" {
		names = []string{e.workload}
	}
	bar := cli.NewProgress(stderr, "forecast capacity")
	var all []capacity.Score
	for i, name := range names {
		s, err := e.open(name)
		if err == nil {
			var scores []capacity.Score
			scores, err = capacity.Run(ctx, s, e.models, func(share float64) { bar.At((float64(i) + share) / float64(len(names))) })
			all = append(all, scores...)
		}
		if err != nil {
			bar.Done()
			return err
		}
	}
	bar.Done()
	if e.output.Structured() {
		return e.output.Encode(out, all)
	}
	return printCapacity(out, all)
}

func (e *forecastCapacity) open(name string) (*capacity.Series, error) {
	if e.workload == "" {
		s, err := capacity.Open(name, e.data)
		if err != nil {
			return nil, cli.UsageError(err)
		}
		return s, nil
	}
	w, _, err := workload.ReadFile(name, workload.Options{})
	if err != nil {
		return nil, err
	}
	return capacity.Trace(name, w, e.until)
}

func printCapacity(out io.Writer, all []capacity.Score) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SERIES\tLEAD\tMODEL\tLOSS\tCOVERED\tCOST 0.2 %\tCOST 1 %\tSHARE 0.2 %\tSHARE 1 %\tHELD\tEXCESS\tFORECASTS")
	ratio := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf("%.3f", *v)
	}
	for _, s := range all {
		fmt.Fprintf(t, "%s\t%v\t%s\t%.3f\t%s\t%s\t%s\t%s\t%s\t%.3f\t%.3f %%\t%d\n", s.Series, time.Duration(math.Round(s.LeadSeconds))*time.Second,
			s.Model, s.Loss, cli.Percent(s.Covered), ratio(s.ByQuantile[0]), ratio(s.ByQuantile[1]), ratio(s.ByShare[0]), ratio(s.ByShare[1]),
			s.Held, 100*s.Excess, s.Forecasts)
	}
	return t.Flush()
}
