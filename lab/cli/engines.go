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
	var part string
	c := &cobra.Command{
		Use:   "engines",
		Short: "Compare the fluid engine with the event engine",
		Long: `The fluid engine is for training, the event engine is the reference. This runs both
over a grid of steady states (load x size x demand x call graph x CPU model), over
transients, and over policies in scenes: those in which the fluid engine once failed, and
some drawn at random. It prints the errors of the fluid engine, the cells with the largest
ones, and whether both engines put the policies of a scene in the same order. All of it
takes some minutes, --quick less.`,
		Example: `  loadline-lab engines --quick
  loadline-lab engines --part scenes --drawn 20
  loadline-lab engines --output json > engines.json`,
		Args: cli.Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			switch part {
			case "all":
			case "grid":
				o.Parts = validate.GridOnly
			case "scenes":
				o.Parts = validate.ScenesOnly
			default:
				return fmt.Errorf("--part %q must be all, grid or scenes", part)
			}
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
			if o.Parts != validate.ScenesOnly {
				if err := printEngines(c.OutOrStdout(), r); err != nil {
					return err
				}
			}
			if o.Parts != validate.GridOnly {
				return printScenes(c.OutOrStdout(), r.Scenes)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&o.Quick, "quick", false, "one cell in 23 of the grid")
	c.Flags().Float64Var(&o.Requests, "requests", 50_000, "requests per cell in the event engine; more near saturation")
	c.Flags().IntVar(&o.Seeds, "seeds", 10, "runs of the event engine per transient")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of the first cell, and of the scenes that are drawn")
	c.Flags().StringVar(&part, "part", "all", "all, grid (steady states and transients) or scenes")
	c.Flags().IntVar(&o.Drawn, "drawn", 20, "scenes drawn at random")
	c.Flags().StringVar(&o.Only, "only", "", "only scenes whose name contains this")
	c.Flags().IntVar(&o.Runs, "runs", 3, "seeds of each policy of a scene")
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

func printScenes(w io.Writer, all []validate.SceneResult) error {
	fmt.Fprintln(w, "\nPolicies in scenes, means over the seeds:")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SCENE\tPOLICY\tOVER SLO event\tfluid\tPOINTS\tCOST event\tfluid\tERROR\tP99 event\tfluid\tERROR\t")
	for _, s := range all {
		for _, p := range s.Policies {
			mark := ""
			if !p.Within() {
				mark = "*"
			}
			fmt.Fprintf(t, "%s\t%s\t%.2f %%\t%.2f %%\t%+.1f\t%.3f\t%.3f\t%+.1f %%\t%.0f ms\t%.0f ms\t%+.0f %%\t%s\n", s.Scene, p.Policy,
				100*p.Event.OverSLO, 100*p.Fluid.OverSLO, 100*p.OverOff(), p.Event.Cost, p.Fluid.Cost, 100*p.CostOff(),
				p.Event.P99Ms, p.Fluid.P99Ms, 100*p.P99Off(), mark)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\n* more than 2 points over the SLO or 5 % of the cost off")
	fmt.Fprintln(t, "\nAGREEMENT\tALL\tKNOWN\tDRAWN\tREQUIRED")
	sums := []validate.ScenesSummary{
		validate.SummariseScenes(all, nil),
		validate.SummariseScenes(all, func(s validate.SceneResult) bool { return !s.Drawn }),
		validate.SummariseScenes(all, func(s validate.SceneResult) bool { return s.Drawn }),
	}
	row := func(what, asked string, of func(validate.ScenesSummary) string) {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", what, of(sums[0]), of(sums[1]), of(sums[2]), asked)
	}
	count := func(n, of int) string { return fmt.Sprintf("%d of %d", n, of) }
	row("over the SLO within 2 points", "", func(s validate.ScenesSummary) string { return count(s.OverWithin, s.Runs) })
	row("cost within 5 %", "", func(s validate.ScenesSummary) string { return count(s.CostWithin, s.Runs) })
	row("both", "9 of 10", func(s validate.ScenesSummary) string { return count(s.BothWithin, s.Runs) })
	row("both, of runs that meet the SLO", "", func(s validate.ScenesSummary) string { return count(s.MeetWithin, s.Meet) })
	row("the same verdict on the SLO", "", func(s validate.ScenesSummary) string { return count(s.SameVerdict, s.Runs) })
	row("over the SLO, median error in points", "", func(s validate.ScenesSummary) string { return fmt.Sprintf("%.2f", 100*s.OverMedian) })
	row("cost, median error", "", func(s validate.ScenesSummary) string { return cli.Percent(s.CostMedian) })
	row("p99, median error", "", func(s validate.ScenesSummary) string { return cli.Percent(s.P99Median) })
	row("pairs separated by the SLO, order kept", "", func(s validate.ScenesSummary) string { return count(s.PairsOverKept, s.PairsOver) })
	row("pairs separated by cost, order kept", "", func(s validate.ScenesSummary) string { return count(s.PairsCostKept, s.PairsCost) })
	row("pairs, order kept", "95 %", func(s validate.ScenesSummary) string { return cli.Percent(s.Kept()) })
	return t.Flush()
}
