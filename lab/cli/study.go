package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/cli"
	"github.com/loadline/loadline/internal/draw"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/lab/study"
)

// tasks are all environments for training and studies.
func tasks() []rl.Task { return study.Tasks() }

func taskNamed(name string) (rl.Task, error) {
	var names []string
	for _, t := range tasks() {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return rl.Task{}, cli.Usagef("unknown environment %q%s", name, suggest.Hint(name, names))
}

// usualAgent is the default agent.
func usualAgent(spaces rl.Spaces) string {
	if spaces.Discrete() {
		return "dqn"
	}
	return "td3"
}

type studyFlags struct {
	spec     study.Spec
	vary     []string
	out, svg string
	output   cli.Format
}

func newStudy() *cobra.Command {
	var f studyFlags
	c := &cobra.Command{
		Use:   "study ENVIRONMENT",
		Short: "Compare settings of a learning agent over a grid",
		Long: `Trains an agent for each combination of settings and each seed, several in parallel,
and prints the results: the mean return of the best policy on held-out episodes, and
how many steps it took. The same seeds give the same result, for any --parallel.

If it is interrupted, it prints the finished runs.

Environments:
` + taskHelp() + `
Agents and their settings:
` + agentHelp(),
		Example: `  # Which learning rate, over five seeds, with the learning curves as a picture
  loadline-lab study cartpole --agent dqn:steps=3 --vary rate=1e-4,1e-3,1e-2 --seeds 5 --svg rates.svg

  # Elastic-DQN's own studies, with the paper's figures
  loadline-lab study gamma
  loadline-lab study learning-rate

  # A grid of two settings, the curves as CSV
  loadline-lab study pendulum --agent td3:hidden=32x32 --vary actor-rate=3e-4,1e-3 --vary batch=64,128 --output csv --out curves.csv`,
		Args: cli.Exactly("an environment"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), args[0], c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.spec.Agent, "agent", "", "name[:key=value,...] of an agent (dqn for choices, td3 for continuous actions)")
	flags.StringArrayVar(&f.vary, "vary", nil, "key=value,value,...: a setting and the values to try; repeatable")
	flags.IntVar(&f.spec.Seeds, "seeds", 3, "runs of each combination")
	flags.Uint64Var(&f.spec.Seed, "seed", 1, "the first seed")
	flags.IntVar(&f.spec.Training.Steps, "steps", 0, "steps of each run (as the environment sets)")
	flags.IntVar(&f.spec.Training.LongestEpisode, "longest-episode", 0, "maximum steps of an episode (as the environment sets)")
	flags.IntVar(&f.spec.Training.EvaluateEvery, "evaluate-every", 0, "steps between evaluations (a twentieth of a run)")
	flags.IntVar(&f.spec.Training.Episodes, "episodes", 20, "episodes of an evaluation")
	flags.IntVar(&f.spec.Parallel, "parallel", runtime.GOMAXPROCS(0), "parallel runs")
	f.output.Add(flags, "csv")
	cli.OutVar(flags, &f.out, "write the result to this file instead of printing it")
	flags.StringVar(&f.svg, "svg", "", "draw the learning curves to this file")
	c.AddCommand(newNamedStudies()...)
	return c
}

func taskHelp() string {
	var b strings.Builder
	for _, t := range tasks() {
		fmt.Fprintf(&b, "  %-20s %s\n", t.Name, t.About)
	}
	return b.String()
}

func agentHelp() string {
	var b strings.Builder
	for _, k := range study.Kinds() {
		fmt.Fprintf(&b, "  %-8s %s\n", k.Name, k.About)
		for _, s := range k.Default().Settings() {
			fmt.Fprintf(&b, "    %-20s %s (%s)\n", s.Key, s.About, s)
		}
	}
	return b.String()
}

func (f *studyFlags) run(ctx context.Context, environment string, stdout, stderr io.Writer) error {
	if err := f.complete(environment); err != nil {
		return err
	}
	bar, observe := cli.NewProgress(stderr, "study"), f.spec.Progress
	f.spec.Progress = func(p study.Progress) {
		if observe != nil {
			observe(p)
		}
		what := fmt.Sprintf("%d of %d runs", p.Finished, p.Of)
		if p.Best != nil {
			what += fmt.Sprintf(", best %.1f", float64(p.Best.Score))
		}
		bar.Describe(what)
		bar.At(p.Share)
	}
	report, err := study.Run(ctx, f.spec)
	bar.Done()
	switch {
	case report == nil && err != nil:
		return cli.UsageError(err) // only making an environment can fail
	case report.Finished == 0:
		return err
	}
	if err := f.write(report, stdout); err != nil {
		return err
	}
	if report.Finished < report.Runs {
		return fmt.Errorf("interrupted: %d of %d runs had finished, and are shown", report.Finished, report.Runs)
	}
	return nil
}

// complete looks up the environment, parses the grid and sets the environment's defaults.
// It reports every fault at once.
func (f *studyFlags) complete(environment string) error {
	var faults []error
	faults = append(faults, cli.CheckWritable("out", f.out), cli.CheckWritable("svg", f.svg))
	for _, text := range f.vary {
		axis, err := study.ParseAxis(text)
		if err != nil {
			faults = append(faults, cli.Usagef("--vary %w", err))
		}
		f.spec.Vary = append(f.spec.Vary, axis)
	}
	task, err := taskNamed(environment)
	if err != nil {
		return errors.Join(append(faults, err)...)
	}
	f.spec.Task = task
	if f.spec.Training.Steps == 0 {
		f.spec.Training.Steps = f.spec.Task.Steps
	}
	if f.spec.Training.EvaluateEvery == 0 {
		f.spec.Training.EvaluateEvery = max(1, f.spec.Training.Steps/20)
	}
	if f.spec.Agent == "" {
		env, err := f.spec.Task.New()
		faults = append(faults, err)
		if err == nil {
			f.spec.Agent = usualAgent(env.Spaces())
		}
	}
	return errors.Join(faults...)
}

func (f *studyFlags) write(report *study.Report, stdout io.Writer) error {
	if f.svg != "" {
		picture := studyFigure(report, f.spec.Task).SVG()
		if err := atomicfile.Write(f.svg, func(w io.Writer) error { _, err := w.Write(picture); return err }); err != nil {
			return err
		}
	}
	text := func(w io.Writer) error {
		if f.output.String() == "csv" {
			return report.WriteCSV(w)
		}
		width, colour := cli.Screen(stdout)
		if _, err := fmt.Fprintln(w, studyFigure(report, f.spec.Task).Terminal(width, colour && f.out == "")); err != nil {
			return err
		}
		return report.WriteText(w)
	}
	write := func(w io.Writer) error { return f.output.Write(w, report, text) }
	if f.out != "" {
		return atomicfile.Write(f.out, write)
	}
	return write(stdout)
}

// drawnCells is how many lines of one panel can be distinguished.
const drawnCells = 6

// studyFigure is the learning curves of the best cells.
func studyFigure(r *study.Report, task rl.Task) draw.Figure {
	ranked := r.Ranked()
	shown := ranked[:min(drawnCells, len(ranked))]
	returns := draw.Panel{Title: "Mean return of evaluations", Free: true, Height: 260}
	losses := draw.Panel{Title: "Loss", Height: 120}
	if solved := float64(r.Solved); solved == solved {
		returns.Marks = []draw.HLine{{Name: "solved", Y: solved}}
	}
	for _, c := range shown {
		steps, evaluations, loss := r.MeanCurve(c)
		for i := range steps {
			steps[i] *= task.Step.Seconds()
		}
		returns.Lines = append(returns.Lines, draw.Line{Name: c.Values(), X: steps, Y: evaluations})
		losses.Lines = append(losses.Lines, draw.Line{Name: c.Values(), X: steps, Y: loss})
	}
	subtitle := fmt.Sprintf("%d steps of %v each, over the simulated time; %d of %d runs", r.Steps, task.Step,
		r.Finished, r.Runs)
	if len(r.Vary) > 0 {
		var keys []string
		for _, axis := range r.Vary {
			keys = append(keys, axis.Key)
		}
		subtitle = "by " + strings.Join(keys, ", ") + "; " + subtitle
	}
	if len(shown) < len(ranked) {
		subtitle += fmt.Sprintf("; the best %d of %d combinations", len(shown), len(ranked))
	}
	return draw.Figure{Title: fmt.Sprintf("%s on %s", r.Agent, r.Task), Subtitle: subtitle, Panels: []draw.Panel{returns, losses}}
}
