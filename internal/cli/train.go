package cli

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/lab/study"
)

type trainFlags struct {
	run                          runFlags // of candidates for an application
	school                       schoolFlags
	msars                        msarsFlags
	task, agent                  string
	seed                         uint64
	training                     rl.TrainingConfig
	out, log, checkpoint, resume string
}

func newTrain() *cobra.Command {
	var f trainFlags
	c := &cobra.Command{
		Use:   "train",
		Short: "Train candidate policies on an application's past, or one agent in an environment",
		Long: `With --history, or --app and --workload, trains candidate policies for an
application: fits its twin, holds out the last part of the history, and trains
several candidates side by side, of the methods that --methods names (--formulations
is its former name). Candidates of one method differ by seed and, where the method has
variants, by reward and discount. Everything goes to one folder, which loadline
evaluate judges and loadline promote takes a policy from. With an application's model
instead of a history, a run under HPA is recorded first. docs/pipeline.md describes
all of it.

Interrupted, no finished candidate is lost: the same command goes on with those
that are missing. Methods:
` + methodHelp() + `
With --formulation drpc, --app and --workload, trains DRPC into one model file: a
teacher that decides for all services at once, and for each service a student of 643
parameters that imitates it and decides alone (docs/drpc.md). With --checkpoint FOLDER
it may be killed at any moment: the same command goes on from there, and ends with the
same file to the byte. With --formulation
coscal, firm or asarsa, trains one of its rivals likewise, with as many steps
(docs/rivals.md).

With --formulation msars, trains MSARS: load-latency profiles are measured at several
sizes, the users' SLO is split among the services by --way, and TD3 learns to scale
each service to its part (docs/msars.md). --split none leaves the split out.

With --task, trains an agent in an environment. On the way it is evaluated now and then; the
policy of the best evaluation is written to the model file, together with what it
achieves on episodes of their own. The same seed gives the same file.

Interrupted, it goes on to the end of the episode and saves a checkpoint. The same
command with --resume goes on from there, and ends with the same file as a run
that was not interrupted. Long trainings save a checkpoint every five minutes too.
With --checkpoint one is also saved at the end: resumed with more --steps, and the
same --evaluate-every, the training goes on.

Environments and agents are those of "loadline study"; its help lists them.`,
		Example: `  # Eight candidates on two weeks of one's own cluster
  loadline history pull --prometheus http://localhost:9090 --namespace shop --since 14d -o past
  loadline train --history past --objective "99% < 300ms" -o shop
  loadline evaluate shop

  # On a model of an application, four methods
  loadline train --app bookinfo --workload week --methods drpc,msars,scaling-ops,loadline-dqn -o run

  # A teacher and its students, and the students at work
  loadline train --formulation drpc --app trainticket --workload day --peak 80 -o drpc.safetensors --log curve.csv
  loadline simulate --app trainticket --workload day --peak 80 --duration 3h --policy drpc:file=drpc.safetensors

  # The SLO split among the services, and an agent that steers by the parts
  loadline slo train --way meta --out split.safetensors
  loadline train --formulation msars --app sockshop --workload day --peak 300 --split split.safetensors --profiles sockshop.json -o msars.safetensors
  loadline simulate --app sockshop --workload day --peak 300 --duration 3h --policy msars:file=msars.safetensors

  # One agent in an environment
  loadline train --task cartpole --agent dqn:steps=3 --seed 1 --out cartpole.safetensors --log curves.csv
  loadline train --task cartpole --agent dqn:steps=3 --seed 1 --out cartpole.safetensors --resume cartpole.safetensors.checkpoint
  loadline model show cartpole.safetensors`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			steering, err := f.forMSARS(c.Flags())
			if err != nil {
				return err
			}
			if steering {
				return f.trainMSARS(c.Context(), c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
			}
			rival, err := f.forRival(c.Flags())
			switch {
			case err != nil:
				return err
			case rival != "":
				return f.trainRival(c.Context(), rival, c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
			}
			schooling, err := f.forSchool(c.Flags())
			if err != nil {
				return err
			}
			if schooling {
				return f.trainSchool(c.Context(), c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
			}
			candidates, err := f.forApplication(c.Flags())
			switch {
			case err != nil:
				return err
			case candidates:
				return f.trainRun(c.Context(), c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
			}
			return f.trainTask(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	f.run.add(flags)
	f.school.add(flags)
	addRivals(flags)
	f.msars.add(flags)
	flags.StringVar(&f.task, "task", "", "environment to learn, instead of an application")
	flags.StringVar(&f.agent, "agent", "", "name[:key=value,...] of an agent (dqn for choices, td3 for continuous actions)")
	flags.IntVar(&f.training.Steps, "steps", 0, "steps in the environment, of each candidate (as it needs)")
	flags.Uint64Var(&f.seed, "seed", 1, "of everything random")
	flags.IntVar(&f.training.LongestEpisode, "longest-episode", 0, "cut episodes off after so many steps (as the environment does)")
	flags.IntVar(&f.training.EvaluateEvery, "evaluate-every", 0, "steps between evaluations (a twentieth of --steps)")
	flags.IntVar(&f.training.Episodes, "episodes", 20, "episodes of an evaluation")
	flags.StringVarP(&f.out, "out", "o", "", "folder of the run, or with --task the model file to write")
	flags.StringVar(&f.log, "log", "", "write the learning curve to this CSV file, as it grows")
	flags.StringVar(&f.checkpoint, "checkpoint", "", "where to save what can be resumed (--resume, or --out with .checkpoint); with --formulation drpc a folder")
	flags.StringVar(&f.resume, "resume", "", "go on from this checkpoint")
	return c
}

func (f *trainFlags) trainTask(ctx context.Context, stdout, stderr io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	l, err := f.lesson()
	if err != nil {
		return err
	}
	keepLast := f.checkpoint != ""
	f.completePaths()
	if f.resume != "" {
		if err := l.restore(f.resume); err != nil {
			return err
		}
	}
	sideErr, err := f.learn(ctx, l, stderr)
	if err != nil {
		return errors.Join(err, sideErr)
	}
	if keepLast {
		sideErr = errors.Join(sideErr, l.save(f.checkpoint))
	}
	l.training.AdoptBest()
	score := rl.Evaluate(l.env, l.agent, ^f.seed, f.training.Episodes, f.training.LongestEpisode)
	model, err := l.model(f, score)
	if err == nil {
		err = model.Write(f.out)
	}
	if err != nil {
		return errors.Join(err, sideErr)
	}
	fmt.Fprintf(stdout, "%s on %s: mean return %.1f over %d episodes after %d steps", l.kind, l.task.Name, score.Mean(), f.training.Episodes, l.training.Steps())
	if !math.IsNaN(l.task.Solved) {
		fmt.Fprintf(stdout, " (solved from %g)", l.task.Solved)
	}
	fmt.Fprintf(stdout, "\nmodel: %s\n", f.out)
	return sideErr
}

// check reports every fault that can be seen before anything is made.
func (f *trainFlags) check() error {
	var faults []error
	for _, flag := range []struct {
		name         string
		value, least int
	}{
		{"steps", f.training.Steps, 0}, {"longest-episode", f.training.LongestEpisode, 0},
		{"evaluate-every", f.training.EvaluateEvery, 0}, {"episodes", f.training.Episodes, 1},
	} {
		if flag.value < flag.least {
			faults = append(faults, usagef("--%s is %d, must be at least %d", flag.name, flag.value, flag.least))
		}
	}
	if f.task == "" {
		faults = append(faults, usagef("--task is missing: the environment to learn; or --history, or --app and --workload, to train for an application"))
	}
	if f.out == "" {
		faults = append(faults, usagef("--out is missing: the model file to write"))
	}
	faults = append(faults, checkWritable("out", f.out), checkWritable("log", f.log), checkWritable("checkpoint", f.checkpoint))
	used := map[string]string{}
	for _, flag := range [][2]string{{"out", f.out}, {"log", f.log}, {"checkpoint", f.checkpoint}} {
		if other, twice := used[flag[1]]; twice && flag[1] != "" {
			faults = append(faults, usagef("--%s and --%s are the same file", other, flag[0]))
		}
		used[flag[1]] = flag[0]
	}
	return errors.Join(faults...)
}

func (f *trainFlags) completePaths() {
	switch {
	case f.checkpoint != "":
	case f.resume != "":
		f.checkpoint = f.resume
	default:
		f.checkpoint = f.out + ".checkpoint"
	}
}

// lesson is an agent in its environment, with what tells it from others.
type lesson struct {
	task     rl.Task
	env      rl.Env
	kind     string
	settings []rl.Setting
	agent    rl.Agent
	seed     uint64
	config   rl.TrainingConfig
	training *rl.Training
}

// lesson makes what is to be trained, and fills in what was left to the
// environment.
func (f *trainFlags) lesson() (*lesson, error) {
	task, err := taskNamed(f.task)
	if err != nil {
		return nil, err
	}
	env, err := task.New()
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", task.Name, err)
	}
	if f.agent == "" {
		f.agent = usualAgent(env.Spaces())
	}
	kind, recipe, err := study.NewRecipe(f.agent)
	if err != nil {
		return nil, usagef("--agent: %w", err)
	}
	agent, err := recipe.New(env.Spaces(), f.seed)
	if err != nil {
		return nil, usagef("--agent: %w", err)
	}
	if f.training.Steps == 0 {
		f.training.Steps = task.Steps
	}
	if f.training.EvaluateEvery == 0 {
		f.training.EvaluateEvery = max(1, f.training.Steps/20)
	}
	return &lesson{
		task: task, env: env, kind: kind.Name, settings: recipe.Settings(), agent: agent, seed: f.seed, config: f.training,
		training: rl.NewTraining(env, agent, f.seed, f.training),
	}, nil
}

// Archive implements saving. Whatever would let the training end elsewhere is a
// label, one by one, so that an error names what differs.
func (l *lesson) Archive(a *rl.Archive) {
	a.Label("task " + l.task.Name)
	a.Label("agent " + l.kind)
	for _, s := range l.settings {
		a.Label(s.Key + "=" + s.String())
	}
	a.Label(fmt.Sprintf("seed %d", l.seed))
	a.Label(fmt.Sprintf("%d episodes evaluated every %d steps", l.config.Episodes, l.config.EvaluateEvery))
	a.Label(fmt.Sprintf("longest episode %d", l.config.LongestEpisode))
	l.training.Archive(a)
}

func (l *lesson) save(path string) error {
	return atomicfile.Write(path, func(w io.Writer) error { _, err := w.Write(rl.Save(l)); return err })
}

func (l *lesson) restore(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return usagef("--resume: %w", err)
	}
	if err := rl.Restore(data, l); err != nil {
		return fmt.Errorf("resume from %s: %w", path, err)
	}
	if l.training.Steps() > l.config.Steps {
		return usagef("resume from %s: it has %d steps behind it, --steps is %d", path, l.training.Steps(), l.config.Steps)
	}
	return nil
}

// checkpointEvery is what a power cut may cost.
const checkpointEvery = 5 * time.Minute

// learn runs the training to its end. Failures to write the log or a checkpoint
// on the way do not stop it; they are told apart.
func (f *trainFlags) learn(ctx context.Context, l *lesson, stderr io.Writer) (sideErr, err error) {
	bar := newProgress(stderr, "train")
	bar.from = float64(l.training.Steps()) / float64(l.config.Steps)
	saved := time.Now()
	var checkpointErr error
	err = l.training.Run(ctx, rl.Hooks{
		Now: time.Now,
		Progress: func(p rl.Progress) {
			bar.what = describeProgress(p)
			bar.at(float64(p.Steps) / float64(p.Of))
		},
		EveryPoint: func(rl.Point) { _ = f.writeLog(l) }, // the last time tells
		AtEpisode: func(*rl.Training) {
			if time.Since(saved) > checkpointEvery {
				checkpointErr = l.save(f.checkpoint)
				saved = time.Now()
			}
		},
	})
	bar.done()
	if l.training.Steps() == 0 {
		return nil, err
	}
	logErr := f.writeLog(l)
	if err == nil {
		return errors.Join(logErr, checkpointErr), nil
	}
	if err := errors.Join(l.save(f.checkpoint), logErr); err != nil {
		return nil, err
	}
	return nil, &trainingInterrupted{l.training.Steps(), l.config.Steps, f.checkpoint}
}

// describeProgress leaves out what is not known yet.
func describeProgress(p rl.Progress) string {
	var parts []string
	for _, part := range []struct {
		format string
		value  float64
	}{{"return %.1f", p.Return}, {"evaluated %.1f", p.Evaluation}, {"loss %.3g", p.Loss}, {"%.0f steps/s", p.StepsPerSecond}} {
		if !math.IsNaN(part.value) {
			parts = append(parts, fmt.Sprintf(part.format, part.value))
		}
	}
	return "train: " + strings.Join(parts, ", ")
}

// trainingInterrupted is the error of a training that was asked to stop.
type trainingInterrupted struct {
	steps, of  int
	checkpoint string
}

func (e *trainingInterrupted) Error() string {
	return fmt.Sprintf("interrupted after %d of %d steps; the same command with --resume %s goes on from there", e.steps, e.of, e.checkpoint)
}

func (*trainingInterrupted) Unwrap() error { return context.Canceled }

// writeLog writes the learning curve so far; what is not known is empty.
func (f *trainFlags) writeLog(l *lesson) error {
	if f.log == "" {
		return nil
	}
	number := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return atomicfile.Write(f.log, func(w io.Writer) error {
		out := csv.NewWriter(w)
		_ = out.Write([]string{"steps", "episodes", "return", "loss", "evaluation"}) // Error tells
		for _, p := range l.training.Curve() {
			_ = out.Write([]string{strconv.Itoa(p.Steps), strconv.Itoa(p.Episodes), number(p.Return), number(p.Loss), number(p.Evaluation)})
		}
		out.Flush()
		return out.Error()
	})
}

// policySettings is what the card of a trained policy says of its training.
type policySettings struct {
	Task           string            `json:"task"`
	Agent          map[string]string `json:"agent"`
	Steps          int               `json:"steps"`
	LongestEpisode int               `json:"longest_episode,omitempty"`
	EvaluateEvery  int               `json:"evaluate_every"`
	Episodes       int               `json:"episodes"`
}

// model is the policy as a file: a network, or the values of a table.
func (l *lesson) model(f *trainFlags, score rl.Evaluation) (*modelfile.File, error) {
	s := policySettings{l.task.Name, map[string]string{}, l.config.Steps, l.config.LongestEpisode, l.config.EvaluateEvery, l.config.Episodes}
	for _, setting := range l.settings {
		s.Agent[setting.Key] = setting.String()
	}
	settings, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("settings of %s: %w", l.kind, err)
	}
	mean := modelfile.Result{Name: "mean return", On: fmt.Sprintf("%d episodes of their own", len(score.Returns)), Value: score.Mean()}
	if !math.IsNaN(l.task.Solved) {
		mean.Baseline, mean.Against = "solved", l.task.Solved
	}
	file := modelfile.New(modelfile.Card{
		Kind: "policy/" + l.kind, Settings: settings,
		Training: modelfile.Training{Data: l.task.Name + ": " + l.task.About, Samples: l.training.Steps(), Seed: f.seed, By: "loadline " + version},
		Results: []modelfile.Result{
			mean,
			{Name: "deviation of returns", On: mean.On, Value: score.Deviation()},
			{Name: "mean return, best evaluation", On: fmt.Sprintf("%d episodes that chose it", l.config.Episodes), Value: l.training.Best()},
		},
	})
	switch agent := l.agent.(type) {
	case interface{ Net() *nn.Net }:
		file.Add("policy", agent.Net())
	case interface{ Actor() *nn.Net }:
		file.Add("policy", agent.Actor())
	default:
		file.Arrays["values"] = l.agent.Weights()
	}
	return file, nil
}
