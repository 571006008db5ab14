package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/advice"
	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/draw"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/jobs"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/report"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/pool"
)

type evaluateFlags struct {
	nodes                  poolFlags
	today                  todayFlags
	prefer, candidate      string
	seeds                  int
	baselines, axes, known []string
	maxChurn               float64
	stretch                time.Duration
	output                 Format
	workers                int
	verbose, redo          bool
	rules                  bool // alone: tune
	history                string
	since                  time.Duration
	on                     OnFlags
	flags                  *pflag.FlagSet
}

func newEvaluate() *cobra.Command {
	var f evaluateFlags
	c := &cobra.Command{
		Use:   "evaluate RUN",
		Short: "Judge the candidates of a run on held-out history: promote, change, keep, or cannot tell",
		Long: `Judges what loadline train wrote to a folder, as it would run: a deployment is a policy behind
the guard of the controller, with its fallback rule, on the axes that a LoadLine allows (--axes).
Baselines are deployments too, on the same axes: what you run today (--today: the objects of a
file or a cluster, or a policy), HPA at its defaults, and the best plain deployment that
loadline tune would find. Objects set the bounds of all deployments; what no policy can do of them is named.

The history has three parts in time order. Models were fitted to the first. On the second, rules
are tuned, the best becomes the fallback of every candidate, and --prefer chooses a candidate:
  cost      the cheapest that meets the SLO
  latency   the lowest latency relative to the SLO, at no more than the cost of the rule
  balanced  the lowest sum of cost relative to the rule and latency relative to the SLO
The third, the test part, only judges: request by request, on stretches (peak, steepest, typical,
quiet, and where the candidate and the baselines differ most) that each stand for the hours with
the nearest load. Costs are compared run by run, with the same seeds; while the answer is not
clear, there are up to four times --seeds runs. The fluid engine runs the whole test part and can
contradict, not promote. Every use of the test part with other settings is counted.

What may be recommended is also run under conditions that the history does not exclude: busier
nodes (up to 70 % if it does not show them), figures of the twin at the ends of their ranges, and
its measured error. What violates the SLO there, where today's deployment meets it, is not
recommended; the verdict says what it depends on. --neighbours and --known set what you know.

Costs are money per month: the bill of the nodes with --pool, or else cores and GiB at --prices,
Loadline's own cost included. A candidate that changes more than --max-churn times as often as
today's deployment, and more than a handful of times an hour, is not promoted.

The verdict is the first line, and the exit code:
  0  promote    loadline promote RUN adds the candidate to the registry
  3  keep       what you run today is as good
  4  change     a setting of what you run today
  5  undecided  and what would decide it
  6  refused    too much is guessed, or the model is of another application

--history judges the same candidates on a later history of the application, without training
them: its first part fits a new twin, the other two select and judge. What runs today is then
what the run's last evaluation promoted, unless the history or --today shows something else. The
run is of that history from then on; what it was before is kept in RUN/earlier.

--output yaml prints the manifests of the verdict for kubectl, --output json all figures.

With --on kubernetes the pods of an Indexed Job do the runs, and the verdict is the same. With
--shard I/N several processes share RUN; the verdict is printed by the command without it.

All results are written to RUN: evaluation.json, front.svg, report.html, and bench/ with every
run. If it is interrupted, the same command resumes.`,
		Example: `  loadline evaluate shop
  kubectl -n shop get hpa,vpa,scaledobject,deploy -o yaml > today.yaml
  loadline evaluate shop --today today.yaml
  loadline evaluate shop --today cluster --context production --namespace shop
  loadline evaluate shop --today hpa:target=60 --axes Horizontal,VerticalRequests
  loadline evaluate shop --prefer latency --verbose
  loadline evaluate shop --baseline hpa:target=60 --baseline kpa@calibrated
  loadline evaluate shop --pool eks-4 --neighbours use=0.7
  loadline evaluate shop && loadline promote shop
  loadline evaluate shop --history past2 && loadline promote shop`,
		Args: Exactly("the folder of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), args[0], c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.prefer, "prefer", string(pipeline.PreferCost), "one of "+strings.Join(pipeline.Preferences(), ", "))
	flags.StringVar(&f.candidate, "candidate", "", "judge this candidate instead of choosing one")
	flags.StringArrayVar(&f.baselines, "baseline", nil, "policy to compare with besides today's, written as for bench; repeatable ("+
		strings.Join(pipeline.DefaultBaselines([]string{guard.Horizontal}), ", ")+")")
	f.add(flags, []string{guard.Horizontal})
	flags.StringVar(&f.history, "history", "", "judge the candidates on this later history, a folder of loadline history")
	spanVar(flags, &f.since, "since", 0, "only the last part of --history, such as 7d; 0 = all of it")
	f.on.Add(flags)
	f.flags = flags
	return c
}

// add the flags that tune has too.
func (f *evaluateFlags) add(flags *pflag.FlagSet, axes []string) {
	f.today.add(flags)
	flags.StringSliceVar(&f.axes, "axes", axes, "what deployments may change: "+strings.Join(guard.AxisNames(), ", "))
	flags.Float64Var(&f.maxChurn, "max-churn", pipeline.DefaultMaxChurn, "times as often as today's deployment that a promoted one may change")
	flags.IntVar(&f.seeds, "seeds", pipeline.DefaultSeeds, "runs of each deployment on each stretch at first")
	spanVar(flags, &f.stretch, "stretch", pipeline.DefaultStretch, "length of the stretches")
	flags.StringArrayVar(&f.known, "known", nil,
		"figure that the history does not show: SERVICE.workers=16 or SERVICE.startup=20s; repeatable")
	flags.IntVar(&f.workers, "workers", 0, "parallel runs; 0 = one per core")
	flags.BoolVar(&f.verbose, "verbose", false,
		"print the figures under other conditions, what was chosen and searched, and the table of Scaling-Ops' environment")
	flags.BoolVar(&f.redo, "redo", false, "repeat runs of another version of the program")
	f.nodes.add(flags)
	f.today.addCluster(flags)
	f.output.Add(flags)
}

func (f *evaluateFlags) run(ctx context.Context, dir string, stdout, stderr io.Writer) error {
	var cluster pool.Cluster
	if err := errors.Join(f.check(), f.on.Check(), f.today.check(), f.nodes.apply(&cluster)); err != nil {
		return err
	}
	if f.history != "" { // here, also if the rest is done on a cluster
		if err := f.renew(dir, stderr); err != nil {
			return err
		}
	}
	folder, err := pipeline.OpenRun(dir)
	if err != nil {
		return err
	}
	if folder.App, err = f.nodes.scaled(folder.App); err != nil {
		return err
	}
	if folder, err = folder.With(f.known); err != nil {
		return Usagef("--known: %w", err)
	}
	if missing := folder.Missing(); missing > 0 && !f.rules {
		fmt.Fprintf(stderr, "note: %d of %d candidates are not trained yet and are left out; "+
			"the command that started the training resumes it\n", missing, len(folder.Candidates))
	}
	settings := pipeline.EvaluationSettings{
		Prefer: pipeline.Preference(f.prefer), Candidate: f.candidate, Rules: f.rules, Seeds: f.seeds, Baselines: f.baselines,
		Axes: f.axes, MaxChurn: f.maxChurn, Stretch: f.stretch, Cluster: cluster, NeighboursGiven: f.nodes.neighbours != "",
		Program: Build(), Workers: f.workers, Redo: f.redo, Shard: f.on.Part, CPUTime: ThreadCPUTime,
		Log: func(line string) { fmt.Fprintln(stderr, line) },
	}
	if folder, err = f.today.apply(ctx, folder, &settings); err != nil {
		return err
	}
	if err := settings.CheckBaselines(folder); err != nil {
		return UsageError(err)
	}
	lock, err := f.on.Lock(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if f.on.Elsewhere() {
		if err := f.elsewhere(ctx, dir, stderr); err != nil {
			return err
		}
	}
	if settings.Workers == 0 {
		settings.Workers = runtime.GOMAXPROCS(0)
	}
	doing := "evaluating "
	if f.rules {
		doing = "tuning "
	}
	bar := NewProgress(stderr, doing+dir)
	stage := bar.Stages()
	settings.Progress = func(share float64) { stage(share, pipeline.PhaseAt(share)) }
	e, err := pipeline.Evaluate(ctx, folder, settings)
	bar.Done()
	var other *bench.OtherVersionError
	if errors.As(err, &other) {
		return fmt.Errorf("%w: repeat the runs with --redo", err)
	}
	if err != nil || f.on.Shared() {
		return err
	}
	if err := writeEvaluation(dir, e); err != nil {
		return err
	}
	switch {
	case f.output.String() == "yaml":
		err = writeManifests(stdout, folder.App, e.Verdict)
	case f.output.Structured():
		err = f.output.Encode(stdout, e)
	default:
		err = printEvaluation(stdout, dir, e, f.verbose)
	}
	return errors.Join(err, verdictCode(e.Verdict))
}

// elsewhere evaluates on a cluster.
func (f *evaluateFlags) elsewhere(ctx context.Context, dir string, stderr io.Writer) error {
	if !filepath.IsLocal(dir) {
		return Usagef("run %s is outside of the current folder: pods find it by the same relative path; change to a folder above it", dir)
	}
	there := filepath.ToSlash(filepath.Clean(dir))
	e := Errand{Args: []string{"evaluate", there}, Flags: f.flags, Except: []string{"history", "since"},
		Earlier: []jobs.Path{{Here: dir, There: there}}, Results: []jobs.Path{{Here: dir, There: there}}}
	for _, name := range pipeline.Inputs() {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			e.Inputs = append(e.Inputs, jobs.Path{Here: filepath.Join(dir, name), There: there + "/" + name})
		}
	}
	return f.on.Run(ctx, e, stderr)
}

// renew makes the run one of a later history.
func (f *evaluateFlags) renew(dir string, stderr io.Writer) error {
	past, err := pipeline.Again(dir)
	if err != nil {
		return err
	}
	h, err := history.Read(f.history, history.Options{Last: f.since})
	if err != nil {
		return err
	}
	bar := NewProgress(stderr, "fitting "+f.history)
	defer bar.Done()
	past.Progress = bar.At
	subject, err := pipeline.FromHistory(h, past)
	if err != nil {
		return fmt.Errorf("judge on %s: %w", f.history, err)
	}
	bar.Done()
	lock, err := lockFolder(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if _, err := pipeline.Continue(dir, Build(), subject); err != nil {
		return err
	}
	printNotes(stderr, subject.Notes)
	return nil
}

func (f *evaluateFlags) check() error {
	var faults []error
	if f.on.where == onKubernetes && f.today.today == inCluster {
		faults = append(faults, Usagef("--today cluster cannot be read in the pods of --on kubernetes: write the objects to a file "+
			"(kubectl get hpa,vpa,scaledobject,deploy -o yaml > today.yaml) and give --today today.yaml"))
	}
	if f.history != "" && f.on.shard != "" {
		faults = append(faults, Usagef("--shard and --history exclude each other: make the run one of the later history first"))
	}
	if f.history == "" && f.since != 0 {
		faults = append(faults, Usagef("--since is for --history"))
	}
	if err := pipeline.Preference(f.prefer).Check(); err != nil {
		faults = append(faults, Usagef("--prefer: %w", err))
	}
	if axes, err := guard.ParseAxes(f.axes); err != nil || len(axes) == 0 {
		faults = append(faults, Usagef("--axes: %w", cmp.Or(err, errors.New("is empty, name at least one"))))
	} else {
		f.axes = axes
	}
	if f.seeds < 1 || f.seeds > 1000 {
		faults = append(faults, Usagef("--seeds is %d, must be from 1 to 1000", f.seeds))
	}
	if f.stretch < time.Minute {
		faults = append(faults, Usagef("--stretch is %v, must be at least 1m", f.stretch))
	}
	if !(f.maxChurn >= 1 && f.maxChurn <= 1e6) {
		faults = append(faults, Usagef("--max-churn is %v, must be from 1 to 1000000", f.maxChurn))
	}
	return errors.Join(faults...)
}

// writeManifests writes what a verdict means on Kubernetes, with its sentence as a comment.
func writeManifests(w io.Writer, app *loadline.App, v pipeline.Verdict) error {
	if v.Kind == pipeline.Refused { // there is nothing to apply
		_, err := fmt.Fprintf(w, "# %s\n", v.Sentence)
		return err
	}
	target := advice.Target{App: app}
	if v.Kind == pipeline.Promote { // as it was judged
		target.Fallback, target.Axes, target.Twin = v.Fallback, v.Axes, twinName(app.Name)
	}
	all, err := advice.Manifests(v.Policy, target)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		all[0].Comments = append([]string{v.Sentence}, all[0].Comments...)
	}
	return advice.Write(w, all)
}

// twinName is the ConfigMap of an application's model.
func twinName(app string) string { return app + "-twin" }

// verdictError is a verdict that is not to promote, as an exit code. It was printed already.
type verdictError struct{ kind pipeline.Kind }

func (e *verdictError) Error() string { return "the verdict is: " + string(e.kind) }

func verdictCode(v pipeline.Verdict) error {
	if v.Kind == pipeline.Promote {
		return nil
	}
	return &verdictError{v.Kind}
}

// exitCodes of verdicts.
var exitCodes = map[pipeline.Kind]int{
	pipeline.Keep: exitKeep, pipeline.Change: exitChange, pipeline.Undecided: exitUndecided, pipeline.Refused: exitRefused,
}

var verdictTones = map[pipeline.Kind]tone{
	pipeline.Promote: toneGood, pipeline.Keep: toneGood, pipeline.Change: toneGood, pipeline.Undecided: toneUnclear, pipeline.Refused: toneBad,
}

// filesOf an evaluation: the picture of the front, the page, and all figures. Those of rules alone
// do not replace those of the candidates.
func filesOf(e *pipeline.Evaluation) (front, page, figures string) {
	if e.Settings.Rules {
		return "tune.svg", "tune.html", pipeline.TuneFile
	}
	return "front.svg", "report.html", pipeline.EvaluationFile
}

// writeEvaluation draws the front and makes the page of all runs. A finished run in a folder that
// cannot be written keeps those that it has.
func writeEvaluation(dir string, e *pipeline.Evaluation) error {
	if e.Verdict.Kind == pipeline.Refused {
		return nil
	}
	picture := frontFigure(e).SVG()
	frontFile, pageFile, _ := filesOf(e)
	path := filepath.Join(dir, frontFile)
	err := atomicfile.Write(path, func(w io.Writer) error { _, err := w.Write(picture); return err })
	if _, missing := os.Stat(filepath.Join(dir, pageFile)); missing == nil &&
		(errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
		return nil
	}
	if err != nil {
		return err
	}
	r, err := report.Read(filepath.Join(dir, pipeline.BenchDir))
	if err != nil {
		return err
	}
	r.Lead(e.Lead())
	if slices.ContainsFunc(e.Entries, func(p pipeline.Entry) bool { return p.Whole != nil }) {
		err := r.AddWhole(filepath.Join(dir, pipeline.WholeDir), "The held-out part, deployments over each other",
			"All of it in the fluid engine, which does not decide: the figures above are those of the event engine.")
		if err != nil {
			return err
		}
	}
	return atomicfile.Write(filepath.Join(dir, pageFile), r.WriteHTML)
}

// leastOver is the lowest share over the SLO that the picture of the front distinguishes.
const leastOver = 0.01 // %

// frontFigure is cost against violations.
func frontFigure(e *pipeline.Evaluation) draw.Scatter {
	s := draw.Scatter{
		Title: "Cost against SLO violations on held-out history", Subtitle: e.App + ": " + e.Verdict.Sentence,
		X: e.Currency + " a month", Y: "requests over the SLO, %", Floor: leastOver,
		Marks: []draw.HLine{{Name: "allowed", Y: 100 * result.CountsIf}},
	}
	groups := map[string]int{pipeline.RoleCandidate: 0, pipeline.RoleBaseline: 1, pipeline.RoleReference: 2}
	for i := range e.Entries {
		p := &e.Entries[i]
		s.Points = append(s.Points, draw.Point{Name: p.Label, X: float64(p.PerMonth), Y: 100 * float64(p.Over), Group: groups[p.Role],
			Front: p.Front})
	}
	return s
}

func printEvaluation(w io.Writer, dir string, e *pipeline.Evaluation, verbose bool) error {
	verdict := writeWithVerdict(w, e.Verdict.Sentence, verdictTones[e.Verdict.Kind], e.WriteVerdict)
	if err := errors.Join(verdict, e.WriteText(w, verbose)); err != nil || e.Verdict.Kind == pipeline.Refused {
		return err
	}
	fmt.Fprintf(w, "%s\n", frontFigure(e).Terminal(100))
	front, page, figures := filesOf(e)
	if e.Verdict.Kind == pipeline.Promote {
		fmt.Fprintf(w, "Next: loadline promote %s\n", dir)
	}
	if e.Verdict.Kind == pipeline.Change {
		command := "evaluate"
		if e.Settings.Rules {
			command = "tune"
		}
		fmt.Fprintf(w, "Next: the manifests, with the same flags and --output yaml: loadline %s %s --output yaml\n", command, dir)
	}
	_, err := fmt.Fprintf(w, "Report: %s; front: %s; all figures: %s\n", filepath.Join(dir, page), filepath.Join(dir, front),
		filepath.Join(dir, figures))
	return err
}
