package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/cli"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/lab/validate"
)

func newEngines() *cobra.Command {
	var o validate.EnginesOptions
	var output cli.Format
	c := &cobra.Command{
		Use:   "engines",
		Short: "Compare the fluid engine with the event engine",
		Long: `The fluid engine is for training, the event engine is the reference. This runs both
over a grid of steady states (load x size x demand x call graph x CPU model) and over
transients, and prints the errors of the fluid engine and the cells with the largest
ones. The whole grid takes some minutes, --quick some seconds.`,
		Example: `  loadline-lab engines --quick
  loadline-lab engines --output json > engines.json`,
		Args: cli.Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			bar := cli.NewProgress(c.ErrOrStderr(), "engines")
			o.Progress = func(done, of int) { bar.At(float64(done) / float64(of)) }
			r, err := validate.Engines(c.Context(), o)
			bar.Done()
			if err != nil {
				return err
			}
			if output.Structured() {
				return output.Encode(c.OutOrStdout(), r)
			}
			return printEngines(c.OutOrStdout(), r)
		},
	}
	c.Flags().BoolVar(&o.Quick, "quick", false, "one cell in 23 of the grid")
	c.Flags().Float64Var(&o.Requests, "requests", 50_000, "requests per cell in the event engine; more near saturation")
	c.Flags().IntVar(&o.Seeds, "seeds", 10, "runs of the event engine per transient")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of the first cell")
	output.Add(c.Flags())
	return c
}

func printEngines(w io.Writer, r validate.EnginesReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ERROR OF THE FLUID ENGINE\tALL\tQUOTA\tSHARED\tREQUIRED")
	all, quota, shared := r.Summarise(nil), r.Summarise(validate.OfModel(sim.Quota)), r.Summarise(validate.OfModel(sim.Shared))
	row := func(what, asked string, of func(validate.EnginesSummary) float64) {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", what, cli.Percent(of(all)), cli.Percent(of(quota)), cli.Percent(of(shared)), asked)
	}
	row("CPU, worst cell", "2 %", func(s validate.EnginesSummary) float64 { return s.CPUWorst })
	row("throughput in saturation, worst cell", "3 %", func(s validate.EnginesSummary) float64 { return s.SaturationWorst })
	row("mean latency, median cell", "", func(s validate.EnginesSummary) float64 { return s.MeanMedian })
	row("p99, median cell", "10 %", func(s validate.EnginesSummary) float64 { return s.P99Median })
	row("cells whose p99 is within 30 %, up to 90 % load", "95 %", func(s validate.EnginesSummary) float64 { return s.P99Within })
	row("transients: share over the SLO, median difference", "", func(s validate.EnginesSummary) float64 { return s.OverSLOMedian })
	row("transients: share over the SLO, largest difference", "", func(s validate.EnginesSummary) float64 { return s.OverSLOWorst })
	fmt.Fprintf(t, "cells\t%d\t%d\t%d\n", all.Cells, quota.Cells, shared.Cells)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nThe cells with the largest error of p99:")
	fmt.Fprintln(t, "CELL\tEVENT p99\tFLUID p99\tERROR\tEVENT mean\tFLUID mean")
	for _, c := range all.Worst {
		fmt.Fprintf(t, "%v\t%.1f ms\t%.1f ms\t%+.0f %%\t%.1f ms\t%.1f ms\n", c.Cell, c.Event.P99Ms, c.Fluid.P99Ms,
			100*(c.Fluid.P99Ms/c.Event.P99Ms-1), c.Event.MeanMs, c.Fluid.MeanMs)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nTransients, share of requests over an SLO of 250 ms:")
	fmt.Fprintln(t, "TRANSIENT\tCALL GRAPH\tCPU MODEL\tEVENT\tFLUID\tDIFFERENCE")
	for _, x := range r.Transients {
		model := "quota"
		if x.Transient.Cell.CPU == sim.Shared {
			model = "shared"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f %%\t%.2f %%\t%+.2f %%\n", x.Transient.Name, x.Transient.Cell.Shape.Name, model,
			100*x.Event, 100*x.Fluid, 100*(x.Fluid-x.Event))
	}
	return t.Flush()
}
