package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/cli"
	"github.com/loadline/loadline/internal/forecast"
)

func newForecast() *cobra.Command {
	c := &cobra.Command{
		Use:   "forecast",
		Short: "Evaluate forecasts of load",
		Example: `  loadline-lab forecast eval --workload day
  loadline-lab forecast eval --workload usage.csv.gz --step 1m --model gru,persistence,seasonal
  loadline-lab forecast capacity --workload requests.csv.gz --model analogs,boosting`,
		Args: cli.Subcommands,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newForecastEval(), newForecastCapacity())
	return c
}

// forecastEval are the settings of forecast eval.
type forecastEval struct {
	source     forecastSource
	models     []string
	horizons   []time.Duration
	season     time.Duration
	train      float64
	validation float64
	part       string
	refit      time.Duration
	seed       uint64
	gru        forecast.GRUConfig
	svg, story string
	save, log  string
	output     cli.Format
}

func newForecastEval() *cobra.Command {
	var e forecastEval
	c := &cobra.Command{
		Use:   "eval",
		Short: "Evaluate forecasts on a workload, step by step",
		Long: `Splits a workload by time into a training, a validation and a test part. Models are
trained on everything before the part that is scored and evaluated walk-forward: at
each step every model gets one more sample and makes a forecast. Models get no data
from the future and are scored on the same forecasts. Persistence and the seasonal
naive forecast are always included as baselines.

MSE is in the unit of the series (utilisation: 1 = 100 %); NMSE is normalised so that
the training data range from 0 to 1. INSIDE is the share of outcomes between the
outermost quantiles, 5 % and 95 %: 90 % is well calibrated. CLAIMED SKILL is a model's
own estimate in its last forecast: the share of the recent error of persistence that
it avoided; below 0 it is worse than persistence.

A CSV file with a time column t_s may have gaps: they are missing samples. Other trace
files with gaps need --gaps.`,
		Example: `  loadline-lab forecast eval --workload day
  loadline-lab forecast eval --workload usage.csv.gz --step 1m --svg errors.svg --story story.svg
  loadline-lab forecast eval --workload usage.csv.gz --column cpu_util_percent,mem_util_percent --model gru --save gru.safetensors
  loadline-lab forecast eval --workload usage.csv.gz --part validation --hidden 48 --window 60   choose settings`,
		Args: cli.Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := e.check(); err != nil {
				return err
			}
			return e.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().SortFlags = false
	e.addFlags(c)
	return c
}

func (e *forecastEval) addFlags(c *cobra.Command) {
	f := c.Flags()
	e.source.add(f)
	f.StringSliceVar(&e.models, "model", forecast.Names, "models, besides persistence and seasonal")
	f.DurationSliceVar(&e.horizons, "horizons", []time.Duration{5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute,
		25 * time.Minute}, "how far ahead")
	f.DurationVar(&e.season, "season", 24*time.Hour, "period after which the load repeats; 0 = none")
	f.Float64Var(&e.train, "train", 0.6, "share of the time for training")
	f.Float64Var(&e.validation, "validation", 0.2, "share of the time for validation; the rest is for the test")
	f.StringVar(&e.part, "part", "test", "part to score: test, or validation to choose settings")
	f.DurationVar(&e.refit, "refit", 0, "train again at this interval; 0 = never")
	f.Uint64Var(&e.seed, "seed", 1, "seed of all random numbers")
	f.IntVar(&e.gru.Window, "window", 0, "GRU: input steps (60)")
	f.IntVar(&e.gru.Hidden, "hidden", 0, "GRU: width (24)")
	f.IntVar(&e.gru.Members, "members", 0, "GRU: networks in the ensemble (5)")
	f.IntVar(&e.gru.Epochs, "epochs", 0, "GRU: maximum epochs (40)")
	f.Float64Var(&e.gru.Rate, "rate", 0, "GRU: learning rate (0.005)")
	f.Float64Var(&e.gru.Decay, "decay", 0, "GRU: weight decay (0.01)")
	f.StringVar(&e.svg, "svg", "", "draw the errors by horizon to this file as well")
	f.StringVar(&e.story, "story", "", "draw the forecasts over time to this file as well")
	f.StringVar(&e.save, "save", "", "write the trained GRU to this model file")
	f.StringVar(&e.log, "log", "", "write the GRU's learning curves to this CSV file: loss by network and pass")
	e.output.Add(f)
}

func (e *forecastEval) run(ctx context.Context, out, stderr io.Writer) error {
	frame, err := e.source.open(e.seed)
	if err != nil {
		return err
	}
	plan, err := e.plan(frame)
	if err != nil {
		return err
	}
	bar := cli.NewProgress(stderr, "forecast eval")
	result, err := e.walk(ctx, frame, plan, bar)
	bar.Done()
	if err != nil {
		return err
	}
	if err := e.writeFiles(result); err != nil {
		return err
	}
	if e.output.Structured() {
		return e.output.Encode(out, result)
	}
	return result.print(out)
}

// walk evaluates every model on the same part.
func (e *forecastEval) walk(ctx context.Context, frame forecast.Frame, plan forecast.Plan, bar *cli.Progress) (*evalResult, error) {
	r := &evalResult{
		Workload: e.source.name, Series: frame.Names, StepSeconds: frame.Step.Seconds(), Part: e.part, Seed: e.seed,
		History: plan.From, Tested: plan.To - plan.From, Missing: frame.Missing(), task: plan.Task, frame: frame, plan: plan,
	}
	// The GRU is the only slow one.
	weights := map[string]float64{"gru": 30}
	total, done := 0.0, 0.0
	weight := func(name string) float64 { return max(1, weights[name]) }
	for _, name := range e.models {
		total += weight(name)
	}
	for _, name := range e.models {
		share := func(of float64) { bar.At((done + of*weight(name)) / total) }
		model, trains, err := e.model(name, plan, share)
		if err != nil {
			return nil, err
		}
		plan.Progress = func(s float64) {
			if trains && e.refit == 0 {
				s = 0.9 + 0.1*s
			}
			share(s)
		}
		walk, err := forecast.WalkForward(ctx, frame, plan, model)
		if err != nil {
			return nil, fmt.Errorf("evaluate %s: %w", name, err)
		}
		r.walks = append(r.walks, walk)
		if gru, ok := model.(*forecast.GRU); ok {
			report := gru.Report()
			r.GRU, r.gru = &report, gru
		}
		done += weight(name)
	}
	var err error
	r.Models, err = forecast.Score(frame, plan, r.walks)
	return r, err
}

// model makes a model; the GRU reports the progress of its training.
func (e *forecastEval) model(name string, plan forecast.Plan, share func(float64)) (m forecast.Model, trains bool, err error) {
	if name != "gru" {
		m, err = forecast.New(name, plan.Task, e.seed)
		return m, false, err
	}
	config := e.gru
	config.Seed, config.Workers = e.seed, runtime.GOMAXPROCS(0)
	if e.refit == 0 {
		config.Progress = func(s, _ float64) { share(0.9 * s) }
	}
	m, err = forecast.NewGRU(plan.Task, config)
	return m, true, err
}
