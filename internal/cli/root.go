package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/suggest"
)

// NewRoot is the command loadline.
func NewRoot() *cobra.Command {
	root := NewProgram("loadline", []Group{
		{"From history to a proven policy", []*cobra.Command{newHistory(), newFit(), newTrain(), newEvaluate(), newPromote(), newModel()}},
		{"In a cluster", []*cobra.Command{newDoctor(), newRun(), newExplain(), newReplay(), newTeacher(), newAgent()}},
		{"A cluster in memory", []*cobra.Command{newSimulate(), newBench(), newCalibrate(), newReport()}},
		{"Applications, load and service levels", []*cobra.Command{newApps(), newWorkload(), newProfile(), newSLO()}},
	})
	root.Short = "A learning autoscaler for Kubernetes, and a simulated cluster to evaluate it in"
	root.Long = `Loadline keeps a service level objective at the lowest cost.

It reads an application's history from Prometheus, fits a simulated twin to it, trains
policies on the twin within a minute, and evaluates them on held-out history against the
autoscaler that you run today. In the cluster it scales what LoadLine resources name,
explains every decision, and falls back to a plain rule when data or model are missing.
The same policies can be simulated and benchmarked without a cluster.

Research commands (paper, study, validate, engines, forecast) are in loadline-lab.`
	root.Example = `  # From your metrics to a proven policy
  loadline history pull --prometheus http://localhost:9090 --namespace shop --since 14d -o past
  loadline train --history past --objective "99% < 300ms" -o shop
  loadline evaluate shop
  loadline promote shop

  # In a cluster: what is missing, and what would be done now; nothing is changed
  loadline doctor
  loadline run --once --dry-run

  # A cluster in memory
  loadline simulate --app bookinfo --workload day --policy hpa --svg day.svg
  loadline bench --suite demo --out out/demo              policies compared
  loadline report out/demo                                one page of it`
	for _, name := range labCommands {
		root.AddCommand(newMoved(name))
	}
	return root
}

// Group is a heading in a program's help with its commands.
type Group struct {
	Title    string
	Commands []*cobra.Command
}

// NewProgram is the root command of a program: its commands in groups, and version.
func NewProgram(name string, groups []Group) *cobra.Command {
	root := &cobra.Command{
		Use:           name,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          subcommands,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{flagHint(c, err)}
	})
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.Title, Title: g.Title + ":"})
		for _, c := range g.Commands {
			c.GroupID = g.Title
		}
		root.AddCommand(g.Commands...)
	}
	root.AddCommand(newVersion())
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
	if c.CommandPath() == "loadline train" && slices.Contains(labTrainFlags, name) {
		return movedError("train --" + name)
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near := suggest.Of(name, known); near != "" {
		return usagef("unknown flag --%s; did you mean --%s?", name, near)
	}
	return usagef("unknown flag --%s; see %s --help", name, c.CommandPath())
}
