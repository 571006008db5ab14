package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/slosplit"
	"github.com/loadline/loadline/internal/slosplit/learned"
	"github.com/loadline/loadline/internal/suggest"
)

type sloTrainFlags struct {
	way, out        string
	output          Format
	seed            uint64
	samples, verify int
	steps, parallel int
	firstOrder      bool
}

func newSLOTrain() *cobra.Command {
	var f sloTrainFlags
	c := &cobra.Command{
		Use:   "train",
		Short: "Train a network that splits SLOs, for slo split",
		Long: `Trains a network on Sock Shop in ten releases and its five main chains, with sizes of
instances, loads and SLOs drawn at random. The labels are parslo's splits, at budgets
that are verified in the event engine.

Ways:
  meta  a graph network whose weights are found by MAML: a few steps of gradient
        descent adapt it to a new chain
  gcn   a graph network, trained until it has converged
  fnn   a plain network, trained until it has converged; it does not use the edges

It is evaluated on held-out releases. Profiles and labels
take most of the time, about a minute on two quiet cores; the same seed gives the same
model.`,
		Example: `  loadline slo train --out split.safetensors
  loadline slo train --way gcn --out gcn.safetensors --seed 7
  loadline slo split --app bookinfo --model split.safetensors`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.way, "way", learned.Ways()[0], "one of "+strings.Join(learned.Ways(), ", "))
	OutVar(flags, &f.out, "write the model to this file")
	flags.Uint64Var(&f.seed, "seed", 1, "of the data and of the weights")
	flags.IntVar(&f.samples, "samples", 30, "of each task; 70 % for training, the rest for the test")
	flags.IntVar(&f.verify, "verify", 1, "samples of each chain of a release that are measured in the event engine")
	flags.IntVar(&f.steps, "steps", 0, "of training at most; default: until it has converged")
	flags.BoolVar(&f.firstOrder, "first-order", false, "of meta: leave out the second order, which is quicker")
	flags.IntVar(&f.parallel, "parallel", runtime.GOMAXPROCS(0), "tasks at a time; the model does not depend on it")
	f.output.Add(flags)
	return c
}

func (f *sloTrainFlags) check() error {
	var faults []error
	if !slices.Contains(learned.Ways(), f.way) {
		faults = append(faults, Usagef("--way: unknown way to learn a split %q%s", f.way, suggest.Hint(f.way, learned.Ways())))
	}
	if f.samples < 4 {
		faults = append(faults, Usagef("--samples %d must be at least 4, for training and test", f.samples))
	}
	if f.verify < 0 {
		faults = append(faults, Usagef("--verify %d must be 0 or more", f.verify))
	}
	if f.steps < 0 {
		faults = append(faults, Usagef("--steps %d must be 0 or more", f.steps))
	}
	if f.parallel < 1 {
		faults = append(faults, Usagef("--parallel %d must be at least 1", f.parallel))
	}
	if f.firstOrder && f.way != "meta" {
		faults = append(faults, Usagef("--first-order is of meta, not of %s", f.way))
	}
	return errors.Join(append(faults, CheckWritable("out", f.out))...)
}

// sloTrained is the result of a training.
type sloTrained struct {
	Way        string              `json:"way"`
	Tasks      int                 `json:"tasks"`
	Verified   int                 `json:"verified_samples"`
	Runs       int                 `json:"verifying_runs"`
	Factor     float64             `json:"budget_over_slo"` // on the mean over the tasks
	Steps      int                 `json:"steps"`
	AsItIs     learned.Evaluation  `json:"as_it_is"`
	Adapted    *learned.Evaluation `json:"adapted,omitempty"`
	AdaptSteps int                 `json:"adapt_steps,omitempty"`
	Data       time.Duration       `json:"-"`
	Training   time.Duration       `json:"-"`

	model *learned.Model
}

func (f *sloTrainFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	t, err := f.train(ctx, stderr)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := t.model.Write(f.out); err != nil {
			return err
		}
	}
	if f.output.Structured() {
		return f.output.Encode(stdout, t)
	}
	return f.print(stdout, t)
}

func (f *sloTrainFlags) train(ctx context.Context, stderr io.Writer) (*sloTrained, error) {
	began := time.Now()
	verify := f.verify
	if verify == 0 {
		verify = -1
	}
	bar := NewProgress(stderr, "profiles and labels")
	data, err := learned.ShopData(ctx, f.way, learned.DataConfig{Seed: f.seed, Samples: f.samples, Verify: verify, Workers: f.parallel},
		bar.At)
	bar.Done()
	if err != nil {
		return nil, err
	}
	t := &sloTrained{Way: f.way, Tasks: len(data.Train), Data: time.Since(began)}
	for _, task := range data.Train {
		t.Verified += task.Verified
		t.Runs += task.Runs
		t.Factor += task.Factor / float64(len(data.Train))
	}
	began = time.Now()
	bar = NewProgress(stderr, "training "+f.way)
	model, marks, err := learned.Train(ctx, data.Train, data.Validation,
		learned.Config{Way: f.way, Seed: f.seed, Most: f.steps, FirstOrder: f.firstOrder, Workers: f.parallel}, bar.At)
	bar.Done()
	if err != nil {
		return nil, fmt.Errorf("train %s: %w", f.way, err)
	}
	t.Training, t.Steps, t.model = time.Since(began), marks[len(marks)-2].Step, model
	if t.AsItIs, err = learned.Evaluate(model, data.Test, 0); err != nil {
		return nil, err
	}
	last := t.AsItIs
	if f.way == "meta" {
		t.AdaptSteps = model.Settings.Steps
		adapted, err := learned.Evaluate(model, data.Test, t.AdaptSteps)
		if err != nil {
			return nil, err
		}
		t.Adapted, last = &adapted, adapted
	}
	model.Training.Data = fmt.Sprintf("sockshop in %d releases, %d tasks", learned.ShopReleases, len(data.Train))
	on := fmt.Sprintf("%d samples of held-out releases", last.Samples)
	model.Results = []modelfile.Result{
		{Name: "part of the slack misplaced", On: on, Value: last.Misplaced},
		{Name: "cost", On: on, Value: last.Cost, Baseline: "parslo", Against: 1},
	}
	return t, nil
}

func (f *sloTrainFlags) print(w io.Writer, t *sloTrained) error {
	fmt.Fprintf(w, "%s, %s of sockshop in %d releases; data %v, training %v (%s)\n", t.Way, count(t.Tasks, "task", "tasks"),
		learned.ShopReleases, t.Data.Round(time.Second/10), t.Training.Round(time.Second/10), count(t.Steps, "step", "steps"))
	if t.Verified > 0 {
		fmt.Fprintf(w, "%s verified in the event engine in %s: budgets of %.2f times the SLO are met, on the mean\n",
			count(t.Verified, "label", "labels"), count(t.Runs, "run", "runs"), t.Factor)
	}
	fmt.Fprintf(w, "\nOn %d samples of held-out releases:\n\n", t.AsItIs.Samples)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "\tMISPLACED\tCOST OVER PARSLO\tAT WORST")
	row := func(name string, j learned.Evaluation) {
		fmt.Fprintf(tab, "%s\t%.1f %%\t%.3f\t%.2f\n", name, 100*j.Misplaced, j.Cost, j.Worst)
	}
	row("as it is", t.AsItIs)
	if t.Adapted != nil {
		row(fmt.Sprintf("after %s", count(t.AdaptSteps, "step", "steps")), *t.Adapted)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nMisplaced is the share of the divisible budget that went to the wrong service. Costs\n"+
		"are of whole instances by the profiles alone, before slo split adjusts them.")
	if f.out != "" {
		fmt.Fprintf(w, "\nThe model is in %s: loadline slo split --model %s\n", f.out, f.out)
	}
	return nil
}

// trainInPlace trains a splitter for users without a model.
func trainInPlace(ctx context.Context, way string, stderr io.Writer) (slosplit.Splitter, error) {
	fmt.Fprintf(stderr, "no --model: training %s; keep one with loadline slo train --way %s --out FILE\n", way, way)
	f := sloTrainFlags{way: way, seed: 1, samples: 30, verify: 1, parallel: runtime.GOMAXPROCS(0)}
	t, err := f.train(ctx, stderr)
	if err != nil {
		return nil, err
	}
	return learnedSplitter(t.model), nil
}

// learnedSplitter of a model: meta adapts to each chain.
func learnedSplitter(m *learned.Model) slosplit.Splitter {
	if m.Way == "meta" {
		return learned.NewAdaptive(m)
	}
	return m
}
