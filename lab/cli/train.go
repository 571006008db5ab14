package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/cli"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/lab/rivals"
)

// trainFlags are the flags of both ways of training: an agent in an environment, or a learned
// rival on an application.
type trainFlags struct {
	task, agent, checkpoint, resume string
	formulation                     string
	output                          cli.Format
	scenario                        cli.ScenarioFlags
	training                        rl.TrainingConfig
	seed                            uint64
	out, log                        string
}

func newTrain() *cobra.Command {
	var f trainFlags
	c := &cobra.Command{
		Use:   "train",
		Short: "Train an agent in CartPole or Pendulum, or a learned rival on an application",
		Long: `With --task, trains an agent in an environment. It is evaluated at intervals; the policy
of the best evaluation is written to the model file, together with its result on episodes
of their own. The same seed gives the same file.

Interrupted, it finishes the episode and saves a checkpoint. The same command with
--resume continues from there, and ends with the same file as a run that was not
interrupted. Long trainings save a checkpoint every five minutes too. With --checkpoint
one is also saved at the end: resumed with more --steps, and the same --evaluate-every,
the training continues. Environments and agents are those of "loadline-lab study"; its
help lists them.

With --formulation ` + strings.Join(rivalNames(), ", ") + `, --app and --workload, trains one of
the learned autoscalers that DRPC is compared with into a model file (docs/rivals.md).
DRPC, MSARS and the candidates for an application are trained by loadline train.`,
		Example: `  # An agent in an environment
  loadline-lab train --task cartpole --agent dqn:steps=3 --seed 1 --out cartpole.safetensors --log curves.csv
  loadline-lab train --task cartpole --agent dqn:steps=3 --seed 1 --out cartpole.safetensors --resume cartpole.safetensors.checkpoint
  loadline-lab model show cartpole.safetensors

  # A learned rival, trained and simulated
  loadline-lab train --formulation coscal --app bookinfo --workload bursts --peak 40 --duration 1d -o coscal.safetensors
  loadline-lab simulate --app bookinfo --workload bursts --peak 40 --duration 3h --policy coscal:file=coscal.safetensors`,
		Args: cli.Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			rival, err := f.rival(c.Flags())
			switch {
			case err != nil:
				return err
			case rival != "":
				return f.trainRival(c.Context(), rival, c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
			}
			return f.trainTask(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f.add(c.Flags())
	return c
}

func (f *trainFlags) add(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVar(&f.task, "task", "", "environment to train in")
	flags.StringVar(&f.agent, "agent", "", "name[:key=value,...] of an agent (dqn for choices, td3 for continuous actions)")
	flags.IntVar(&f.training.LongestEpisode, "longest-episode", 0,
		"with --task: maximum steps of an episode (as the environment sets)")
	flags.StringVar(&f.checkpoint, "checkpoint", "",
		"with --task: where to save what can be resumed (--resume, or --out with .checkpoint)")
	flags.StringVar(&f.resume, "resume", "", "with --task: continue from this checkpoint")
	flags.StringVar(&f.formulation, "formulation", "", "learned rival to train: "+strings.Join(rivalNames(), ", "))
	f.scenario.Add(flags)
	f.output.Add(flags)
	flags.IntVar(&f.training.Steps, "steps", 0, "steps in the environment (as the environment sets)")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of all random numbers")
	flags.IntVar(&f.training.EvaluateEvery, "evaluate-every", 0, "steps between evaluations (with --task a twentieth of --steps)")
	flags.IntVar(&f.training.Episodes, "episodes", 20, "episodes of an evaluation")
	cli.OutVar(flags, &f.out, "model file to write")
	flags.StringVar(&f.log, "log", "", "write the learning curve to this CSV file, as it grows")
}

// Flags of one way of training only.
var (
	taskOnly  = []string{"task", "agent", "longest-episode", "checkpoint", "resume"}
	rivalOnly = []string{"app", "workload", "duration", "scale", "peak", "objective", "name"}
)

// rival to train; empty for an agent in an environment. Flags of the other way are rejected.
func (f *trainFlags) rival(flags *pflag.FlagSet) (rivals.Name, error) {
	of, other := "--formulation", rivalOnly
	if f.formulation != "" {
		of, other = "--task", taskOnly
	}
	var faults []error
	for _, name := range other {
		if flags.Changed(name) {
			faults = append(faults, cli.Usagef("--%s is for training with %s", name, of))
		}
	}
	if f.formulation == "" {
		return "", errors.Join(faults...)
	}
	if !slices.Contains(rivalNames(), f.formulation) {
		faults = append(faults, cli.Usagef("--formulation %q is not a learned rival%s; loadline train has the others",
			f.formulation, suggest.Hint(f.formulation, rivalNames())))
	}
	return rivals.Name(f.formulation), errors.Join(faults...)
}

func rivalNames() []string {
	var names []string
	for _, name := range rivals.Names() {
		names = append(names, string(name))
	}
	return names
}
