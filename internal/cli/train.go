package cli

import (
	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/rl"
)

type trainFlags struct {
	run                  runFlags // of candidates for an application
	drpc                 drpcFlags
	msars                msarsFlags
	seed                 uint64
	training             rl.TrainingConfig
	out, log, checkpoint string
}

func newTrain() *cobra.Command {
	var f trainFlags
	c := &cobra.Command{
		Use:   "train",
		Short: "Train candidate policies on an application's history",
		Long: `With --history, or --app and --workload, trains candidate policies for an
application: fits its twin, holds out the last part of the history, and trains
several candidates side by side, of the methods that --methods names (--formulations
is its former name). The planner, which needs no training, competes too. Candidates of one method differ by seed and, where the method has
variants, by reward and discount. Everything is written to one folder, which loadline
evaluate and loadline promote read. With an application's model instead of a history,
a run under HPA is recorded first. docs/pipeline.md describes the pipeline.

Finished candidates are saved. If it is interrupted, the same command trains the
missing ones. Methods:
` + methodHelp() + `
With --formulation drpc, --app and --workload, trains DRPC into one model file: a
teacher that decides for all services at once, and for each service a student of 643
parameters that imitates it and decides alone (docs/drpc.md). With --checkpoint FOLDER
it may be killed at any moment: the same command resumes and writes the same file,
byte for byte.

With --formulation msars, trains MSARS: load-latency profiles are measured at several
sizes, the users' SLO is split among the services by --way, and TD3 learns to scale
each service to its part (docs/msars.md). --split none leaves the split out.

Agents in CartPole and Pendulum, and the learned rivals CoScal, FIRM and A-SARSA, are
trained by loadline-lab train.`,
		Example: `  # Eight candidates on two weeks of one's own cluster
  loadline history pull --prometheus http://localhost:9090 --namespace shop --since 14d -o past
  loadline train --history past --objective "99% < 300ms" -o shop
  loadline evaluate shop

  # On a model of an application, four methods
  loadline train --app bookinfo --workload week --methods drpc,msars,scaling-ops,loadline-dqn -o run

  # A teacher and its students, and a simulation of the students
  loadline train --formulation drpc --app trainticket --workload day --peak 80 -o drpc.safetensors --log curve.csv
  loadline simulate --app trainticket --workload day --peak 80 --duration 3h --policy drpc:file=drpc.safetensors

  # The SLO split among the services, and an agent that scales each to its share
  loadline slo train --way meta --out split.safetensors
  loadline train --formulation msars --app sockshop --workload day --peak 300 \
    --split split.safetensors --profiles sockshop.json -o msars.safetensors
  loadline simulate --app sockshop --workload day --peak 300 --duration 3h --policy msars:file=msars.safetensors`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			steering, err := f.forMSARS(c.Flags())
			if err != nil {
				return err
			}
			if steering {
				return f.trainMSARS(c.Context(), c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
			}
			drpc, err := f.forDRPC(c.Flags())
			if err != nil {
				return err
			}
			if drpc {
				return f.trainDRPC(c.Context(), c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
			}
			if err := f.forApplication(c.Flags()); err != nil {
				return err
			}
			return f.trainRun(c.Context(), c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	f.run.add(flags)
	f.drpc.add(flags)
	f.msars.add(flags)
	flags.IntVar(&f.training.Steps, "steps", 0, "environment steps of each candidate (as the method sets)")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of all random numbers")
	flags.IntVar(&f.training.EvaluateEvery, "evaluate-every", 0, "with --formulation: steps between evaluations")
	flags.IntVar(&f.training.Episodes, "episodes", 20, "with --formulation: episodes of an evaluation")
	OutVar(flags, &f.out, "folder of the run, or with --formulation the model file to write")
	flags.StringVar(&f.log, "log", "", "with --formulation: write the learning curve to this CSV file, as it grows")
	flags.StringVar(&f.checkpoint, "checkpoint", "", "with --formulation drpc: folder from which an interrupted training resumes")
	return c
}
