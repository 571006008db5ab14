package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/suggest"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "loadline",
		Short: "A learning autoscaler for Kubernetes, and a cluster in memory to prove it in",
		Long: `Loadline keeps a service level at the lowest cost: as full as is safe, and no fuller.

It takes the past of an application from Prometheus, fits a twin to it, trains
policies on the twin within a minute, and proves them on the part of the past that
nobody has seen, against the autoscaler that you run today. In the cluster it looks
after LoadLine resources, explains every decision, and falls back to a plain rule when
it cannot know better. Below that are a cluster in memory, the rivals as they are
deployed, and a bench that treats them fairly.`,
		Example: `  # From your metrics to a proven policy
  loadline history pull --prometheus http://localhost:9090 --namespace shop --since 14d -o past
  loadline train --history past --objective "99% < 300ms" -o shop
  loadline evaluate shop
  loadline promote shop

  # In a cluster: what it lacks, and what would be done now; nothing is changed
  loadline doctor
  loadline run --once --dry-run

  # A cluster in memory
  loadline simulate --app bookinfo --workload day --policy hpa --svg day.svg
  loadline bench --suite demo --out out/demo              policies compared
  loadline report out/demo                                one page of it`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          subcommands,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{flagHint(c, err)}
	})
	root.AddCommand(newApps(), newWorkload(), newSimulate(), newBench(), newCalibrate(), newReport(), newEngines(), newValidate(), newForecast(), newModel(), newTrain(), newEvaluate(), newPromote(), newStudy(), newPaper(), newHistory(), newFit(), newProfile(), newSLO(), newRun(), newTeacher(), newAgent(), newDoctor(), newExplain(), newReplay(), newVersion())
	return root
}

// subcommands refuses words that are none, and says which one was meant.
func subcommands(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	return usagef("unknown command %q for %q%s", args[0], c.CommandPath(), suggest.Hint(args[0], known))
}

// exactly takes so many arguments, described by names.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		if len(names) == 0 {
			return usagef("%s takes no arguments, got %q", c.CommandPath(), strings.Join(args, " "))
		}
		return usagef("%s needs %s; see %s --help", c.CommandPath(), strings.Join(names, " and "), c.CommandPath())
	}
}

// flagHint names the flag that was meant.
func flagHint(c *cobra.Command, err error) error {
	name, found := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !found {
		return err
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near := suggest.Of(name, known); near != "" {
		return usagef("unknown flag --%s; did you mean --%s?", name, near)
	}
	return usagef("unknown flag --%s; see %s --help", name, c.CommandPath())
}
