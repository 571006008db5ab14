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
	"github.com/loadline/loadline/internal/jobs"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

type benchFlags struct {
	workloadFlags
	nodes                                         poolFlags
	suite                                         string
	apps, workloads, policies, perturbs, scenes   []string
	seeds                                         int
	out, baseline, engine, data, cpuModel, expect string
	slo                                           []string
	warmUp                                        time.Duration
	workers                                       int
	redo, listSuites, plan                        bool
	training                                      bench.Training
	output                                        Format
	on                                            OnFlags
}

func newBench() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench",
		Short: "Compare policies: each in each scene and on each seed",
		Long: `Runs every policy on every application under every workload and perturbation,
once for each seed, in parallel over the cores, and writes the results to a folder:
runs/ with every run and its time series, results.json and results.csv with means,
95 % intervals, differences to a baseline seed by seed, and the gaps to the oracle and
to a lower bound on the bill. A bill below the bound is marked with an exclamation mark.

Every finished run is saved immediately. If it is interrupted or killed, the same
command resumes; finished runs are not repeated. Results of another version of the
program are refused, or repeated with --redo.

With --on kubernetes the pods of an Indexed Job do the work and the results are fetched:
the same figures, from the same build of the program. If it is interrupted, the same
command finds the Job again. With --shard I/N several processes share the folder.

A policy written NAME@calibrated runs with its best setting, found on other data than
it runs on: generated workloads drawn with other seeds, or the fourth fifth of a
trace, of which the last fifth is held out for the run. NAME@calibrated-once has one
setting for all applications and workloads of the comparison. For the oracle without a
level, a schedule of replicas, requests and limits is searched after all other runs, and
starts from what they did: nothing that ran in a scene with the SLO met is cheaper. With
a level, oracle:level=0.5 follows a plan that is computed from the load.

A policy written NAME@trained (` + strings.Join(policy.TrainableNames(), ", ") + `) is trained first, on other
draws of the workload or on the part of a trace before the one to calibrate on.
Each gets the same number of environment steps and the same settings to choose from,
by the same reward; several models are trained with different seeds, and the runs use
them in turn. Models are saved in models/, and the report shows their learning curves.

planner@warm starts with a history: seven days of other draws of the workload, or the
seven days of a trace before the run. With planner:history=DIR it is one of yours.

NAME@guarded runs behind the guards as in a LoadLine, with HPA as the fallback rule, and
reads metrics from Prometheus. With NAME@brownout the guards may also turn off optional
services: their dropped calls count, at their price, as requests over the SLO.

Perturbations:
` + perturbationHelp(),
		Example: `  # A named comparison; loadline report renders it
  loadline bench --suite rivals --out out/rivals

  # Two settings of the HPA and its best one, on two applications, five seeds each
  loadline bench --app bookinfo --app boutique --workload bursts --peak 40 \
    --policy hpa --policy hpa:target=60 --policy hpa@calibrated --policy oracle --out out/hpa

  # Late metrics and a lost node, compared with runs without perturbation
  loadline bench --app boutique --workload day --duration 2h --policy hpa --policy kpa:target=4 \
    --perturbation none --perturbation late-4 --perturbation node-lost --out out/late

  # DRPC, MSARS and the HPA; the learned ones are trained for this load first
  loadline bench --app bookinfo --workload bursts --peak 40 --duration 1h --train-steps 4000 \
    --policy hpa:target=75 --policy drpc@trained --policy msars@trained --out out/learned

  # Ten times the load on a pool of 4-core nodes with other tenants, at prices of your own
  loadline bench --app boutique --app-scale 10 --workload bursts --peak 400 --duration 1h --policy hpa --policy ursa \
    --pool eks-4 --neighbours use=0.7,request=0.5 --prices m5.xlarge=0.11 --out out/pool

  # What a suite runs and how long it takes; then one of its scenes
  loadline bench --suite scale --plan
  loadline bench --suite scale --scene 'boutique x10 bursty' --policy hpa --policy sre --out out/scene

  # On a cluster: eight pods divide the runs, and the results come here
  loadline bench --suite rivals --out out/rivals --on kubernetes --on-workers 8 --on-namespace lab

  # A few policies of a suite only, with fewer seeds
  loadline bench --suite rivals --policy hpa --policy ursa --seeds 2 --out out/few`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if f.listSuites {
				return f.listSuiteNames(c.OutOrStdout())
			}
			return f.run(c.Context(), c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.suite, "suite", "", "a named comparison: "+strings.Join(bench.SuiteNames(),
		", ")+"; other lists on the command line replace its own")
	flags.BoolVar(&f.listSuites, "list-suites", false, "list the suites and what they compare, and exit")
	flags.StringArrayVar(&f.apps, "app", nil, "name or file of an application; repeatable")
	flags.StringArrayVar(&f.workloads, "workload", nil, "name, generators or file of a workload; repeatable")
	flags.StringArrayVar(&f.policies, "policy", nil,
		"[LABEL: ]NAME[:key=value,...] NAME@calibrated, NAME@calibrated-once, NAME@trained, planner@warm, NAME@guarded or NAME@brownout; repeatable")
	flags.StringArrayVar(&f.scenes, "scene", nil,
		"only the scenes of the suite that have all of these words in their name: 'x10 70%'; repeatable")
	flags.StringArrayVar(&f.perturbs, "perturbation", nil, "perturbations to run with: "+strings.Join(bench.PerturbationNames(),
		", ")+"; repeatable")
	flags.IntVar(&f.seeds, "seeds", 5, "runs of each case, with seeds from --seed on")
	OutVar(flags, &f.out, "folder for the runs and the results")
	f.output.Add(flags, "csv", "markdown")
	flags.StringVar(&f.baseline, "baseline", "", "label of the policy to compare with (the first)")
	flags.StringVar(&f.engine, "engine", simulate.Engines()[0], "one of "+strings.Join(simulate.Engines(), ", "))
	flags.StringVar(&f.data, "data", "../shared/data", "folder of the public traces that suites use")
	flags.IntVar(&f.workers, "workers", 0, "parallel runs; 0 = one per core")
	flags.BoolVar(&f.plan, "plan", false, "list the scenes with the estimated work, and exit")
	flags.BoolVar(&f.redo, "redo", false, "repeat runs of another version of the program")
	flags.IntVar(&f.training.Steps, "train-steps", bench.DefaultTrainingSteps, "environment steps of each training")
	flags.IntVar(&f.training.Models, "train-models", 3, "models to train of each policy, at most one per run")
	flags.StringVar(&f.expect, "expect", "", "fail if the figures differ from those of this results.json")
	f.add(flags)
	f.nodes.add(flags)
	flags.StringArrayVar(&f.slo, "slo", nil, "instead of the apps': 250ms, p99=250ms or KIND:p99=250ms; repeatable")
	flags.DurationVar(&f.warmUp, "warm-up", 0, "exclude this first part from latency and SLO figures")
	flags.StringVar(&f.cpuModel, "cpu-model", "quota", "how a CPU limit holds: quota (the kernel's periods) or shared (an ideal)")
	f.on.Add(flags)
	return c
}

func perturbationHelp() string {
	var b strings.Builder
	for _, p := range bench.Perturbations() {
		fmt.Fprintf(&b, "  %-12s %s\n", p.Name, p.About)
	}
	return b.String()
}

func (f *benchFlags) listSuiteNames(w io.Writer) error {
	type entry struct {
		Name  string `json:"name"`
		About string `json:"about"`
	}
	var entries []entry
	for _, s := range bench.Suites() {
		entries = append(entries, entry{s.Name, s.About})
	}
	return f.output.Write(w, entries, func(w io.Writer) error {
		for _, e := range entries {
			if _, err := fmt.Fprintf(w, "%s\n  %s\n", e.Name, e.About); err != nil {
				return err
			}
		}
		return nil
	})
}

// print writes the results in the chosen format.
func (f *benchFlags) print(w io.Writer, r *bench.Results) error {
	return f.output.Write(w, r, func(w io.Writer) error {
		switch f.output.String() {
		case "csv":
			return r.WriteCSV(w)
		case "markdown":
			return r.WriteMarkdown(w)
		}
		if err := r.WriteText(w); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "Results: %s and %s\n", filepath.Join(f.out, bench.ResultsJSON), filepath.Join(f.out, bench.ResultsCSV))
		return err
	})
}

func (f *benchFlags) run(ctx context.Context, flags *pflag.FlagSet, stdout, stderr io.Writer) error {
	matrix, err := f.matrix(flags)
	if err != nil {
		return err
	}
	if f.plan {
		plan, err := matrix.Plan(f.data)
		if err != nil {
			return UsageError(err)
		}
		return f.output.Write(stdout, plan, plan.WriteText)
	}
	if err := f.on.Check(); err != nil {
		return err
	}
	if f.out == "" {
		return Usagef("--out must name a folder for the runs and the results")
	}
	var want *bench.Results
	if f.expect != "" {
		if want, err = bench.ReadResults(f.expect); err != nil {
			return err
		}
	}
	if _, err := matrix.Check(f.data); err != nil {
		return UsageError(err)
	}
	lock, err := f.on.Lock(f.out)
	if err != nil {
		return err
	}
	defer lock.Close()
	if f.on.Elsewhere() {
		if err := f.elsewhere(ctx, flags, matrix, stderr); err != nil {
			return err
		}
	}
	results, err := f.compare(ctx, matrix, stderr)
	if err != nil || f.on.Shared() {
		return err
	}
	if err := f.print(stdout, results); err != nil {
		return err
	}
	if want == nil {
		return nil
	}
	if drift := bench.Drift(want, results); len(drift) > 0 {
		return fmt.Errorf("%d figures differ from %s:\n  %s", len(drift), f.expect, strings.Join(drift, "\n  "))
	}
	return nil
}

// elsewhere runs the comparison on a cluster.
func (f *benchFlags) elsewhere(ctx context.Context, flags *pflag.FlagSet, matrix bench.Matrix, stderr io.Writer) error {
	results := []jobs.Path{{Here: f.out, There: "job-results"}}
	e := Errand{Args: []string{"bench"}, Flags: flags, Except: []string{"out", "data"}, More: []string{"--out=job-results", "--data=job-data"},
		Earlier: results, Results: results}
	without, err := matrix.Check("")
	if err != nil && len(without) == 0 {
		return err
	}
	if with, err := matrix.Check(f.data); err != nil || len(with) < len(without) { // it needs the public traces
		e.Inputs = []jobs.Path{{Here: f.data, There: "job-data"}}
	}
	return f.on.Run(ctx, e, stderr)
}

func (f *benchFlags) compare(ctx context.Context, matrix bench.Matrix, stderr io.Writer) (*bench.Results, error) {
	bar := NewProgress(stderr, "bench")
	defer bar.Done()
	results, err := bench.Run(ctx, matrix, bench.Options{
		Dir: f.out, Program: Build(), Data: f.data, Workers: f.workers, Redo: f.redo, CPUTime: ThreadCPUTime, Shard: f.on.Part,
		Progress: func(p bench.Progress) { bar.At(p.Share) },
		Log:      func(line string) { fmt.Fprintln(stderr, line) },
	})
	var other *bench.OtherVersionError
	if errors.As(err, &other) {
		return nil, fmt.Errorf("%w: choose another --out, or repeat the runs with --redo", err)
	}
	return results, err
}

// matrix of the flags: the suite's, or a new one, changed by the given flags.
func (f *benchFlags) matrix(flags *pflag.FlagSet) (bench.Matrix, error) {
	var m bench.Matrix
	var err error
	if f.suite != "" {
		if m, err = bench.SuiteNamed(f.suite); err != nil {
			return m, UsageError(err)
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
	cpu, err := parseCPUModel(f.cpuModel)
	if err != nil {
		return m, err
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
	return m, errors.Join(f.nodes.apply(&m.Cluster), f.chooseScenes(&m), f.chooseApps(&m), f.chooseWorkloads(&m, flags))
}

// chooseScenes of a suite that lists them. The flags of the cluster replace theirs; an application, a
// workload or a perturbation cannot be replaced.
func (f *benchFlags) chooseScenes(m *bench.Matrix) error {
	if len(f.scenes) > 0 {
		chosen, err := m.Choose(f.scenes)
		if err != nil {
			return UsageError(err)
		}
		*m = chosen
	}
	if len(m.Scenes) == 0 {
		return nil
	}
	if len(f.apps)+len(f.workloads)+len(f.perturbs) > 0 || f.nodes.appScale != 1 {
		return Usagef("suite %s lists its scenes: --app, --app-scale, --workload and --perturbation cannot replace them; "+
			"choose some with --scene", f.suite)
	}
	for i := range m.Scenes {
		if err := f.nodes.apply(&m.Scenes[i].Cluster); err != nil {
			return err
		}
		if err := overrideSLOs(m.Scenes[i].App.Model, f.slo); err != nil {
			return UsageError(fmt.Errorf("%s: %w", m.Scenes[i].Name, err))
		}
	}
	return nil
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
	for i, a := range m.Apps {
		scaled, err := f.nodes.scaled(a.Model)
		if err != nil {
			return err
		}
		if err := overrideSLOs(scaled, f.slo); err != nil {
			return UsageError(fmt.Errorf("%s: %w", a.Name, err))
		}
		if scaled != a.Model {
			m.Apps[i] = bench.App{Name: scaled.Name, Model: scaled}
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
		*m = m.Shorter(options.Duration)
	}
	return nil
}

// workloadOptions of the flags that all verbs share.
func (f *workloadFlags) workloadOptions() (workload.Options, error) {
	o := f.options
	o.Combine, o.Gaps = workload.Combine(f.combine), workload.Gaps(f.gaps)
	if f.rpsAtFull != 0 && f.profile != "" {
		return o, Usagef("--rps-at-full and --profile exclude each other")
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

// Build names this build of the program, so that results of another one are recognised. A
// build with uncommitted changes is named by its content as well.
func Build() string {
	name := "loadline " + version + revision()
	code, err := bench.CodeVersion()
	if digest, modified := strings.CutPrefix(code, "program "); err == nil && modified {
		return name + " modified " + digest
	}
	return name
}

// interruption is the message after an interrupt: what was saved, and how to resume.
func interruption(err error) string {
	var job *jobs.Left
	if errors.As(err, &job) {
		return job.Error()
	}
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
