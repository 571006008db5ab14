package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/workload"
)

// runFlags are those of candidates for an application.
type runFlags struct {
	history, app, workload string
	duration, since        time.Duration
	scale, peak            float64
	name                   string
	output                 Format
	candidates             int
	methods, formulations  []string
	objectives, without    []string
	heldOut                float64
	shares                 string
	redo                   bool
}

func (f *runFlags) add(flags *pflag.FlagSet) {
	f.addSubject(flags)
	flags.StringSliceVar(&f.methods, "methods", nil, "methods to train candidates of, comma-separated (see above)")
	flags.IntVar(&f.candidates, "candidates", 8, "how many candidates to train, of the methods in turn (with --methods: one of each)")
	flags.StringSliceVar(&f.formulations, "formulations", nil, "former name of --methods")
	flags.StringVar(&f.shares, "shares", "",
		"each service's part of the SLO from this file (see slo split --out) instead of in proportion")
	flags.BoolVar(&f.redo, "redo", false, "discard what the run's folder contains and start again")
	f.output.AddFor(flags, "of a run")
}

// addSubject adds the flags of the application and its history.
func (f *runFlags) addSubject(flags *pflag.FlagSet) {
	flags.StringVar(&f.history, "history", "", "folder of an application's history (see history)")
	LengthVar(flags, &f.since, "since", "with --history: use only so much of its end, such as 36h or 7d: since a release, say")
	flags.StringVar(&f.app, "app", "", "name or file of an application, instead of a history")
	flags.StringVar(&f.workload, "workload", "", "with --app: name, generators or file of a workload")
	LengthVar(flags, &f.duration, "duration", "with --workload: how long, such as 36h or 7d")
	flags.Float64Var(&f.scale, "scale", 0, "with --workload: multiply every rate")
	flags.Float64Var(&f.peak, "peak", 0, "with --workload: scale so that the highest rate is this many requests per second")
	flags.StringArrayVar(&f.objectives, "objective", nil, `"99% < 250ms", or "KIND: 99% < 250ms" for one kind of request; repeatable`)
	heldOutVar(flags, &f.heldOut, "share at the end of the history that is held out for the evaluation")
	flags.StringArrayVar(&f.without, "without", nil, "with --history: leave this service out; repeatable")
	flags.StringVar(&f.name, "name", "", "of the application (the history's namespace, or its folder's name)")
}

// oneModelOnly are flags of a training into one model file.
var oneModelOnly = []string{"evaluate-every", "episodes", "log", "checkpoint"}

// forApplication rejects flags that the training of candidates does not have.
func (f *trainFlags) forApplication(flags *pflag.FlagSet) error {
	var faults []error
	for _, name := range oneModelOnly {
		if flags.Changed(name) {
			faults = append(faults, Usagef("--%s is for --formulation; candidates do not take it", name))
		}
	}
	return errors.Join(faults...)
}

func methodHelp() string {
	var b strings.Builder
	for _, m := range policy.TrainableMethods() {
		fmt.Fprintf(&b, "  %-21s  %s\n", m.Name, m.About)
	}
	fmt.Fprintf(&b, "  %-21s  %s\n", "planner", "needs no training: it learns as it runs (docs/planner.md)")
	return b.String()
}

// trainRun trains candidates into a folder.
func (f *trainFlags) trainRun(ctx context.Context, flags *pflag.FlagSet, stdout, stderr io.Writer) error {
	candidates, err := f.lineUp(flags)
	if err != nil {
		return err
	}
	if _, err := openShares(f.run.shares); err != nil {
		return err // before long work starts
	}
	subject, err := f.run.subject(ctx, f.seed, stderr)
	if err != nil {
		return err
	}
	shares, err := sharesFor(f.run.shares, subject.App)
	if err != nil {
		return err
	}
	for i := range candidates {
		candidates[i].Shares = shares
	}
	printNotes(stderr, subject.Notes)
	if len(subject.Guessed) > 0 {
		fmt.Fprintf(stderr, "note: loadline evaluate will refuse this run, since too much is guessed (%s): %s\n",
			strings.Join(subject.Guessed, "; "), pipeline.ToMeasure)
	}
	if len(subject.Replaced) > 0 {
		fmt.Fprintf(stderr, "note: loadline evaluate will refuse this run, since it trains for a release that is gone (%s): %s\n",
			strings.Join(subject.Replaced, "; "), pipeline.ToTrainAgain)
	}
	lock, err := lockFolder(f.out)
	if err != nil {
		return err
	}
	defer lock.Close()
	folder, err := pipeline.Begin(f.out, Build(), subject, candidates, f.run.redo)
	if err != nil {
		return err
	}
	have, err := folder.Have()
	if err != nil {
		return err
	}
	if len(have) > 0 {
		fmt.Fprintf(stderr, "%d of %d candidates are trained already\n", len(have), len(candidates))
	}
	bar := NewProgress(stderr, "training "+count(folder.Missing(), "candidate", "candidates"))
	err = pipeline.TrainEach(ctx, subject, candidates, pipeline.Each{
		Workers: runtime.GOMAXPROCS(0), Have: have, Done: folder.Keep, Progress: bar.At,
	})
	bar.Done()
	if errors.Is(err, context.Canceled) {
		return Interruptedf("interrupted: %d of %d candidates are kept in %s; the same command trains the rest",
			len(candidates)-folder.Missing(), len(candidates), filepath.ToSlash(f.out))
	}
	if err := keepTrained(folder, err, stderr); err != nil {
		return err
	}
	if f.run.output.Structured() {
		return f.run.output.Encode(stdout, folder.Run)
	}
	return printRun(stdout, folder)
}

// keepTrained accepts a training of which some candidates failed, with a warning for each; it
// returns the error if all did.
func keepTrained(folder *pipeline.Folder, err error, stderr io.Writer) error {
	var failed pipeline.FailedError
	if !errors.As(err, &failed) {
		return err
	}
	if err := folder.Fail(failed); err != nil {
		return err
	}
	if folder.Missing() == len(folder.Candidates) {
		return fmt.Errorf("no candidate could be trained:\n%w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		fmt.Fprintf(stderr, "warning: %v; it is left out, the same command tries it again\n", failed[name])
	}
	return nil
}

// notesShown is how many notes are printed; run.json has all.
const notesShown = 6

func printNotes(w io.Writer, notes []string) {
	for i, note := range notes {
		if i == notesShown {
			fmt.Fprintf(w, "note: %d more such notes are in %s\n", len(notes)-notesShown, pipeline.RunFile)
			return
		}
		fmt.Fprintf(w, "note: %s\n", note)
	}
}

// lineUp checks the flags, every fault at once, and makes the candidates.
func (f *trainFlags) lineUp(flags *pflag.FlagSet) ([]pipeline.Candidate, error) {
	r := &f.run
	faults := r.checkSubject("training data is missing")
	fault := func(format string, args ...any) { faults = append(faults, Usagef(format, args...)) }
	if r.candidates < 1 || r.candidates > 1000 {
		fault("--candidates is %d, must be from 1 to 1000", r.candidates)
	}
	if f.training.Steps < 0 {
		fault("--steps is %d, must be at least 0", f.training.Steps)
	}
	faults = append(faults, checkFolder(f.out))
	methods, n, err := r.chosen(flags)
	if err != nil {
		faults = append(faults, err)
	}
	candidates, err := pipeline.LineUp(methods, max(n, 0), f.seed)
	if err != nil {
		fault("--methods: %w", err)
	}
	for i := range candidates {
		if f.training.Steps > 0 {
			candidates[i].Steps = f.training.Steps
		}
	}
	return candidates, errors.Join(faults...)
}

// checkSubject reports every fault of the flags of the application and its history.
func (f *runFlags) checkSubject(missing string) (faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, Usagef(format, args...)) }
	switch {
	case f.history != "" && (f.app != "" || f.workload != ""):
		fault("--history and --app with --workload exclude each other: give one of the two")
	case f.history == "" && (f.app == "" || f.workload == ""):
		fault("%s: give --history DIR, or --app NAME and --workload NAME", missing)
	}
	if f.app == "" && (f.duration != 0 || f.scale != 0 || f.peak != 0) {
		fault("--duration, --scale and --peak are for --workload, not for --history")
	}
	if f.history == "" && f.since != 0 {
		fault("--since is for --history")
	}
	if !(f.heldOut > 0 && f.heldOut <= 0.9) {
		fault("--held-out is %v, must be above 0 and at most 0.9", f.heldOut)
	}
	for _, text := range f.objectives {
		if _, err := parseObjective(text); err != nil {
			fault("--objective %q: %v", text, err)
		}
	}
	return faults
}

// chosen methods, and the number of candidates: by default one of each method.
func (f *runFlags) chosen(flags *pflag.FlagSet) (methods []string, n int, err error) {
	methods, n = f.methods, f.candidates
	if len(methods) > 0 && !flags.Changed("candidates") {
		n = len(methods)
	}
	if len(f.formulations) == 0 {
		return methods, n, nil
	}
	if len(methods) > 0 {
		return nil, n, Usagef("--formulations is the former name of --methods: give one of them")
	}
	for _, name := range f.formulations {
		methods = append(methods, formulation.NameNow(name))
	}
	return methods, n, nil
}

// checkFolder rejects a folder with other contents.
func checkFolder(out string) error {
	if out == "" {
		return Usagef("--out is missing: the folder of the run")
	}
	if strings.Contains(out, ",") {
		return Usagef("--out %s contains a comma, which separates the settings of a policy: give another name", out)
	}
	entries, err := os.ReadDir(out)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return Usagef("--out %s is not a folder", out)
	}
	if len(entries) > 0 && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() == pipeline.RunFile ||
			e.Name() == pipeline.TrainingFile || len(entries) == 1 && e.Name() == atomicfile.LockFile
	}) {
		return Usagef("--out %s contains files that are not of a run: give an empty or a new folder", out)
	}
	return nil
}

// subject to train on.
func (f *runFlags) subject(ctx context.Context, seed uint64, stderr io.Writer) (*pipeline.Subject, error) {
	if f.history != "" {
		return f.fromHistory(stderr)
	}
	model, err := loadApp(f.app)
	if err != nil {
		return nil, err
	}
	app := model.App
	if f.name != "" {
		app.Name = f.name
	}
	if err := setObjectives(app, f.objectives); err != nil {
		return nil, err
	}
	flags := workloadFlags{options: workload.Options{Duration: f.duration, Scale: f.scale, Peak: f.peak, Seed: seed}}
	w, _, err := flags.open(f.workload)
	if err != nil {
		return nil, err
	}
	bar := NewProgress(stderr, "recording "+app.Name+" under hpa")
	defer bar.Done()
	return pipeline.FromApp(ctx, app, w, pipeline.Model{HeldOut: f.heldOut, Seed: seed, Progress: bar.At})
}

func (f *runFlags) fromHistory(stderr io.Writer) (*pipeline.Subject, error) {
	h, err := history.Read(f.history, history.Options{Last: f.since})
	if err != nil {
		return nil, err
	}
	past := pipeline.Past{Name: f.name, Without: f.without, HeldOut: f.heldOut}
	if past.Name == "" {
		past.Name = nameOf(h, f.history)
	}
	for _, text := range f.objectives {
		o, err := parseObjective(text)
		if err != nil {
			return nil, err
		}
		past.Objectives = append(past.Objectives, o)
	}
	bar := NewProgress(stderr, "fitting "+f.history)
	defer bar.Done()
	past.Progress = bar.At
	s, err := pipeline.FromHistory(h, past)
	if err != nil {
		return nil, fmt.Errorf("learn from %s: %w", f.history, err)
	}
	return s, nil
}

// nameOf an application: its namespace, what was recorded, or the folder's name.
func nameOf(h *history.History, dir string) string {
	if h.Manifest.Namespace != "" {
		return h.Manifest.Namespace
	}
	for _, word := range strings.Fields(h.Manifest.Source) {
		if name, found := strings.CutPrefix(word, "app="); found {
			return name
		}
	}
	if path, err := filepath.Abs(dir); err == nil {
		dir = path
	}
	return filepath.Base(dir)
}

// setObjectives sets the objectives of an application's model: the values of --objective.
func setObjectives(app *loadline.App, objectives []string) error {
	for _, text := range objectives {
		o, err := parseObjective(text)
		if err != nil {
			return err
		}
		if o.Kind != "" && app.KindIndex(o.Kind) < 0 {
			var names []string
			for _, k := range app.Kinds {
				names = append(names, k.Name)
			}
			return Usagef("--objective %q: unknown kind of request %q%s", text, o.Kind, suggest.Hint(o.Kind, names))
		}
		for i := range app.Kinds {
			if o.Kind == "" || o.Kind == app.Kinds[i].Name {
				app.Kinds[i].SLO = o.SLO
			}
		}
	}
	return nil
}

// printRun prints what was trained, and the next commands.
func printRun(w io.Writer, f *pipeline.Folder) error {
	s := &f.Subject
	fmt.Fprintf(w, "%s, %s\n", s.Name, count(len(s.Services), "service", "services"))
	fmt.Fprintf(w, "trained on %s to %s; for selection %s to %s; held out %s to %s\n\n", minute(s.Training.From), minute(s.Training.To),
		minute(s.Selection.From), minute(s.Selection.To), minute(s.HeldOut.From), minute(s.HeldOut.To))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CANDIDATE\tMETHOD\tSEED\tSTEPS\tNETWORKS\tTRAINED WITH")
	for _, c := range f.Candidates {
		with := c.About
		if c.From != "" {
			with += ", from " + c.From
		}
		if c.Failed != "" {
			with = "failed: " + c.Failed
		}
		if c.Policy != "" {
			with = "needs no training"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%s\n", c.Name, c.Method, c.Seed, c.Steps, len(c.Curves), with)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nRun: %s\nEvaluate them on the held-out part with loadline evaluate %s\n", f.Dir, f.Dir)
	return err
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }
