package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/draw"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/report"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/pool"
)

type evaluateFlags struct {
	nodes     poolFlags
	prefer    string
	seeds     int
	baselines []string
	stretch   time.Duration
	output    Format
	workers   int
	redo      bool
}

func newEvaluate() *cobra.Command {
	var f evaluateFlags
	c := &cobra.Command{
		Use:   "evaluate RUN",
		Short: "Evaluate the candidates of a run on held-out history",
		Long: `Evaluates every candidate that loadline train wrote to a folder against baselines, the
autoscalers in common use, on held-out history:

On ENV2, Scaling-Ops' equations, over all of the held-out history, ranked by mean
pods as in the paper. Policies that need metrics which the equations do not have are
left out.

In the simulator, request by request, on three stretches: the busiest hour, the one
with the steepest rise, and a typical one; those that overlap are merged. Policies
are ranked by cost among those with at most 1 % of the requests over the SLO in every
run. A policy written NAME@calibrated runs with its best setting, found on the
training part. Policies whose replicas are on a bound for more than 95 % of the time
are marked.

--prefer chooses a candidate among those that meet the SLO:
  cost      the cheapest
  latency   the lowest latency relative to the SLO, at no more than the cost of the
            baseline
  balanced  the lowest sum of cost relative to the baseline and latency relative to
            the SLO

The baseline to beat is the best calibrated rule. If the chosen candidate does not
beat it, the result says so: keep the rule.

All results are written to RUN: evaluation.json, front.svg, report.html, and bench/
with every run. If it is interrupted, the same command resumes.`,
		Example: `  loadline evaluate shop
  loadline evaluate shop --prefer latency --seeds 5
  loadline evaluate shop --baseline hpa --baseline hpa:target=60 --baseline kpa@calibrated
  loadline evaluate shop --pool eks-4 --neighbours use=0.7
  loadline promote shop`,
		Args: Exactly("the folder of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), args[0], c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.prefer, "prefer", string(pipeline.PreferCost), "one of "+strings.Join(pipeline.Preferences(), ", "))
	flags.IntVar(&f.seeds, "seeds", pipeline.DefaultSeeds, "runs of each policy on each stretch")
	flags.StringArrayVar(&f.baselines, "baseline", nil, "policy to compare with, written as for bench; repeatable ("+
		strings.Join(pipeline.DefaultBaselines(), ", ")+")")
	spanVar(flags, &f.stretch, "stretch", pipeline.DefaultStretch, "length of the stretches")
	flags.IntVar(&f.workers, "workers", 0, "parallel runs; 0 = one per core")
	flags.BoolVar(&f.redo, "redo", false, "repeat runs of another version of the program")
	f.nodes.add(flags)
	f.output.Add(flags)
	return c
}

func (f *evaluateFlags) run(ctx context.Context, dir string, stdout, stderr io.Writer) error {
	var cluster pool.Cluster
	if err := errors.Join(f.check(), f.nodes.apply(&cluster)); err != nil {
		return err
	}
	folder, err := pipeline.OpenRun(dir)
	if err != nil {
		return err
	}
	if folder.App, err = f.nodes.scaled(folder.App); err != nil {
		return err
	}
	if missing := folder.Missing(); missing > 0 {
		fmt.Fprintf(stderr, "note: %d of %d candidates are not trained yet and are left out; "+
			"the command that started the training resumes it\n", missing, len(folder.Candidates))
	}
	if err := (pipeline.EvaluationSettings{Baselines: f.baselines, Stretch: f.stretch, Cluster: cluster}).CheckBaselines(folder); err != nil {
		return UsageError(err)
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	workers := f.workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	bar := NewProgress(stderr, "evaluating "+dir)
	e, err := pipeline.Evaluate(ctx, folder, pipeline.EvaluationSettings{
		Prefer: pipeline.Preference(f.prefer), Seeds: f.seeds, Baselines: f.baselines, Stretch: f.stretch, Cluster: cluster,
		Program: Build(), Workers: workers, Redo: f.redo, CPUTime: ThreadCPUTime, Progress: bar.At,
		Log: func(line string) { fmt.Fprintln(stderr, line) },
	})
	bar.Done()
	var other *bench.OtherVersionError
	if errors.As(err, &other) {
		return fmt.Errorf("%w: repeat the runs with --redo", err)
	}
	if err != nil {
		return err
	}
	page, err := writeEvaluation(dir, e)
	if err != nil {
		return err
	}
	if f.output.Structured() {
		return f.output.Encode(stdout, e)
	}
	return printEvaluation(stdout, dir, page, e)
}

func (f *evaluateFlags) check() error {
	var faults []error
	if err := pipeline.Preference(f.prefer).Check(); err != nil {
		faults = append(faults, Usagef("--prefer: %w", err))
	}
	if f.seeds < 1 || f.seeds > 1000 {
		faults = append(faults, Usagef("--seeds is %d, must be from 1 to 1000", f.seeds))
	}
	if f.stretch < time.Minute {
		faults = append(faults, Usagef("--stretch is %v, must be at least 1m", f.stretch))
	}
	return errors.Join(faults...)
}

// Files beside the evaluation.
const (
	frontFile = "front.svg"
	pageFile  = "report.html"
)

// writeEvaluation draws the front and makes the page of all runs.
func writeEvaluation(dir string, e *pipeline.Evaluation) (page string, err error) {
	picture := frontFigure(e).SVG()
	if err := atomicfile.Write(filepath.Join(dir, frontFile), func(w io.Writer) error {
		_,
			err := w.Write(picture)
		return err
	}); err != nil {
		return "", err
	}
	r, err := report.Read(filepath.Join(dir, pipeline.BenchDir))
	if err != nil {
		return "", err
	}
	page = filepath.Join(dir, pageFile)
	return page, atomicfile.Write(page, r.WriteHTML)
}

// leastOver is the lowest share over the SLO that the picture of the front distinguishes.
const leastOver = 0.01 // %

// frontFigure is cost against violations.
func frontFigure(e *pipeline.Evaluation) draw.Scatter {
	s := draw.Scatter{
		Title: "Cost against SLO violations on held-out history", Subtitle: e.App + ": " + e.Verdict.Sentence,
		X: "core-hours", Y: "requests over the SLO, %", Floor: leastOver,
		Marks: []draw.HLine{{Name: "allowed", Y: 100 * result.CountsIf}},
	}
	groups := map[string]int{pipeline.RoleCandidate: 0, pipeline.RoleBaseline: 1, pipeline.RoleReference: 2}
	for i := range e.Entries {
		p := &e.Entries[i]
		s.Points = append(s.Points, draw.Point{Name: p.Label, X: float64(p.CoreHours), Y: 100 * float64(p.Over), Group: groups[p.Role],
			Front: p.Front})
	}
	return s
}

func printEvaluation(w io.Writer, dir, page string, e *pipeline.Evaluation) error {
	if err := e.WriteText(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n", frontFigure(e).Terminal(100))
	fmt.Fprintf(w, "Preferring %s: %s\n", e.Prefer, e.Verdict.Sentence)
	if e.Verdict.Promote {
		fmt.Fprintf(w, "Promote it with loadline promote %s\n", dir)
	}
	_, err := fmt.Fprintf(w, "Report: %s; front: %s; all figures: %s\n", page, filepath.Join(dir, frontFile),
		filepath.Join(dir, pipeline.EvaluationFile))
	return err
}
