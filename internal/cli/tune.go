package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/pipeline"
)

type tuneFlags struct {
	subject runFlags
	judge   evaluateFlags
	policy  string
	out     string
	seed    uint64
}

func newTune() *cobra.Command {
	var f tuneFlags
	c := &cobra.Command{
		Use:   "tune [RUN]",
		Short: "Find the best plain deployment: autoscaler settings, CPU requests and limits, without any training",
		Long: `Searches the settings of a plain deployment on the twin of an application, and judges the best on
held-out history against what you run today. No agent is trained, and nothing of Loadline has to run
in the cluster: what it recommends are Kubernetes' and KEDA's own resources.

What is searched:
  autoscaler    HPA's CPU target, or KEDA's request rate for each pod; scale-down window, scale-up steps
  CPU requests  kept, or a percentile (95, 90) of what pods use
  CPU limits    kept, doubled, or lifted
  floors        least replicas by the hour and by working day or weekend, from the load of the history
  reserve       placeholder pods that keep room on the nodes; only with an elastic --pool
--axes Horizontal leaves sizes as they are; --policy hpa searches that rule alone, and settings that are
given with it are fixed.

How: every setting runs on the busiest stretch of the second part of the history in the fluid engine,
the best on the steepest too, and the best of these in the event engine on nodes of which others use
0, 50, 70 and 85 %. The worst run counts for the SLO: a setting that breaks one stretch is out, however
cheap it is. Of the others the cheapest is chosen. It may change replicas at most --max-churn times as
often as HPA at its defaults. --neighbours use=0 says that the nodes are yours alone.

Then it is judged once on the last part of the history, as loadline evaluate judges candidates. The
verdict is the first line, and the exit code:
  3  keep       what you run today is as good
  4  change     these settings
  5  undecided  and what would decide it
  6  refused    too much is guessed, or the history is of a release that is gone

--output yaml prints the manifests for kubectl, --output json all figures and every setting that was
tried; --verbose prints how they ranked. Everything is kept in a folder (--out): if it is interrupted,
the same command resumes. A folder of loadline train can be tuned too: loadline tune RUN.`,
		Example: `  loadline tune --history past --objective "99% < 300ms"
  loadline tune --history past --objective "99% < 300ms" --today hpa:target=50 -o shop --verbose
  loadline tune shop --output yaml
  loadline tune --history past --axes Horizontal --policy hpa
  loadline tune --app bookinfo --workload day --peak 60 --neighbours use=0 --output yaml`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return Exactly("the folder of a run")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), c.Flags(), args, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	f.subject.addSubject(flags)
	flags.StringVar(&f.policy, "policy", bench.Rules, "rule to search, such as hpa, keda or hpa:limits=keep; rules = hpa and keda")
	f.out = "tune"
	OutVar(flags, &f.out, "folder of the run")
	flags.Uint64Var(&f.seed, "seed", 1, "with --app: seed of the workload and of the recording")
	f.judge.rules = true
	f.judge.add(flags, guard.AxisNames())
	return c
}

func (f *tuneFlags) run(ctx context.Context, flags *pflag.FlagSet, args []string, stdout, stderr io.Writer) error {
	policy := f.policy
	if policy == bench.Rules {
		policy = ""
	}
	f.judge.prefer = string(pipeline.PreferCost)
	if err := f.judge.check(); err != nil {
		return err
	}
	f.judge.baselines = pipeline.TunedBaselines(policy, f.judge.axes)
	if len(args) == 1 {
		if err := f.ownFolder(flags); err != nil {
			return err
		}
		return f.judge.run(ctx, args[0], stdout, stderr)
	}
	if err := errors.Join(append(f.subject.checkSubject("the history is missing"), checkFolder(f.out))...); err != nil {
		return err
	}
	subject, err := f.subject.subject(ctx, f.seed, stderr)
	if err != nil {
		return err
	}
	printNotes(stderr, subject.Notes)
	if err := f.begin(subject); err != nil {
		return err
	}
	return f.judge.run(ctx, f.out, stdout, stderr)
}

// begin the folder, or continue it. Candidates that it has stay.
func (f *tuneFlags) begin(subject *pipeline.Subject) error {
	lock, err := lockFolder(f.out)
	if err != nil {
		return err
	}
	defer lock.Close()
	var candidates []pipeline.Candidate
	if before, err := pipeline.OpenRun(f.out); err == nil && !f.judge.redo {
		for _, c := range before.Candidates {
			candidates = append(candidates, c.Candidate)
		}
	}
	_, err = pipeline.Begin(f.out, Build(), subject, candidates, f.judge.redo)
	return err
}

// ownFolder rejects flags of the history beside the folder of a run, which has its own.
func (f *tuneFlags) ownFolder(flags *pflag.FlagSet) error {
	var faults []error
	var subject pflag.FlagSet
	new(runFlags).addSubject(&subject)
	subject.VisitAll(func(flag *pflag.Flag) {
		if flags.Changed(flag.Name) {
			faults = append(faults, Usagef("--%s does not go with a run, which has its own history", flag.Name))
		}
	})
	if flags.Changed("out") {
		faults = append(faults, Usagef("--out does not go with a run: what is found is kept in its folder"))
	}
	return errors.Join(faults...)
}
