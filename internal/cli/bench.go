package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/workload"
)

type benchFlags struct {
	workloadFlags
	suite                                         string
	apps, workloads, policies, perturbs           []string
	seeds                                         int
	out, baseline, engine, data, cpuModel, expect string
	slo                                           []string
	warmUp                                        time.Duration
	workers                                       int
	redo, listSuites                              bool
	training                                      bench.Training
}

func newBench() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench",
		Short: "Compare policies: each on each application, workload, perturbation and seed",
		Long: `Runs every policy on every application under every workload and perturbation,
once for each seed, in parallel over the cores, and writes what came of it to a
folder: runs/ with every run and its story, results.json and results.csv with
means, 95 % intervals, differences to a baseline seed by seed, and the cost
relative to the oracle's.

Every finished run is kept at once. Interrupted or killed, the same command goes
on where it was; what is there is not run again. Results of another version of
the program are refused, or made again with --redo.

A policy written NAME@calibrated is run with its best setting, found on other
data than it is run on: generated workloads drawn with other seeds, or the fifth
of a trace before the last, on which it is run then. oracle without a level
is searched for each run.

A policy written NAME@trained (` + strings.Join(policy.TrainableNames(), ", ") + `) is trained first, on other
draws of the workload or on the part of a trace before the one to calibrate on.
Each gets the same environment steps and the same settings to choose from, by one
reward; several models are trained with different seeds, and the runs use them in
turn. Models are kept in models/, and the report shows how they learned.

Perturbations:
` + perturbationHelp(),
		Example: `  # A named comparison; loadline report makes a page of it
  loadline bench --suite rivals --out out/rivals

  # Two settings of the HPA and the best one there is, on two applications, five seeds each
  loadline bench --app bookinfo --app boutique --workload bursts --peak 40 \
    --policy hpa --policy hpa:target=60 --policy hpa@calibrated --policy oracle --out out/hpa

  # How they take late metrics and a lost node, against nothing of the kind
  loadline bench --app boutique --workload day --duration 2h --policy hpa --policy kpa:target=4 \
    --perturbation none --perturbation late-4 --perturbation node-lost --out out/late

  # DRPC beside MSARS and the HPA, trained for this load first
  loadline bench --app bookinfo --workload bursts --peak 40 --duration 1h --train-steps 4000 \
    --policy hpa:target=75 --policy drpc@trained --policy msars@trained --out out/learned

  # A few policies of a suite only, with fewer seeds
  loadline bench --suite rivals --policy hpa --policy ursa --seeds 2 --out out/few`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if f.listSuites {
				return listSuites(c.OutOrStdout())
			}
			return f.run(c.Context(), c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.suite, "suite", "", "a named comparison: "+strings.Join(bench.SuiteNames(),
		", ")+"; lists given beside it replace its own")
	flags.BoolVar(&f.listSuites, "list-suites", false, "say what the suites compare, and end")
	flags.StringArrayVar(&f.apps, "app", nil, "name or file of an application; repeatable")
	flags.StringArrayVar(&f.workloads, "workload", nil, "name, generators or file of a workload; repeatable")
	flags.StringArrayVar(&f.policies, "policy", nil, "[LABEL: ]NAME[:key=value,...] NAME@calibrated or NAME@trained; repeatable")
	flags.StringArrayVar(&f.perturbs, "perturbation", nil, "what goes wrong: "+strings.Join(bench.PerturbationNames(),
		", ")+"; repeatable")
	flags.IntVar(&f.seeds, "seeds", 5, "runs of each, from --seed on")
	flags.StringVar(&f.out, "out", "", "folder for the runs and the results")
	flags.StringVar(&f.baseline, "baseline", "", "label of the policy that differences are taken against (the first)")
	flags.StringVar(&f.engine, "engine", simulate.Engines()[0], "one of "+strings.Join(simulate.Engines(), ", "))
	flags.StringVar(&f.data, "data", "../shared/data", "folder of the public traces that suites use")
	flags.IntVar(&f.workers, "workers", 0, "runs at once; 0 = one for each core")
	flags.BoolVar(&f.redo, "redo", false, "make again what another version of the program made")
	flags.IntVar(&f.training.Steps, "train-steps", bench.DefaultTrainingSteps, "environment steps of each training")
	flags.IntVar(&f.training.Models, "train-models", 3, "models of each policy that is trained, at most one for each run")
	flags.StringVar(&f.expect, "expect", "", "fail if the figures differ from those of this results.json")
	f.add(flags)
	flags.StringArrayVar(&f.slo, "slo", nil, "instead of the apps': 250ms, p99=250ms or KIND:p99=250ms; repeatable")
	flags.DurationVar(&f.warmUp, "warm-up", 0, "leave the first part out of latency and SLO figures")
	flags.StringVar(&f.cpuModel, "cpu-model", "quota", "how a CPU limit holds: quota (the kernel's periods) or shared (an ideal)")
	return c
}

func perturbationHelp() string {
	var b strings.Builder
	for _, p := range bench.Perturbations() {
		fmt.Fprintf(&b, "  %-12s %s\n", p.Name, p.About)
	}
	return b.String()
}

func listSuites(w io.Writer) error {
	for _, s := range bench.Suites() {
		if _, err := fmt.Fprintf(w, "%s\n  %s\n", s.Name, s.About); err != nil {
			return err
		}
	}
	return nil
}

func (f *benchFlags) run(ctx context.Context, flags *pflag.FlagSet, stdout, stderr io.Writer) error {
	matrix, err := f.matrix(flags)
	if err != nil {
		return err
	}
	if f.out == "" {
		return usagef("--out must name a folder for the runs and the results")
	}
	var want *bench.Results
	if f.expect != "" {
		if want, err = bench.ReadResults(f.expect); err != nil {
			return err
		}
	}
	if _, err := matrix.Check(f.data); err != nil {
		return usageError{err}
	}
	results, err := f.compare(ctx, matrix, stderr)
	if err != nil {
		return err
	}
	if err := results.WriteText(stdout); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "Results: %s and %s\n", filepath.Join(f.out, bench.ResultsJSON), filepath.Join(f.out, bench.ResultsCSV))
	if want == nil {
		return nil
	}
	if drift := bench.Drift(want, results); len(drift) > 0 {
		return fmt.Errorf("%d figures differ from %s:\n  %s", len(drift), f.expect, strings.Join(drift, "\n  "))
	}
	return nil
}

func (f *benchFlags) compare(ctx context.Context, matrix bench.Matrix, stderr io.Writer) (*bench.Results, error) {
	bar := newProgress(stderr, "bench")
	defer bar.done()
	results, err := bench.Run(ctx, matrix, bench.Options{
		Dir: f.out, Program: program(), Data: f.data, Workers: f.workers, Redo: f.redo, CPUTime: threadCPUTime,
		Progress: func(p bench.Progress) { bar.at(p.Share) },
		Log:      func(line string) { fmt.Fprintln(stderr, line) },
	})
	var other *bench.OtherVersionError
	if errors.As(err, &other) {
		return nil, fmt.Errorf("%w: choose another --out, or make it again with --redo", err)
	}
	return results, err
}

// matrix that the flags ask for: the suite's, or a new one, with what was given.
func (f *benchFlags) matrix(flags *pflag.FlagSet) (bench.Matrix, error) {
	var m bench.Matrix
	var err error
	if f.suite != "" {
		if m, err = bench.SuiteNamed(f.suite); err != nil {
			return m, usageError{err}
		}
	}
	given := func(name string) bool { return f.suite == "" || flags.Changed(name) }
	if given("seeds") {
		m.Seeds = f.seeds
	}
	if given("engine") {
		m.Engine = f.engine
	}
	m.Training = f.training
	if given("warm-up") {
		m.WarmUp = f.warmUp
	}
	m.FirstSeed = f.options.Seed
	models := map[string]sim.CPUModel{"quota": sim.Quota, "shared": sim.Shared}
	cpu, known := models[f.cpuModel]
	if !known {
		return m, usagef("unknown --cpu-model %q%s", f.cpuModel, suggest.Hint(f.cpuModel, []string{"quota", "shared"}))
	}
	m.CPU = cpu
	if len(f.perturbs) > 0 {
		m.Perturbations = f.perturbs
	}
	if len(f.policies) > 0 {
		m.Policies, m.Baseline = nil, ""
		for _, p := range f.policies {
			m.Policies = append(m.Policies, bench.ParsePolicy(p))
		}
	}
	if f.baseline != "" {
		m.Baseline = f.baseline
	}
	return m, errors.Join(f.chooseApps(&m), f.chooseWorkloads(&m, flags))
}

func (f *benchFlags) chooseApps(m *bench.Matrix) error {
	if len(f.apps) > 0 {
		m.Apps = nil
	}
	for _, name := range f.apps {
		model, err := loadApp(name)
		if err != nil {
			return err
		}
		m.Apps = append(m.Apps, bench.App{Name: model.App.Name, Model: model.App})
	}
	for _, a := range m.Apps {
		if err := overrideSLOs(a.Model, f.slo); err != nil {
			return usageError{fmt.Errorf("%s: %w", a.Name, err)}
		}
	}
	return nil
}

func (f *benchFlags) chooseWorkloads(m *bench.Matrix, flags *pflag.FlagSet) error {
	options, err := f.workloadOptions()
	if err != nil {
		return err
	}
	if len(f.workloads) > 0 {
		m.Workloads = nil
	}
	for _, w := range f.workloads {
		m.Workloads = append(m.Workloads, bench.Workload{Name: w, Spec: w, Options: options})
	}
	if len(f.workloads) == 0 && flags.Changed("duration") {
		for i := range m.Workloads {
			m.Workloads[i] = m.Workloads[i].Shorter(options.Duration)
		}
	}
	return nil
}

// workloadOptions of the flags that all verbs share.
func (f *workloadFlags) workloadOptions() (workload.Options, error) {
	o := f.options
	o.Combine, o.Gaps = workload.Combine(f.combine), workload.Gaps(f.gaps)
	if f.rpsAtFull != 0 && f.profile != "" {
		return o, usagef("--rps-at-full and --profile exclude each other")
	}
	var err error
	switch {
	case f.rpsAtFull != 0:
		o.Profile, err = workload.ProportionalProfile(f.rpsAtFull)
	case f.profile != "":
		o.Profile, err = readProfile(f.profile)
	}
	return o, err
}

// program names this build, so that results of another one are recognised. One
// that was not built from a commit as it stands is named by its content as well.
func program() string {
	name := "loadline " + version + revision()
	code, err := bench.CodeVersion()
	if digest, modified := strings.CutPrefix(code, "program "); err == nil && modified {
		return name + " modified " + digest
	}
	return name
}

// interruption is what to say when somebody pressed Ctrl-C: a bench keeps what is
// finished, a training how far it was.
func interruption(err error) string {
	var kept *bench.Interrupted
	if errors.As(err, &kept) {
		return kept.Error()
	}
	var resumable *interruptedError
	if errors.As(err, &resumable) {
		return resumable.Error()
	}
	return "interrupted; nothing was written"
}
