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

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/cli"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/lab/study"
)

func (f *trainFlags) trainTask(ctx context.Context, stdout, stderr io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	l, err := f.newTaskTraining()
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
	return errors.Join(f.printTask(stdout, l, score.Mean()), sideErr)
}

// printTask prints the result of the final evaluation.
func (f *trainFlags) printTask(stdout io.Writer, l *taskTraining, mean float64) error {
	report := struct {
		Task       string   `json:"task"`
		Agent      string   `json:"agent"`
		Steps      int      `json:"steps"`
		Episodes   int      `json:"episodes"`
		MeanReturn float64  `json:"mean_return"`
		Solved     *float64 `json:"solved_from,omitempty"`
		Model      string   `json:"model"`
	}{l.task.Name, l.kind, l.training.Steps(), f.training.Episodes, mean, nil, f.out}
	if !math.IsNaN(l.task.Solved) {
		report.Solved = &l.task.Solved
	}
	return f.output.Write(stdout, report, func(w io.Writer) error {
		fmt.Fprintf(w, "%s on %s: mean return %.1f over %d episodes after %d steps", l.kind, l.task.Name, mean,
			f.training.Episodes, l.training.Steps())
		if report.Solved != nil {
			fmt.Fprintf(w, " (solved from %g)", *report.Solved)
		}
		_, err := fmt.Fprintf(w, "\nmodel: %s\n", f.out)
		return err
	})
}

// check reports every fault of the flags.
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
			faults = append(faults, cli.Usagef("--%s is %d, must be at least %d", flag.name, flag.value, flag.least))
		}
	}
	if f.task == "" {
		faults = append(faults, cli.Usagef("give --task with the environment to train in, or --formulation with the "+
			"learned rival to train"))
	}
	if f.out == "" {
		faults = append(faults, cli.Usagef("--out is missing: the model file to write"))
	}
	faults = append(faults, cli.CheckWritable("out", f.out), cli.CheckWritable("log", f.log),
		cli.CheckWritable("checkpoint", f.checkpoint))
	used := map[string]string{}
	for _, flag := range [][2]string{{"out", f.out}, {"log", f.log}, {"checkpoint", f.checkpoint}} {
		if other, twice := used[flag[1]]; twice && flag[1] != "" {
			faults = append(faults, cli.Usagef("--%s and --%s are the same file", other, flag[0]))
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

// taskTraining is an agent in its environment, with what identifies the training.
type taskTraining struct {
	task     rl.Task
	env      rl.Env
	kind     string
	settings []rl.Setting
	agent    rl.Agent
	seed     uint64
	config   rl.TrainingConfig
	training *rl.Training
}

// newTaskTraining makes the agent and its environment, and fills in the environment's
// defaults.
func (f *trainFlags) newTaskTraining() (*taskTraining, error) {
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
		return nil, cli.Usagef("--agent: %w", err)
	}
	agent, err := recipe.New(env.Spaces(), f.seed)
	if err != nil {
		return nil, cli.Usagef("--agent: %w", err)
	}
	if f.training.Steps == 0 {
		f.training.Steps = task.Steps
	}
	if f.training.EvaluateEvery == 0 {
		f.training.EvaluateEvery = max(1, f.training.Steps/20)
	}
	return &taskTraining{
		task: task, env: env, kind: kind.Name, settings: recipe.Settings(), agent: agent, seed: f.seed, config: f.training,
		training: rl.NewTraining(env, agent, f.seed, f.training),
	}, nil
}

// Archive implements saving. Everything that affects the result is a label of its own, so that
// an error names what differs.
func (l *taskTraining) Archive(a *rl.Archive) {
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

func (l *taskTraining) save(path string) error {
	return atomicfile.Write(path, func(w io.Writer) error { _, err := w.Write(rl.Save(l)); return err })
}

func (l *taskTraining) restore(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return cli.Usagef("--resume: %w", err)
	}
	if err := rl.Restore(data, l); err != nil {
		return fmt.Errorf("resume from %s: %w", path, err)
	}
	if l.training.Steps() > l.config.Steps {
		return cli.Usagef("resume from %s: it has %d steps already, --steps is %d", path, l.training.Steps(), l.config.Steps)
	}
	return nil
}

// learn runs the training to its end. Failures to write the log or a checkpoint do not stop it;
// they are returned separately.
func (f *trainFlags) learn(ctx context.Context, l *taskTraining, stderr io.Writer) (sideErr, err error) {
	bar := cli.NewProgress(stderr, "train")
	bar.From(float64(l.training.Steps()) / float64(l.config.Steps))
	saved := time.Now()
	var checkpointErr error
	err = l.training.Run(ctx, rl.Hooks{
		Now: time.Now,
		Progress: func(p rl.Progress) {
			bar.Describe(describeProgress(p))
			bar.At(float64(p.Steps) / float64(p.Of))
		},
		EveryPoint: func(rl.Point) { _ = f.writeLog(l) }, // the last write reports its error
		AtEpisode: func(*rl.Training) {
			if time.Since(saved) > cli.CheckpointEvery {
				checkpointErr = l.save(f.checkpoint)
				saved = time.Now()
			}
		},
	})
	bar.Done()
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
	return nil, cli.Interruptedf("interrupted after %d of %d steps; the same command with --resume %s resumes it",
		l.training.Steps(), l.config.Steps, f.checkpoint)
}

// describeProgress omits what is not known yet.
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

// writeLog writes the learning curve so far; unknown values are empty.
func (f *trainFlags) writeLog(l *taskTraining) error {
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
		_ = out.Write([]string{"steps", "episodes", "return", "loss", "evaluation"}) // Error reports
		for _, p := range l.training.Curve() {
			_ = out.Write([]string{strconv.Itoa(p.Steps), strconv.Itoa(p.Episodes), number(p.Return), number(p.Loss),
				number(p.Evaluation)})
		}
		out.Flush()
		return out.Error()
	})
}

// policySettings describes the training in the model file.
type policySettings struct {
	Task           string            `json:"task"`
	Agent          map[string]string `json:"agent"`
	Steps          int               `json:"steps"`
	LongestEpisode int               `json:"longest_episode,omitempty"`
	EvaluateEvery  int               `json:"evaluate_every"`
	Episodes       int               `json:"episodes"`
}

// model is the policy as a file: a network, or the values of a table.
func (l *taskTraining) model(f *trainFlags, score rl.Evaluation) (*modelfile.File, error) {
	s := policySettings{l.task.Name, map[string]string{}, l.config.Steps, l.config.LongestEpisode, l.config.EvaluateEvery,
		l.config.Episodes}
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
		Training: modelfile.Training{Data: l.task.Name + ": " + l.task.About, Samples: l.training.Steps(), Seed: f.seed,
			By: cli.TrainedBy()},
		Results: []modelfile.Result{
			mean,
			{Name: "deviation of returns", On: mean.On, Value: score.Deviation()},
			{Name: "mean return, best evaluation", On: fmt.Sprintf("%d episodes that chose it", l.config.Episodes),
				Value: l.training.Best()},
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
