package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/suggest"
)

// NewRoot is the command loadline.
func NewRoot() *cobra.Command {
	root := NewProgram("loadline", []Group{
		{"Start", []*cobra.Command{newDoctor(), newInit()}},
		{"Operate", []*cobra.Command{newRun(), newUI(), newExplain(), newReplay(), newRightsize(), newTeacher(), newAgent()}},
		{"Evaluate", []*cobra.Command{newHistory(), newFit(), newTune(), newTrain(), newEvaluate(), newPromote(), newRetrain(), newModel()}},
		{"Simulate", []*cobra.Command{newSandbox(), newSimulate(), newBench(), newCalibrate(), newReport(), newApps(), newWorkload(),
			newProfile(), newSLO()}},
	})
	root.Short = "A learning autoscaler for Kubernetes, and a simulated cluster to evaluate it in"
	root.Long = `Loadline meets a service level objective at the lowest cost.

It reads an application's history from Prometheus, fits a simulated twin to it, trains
policies on the twin within a minute, and evaluates them on held-out history against the
autoscaler that you run today. In the cluster it scales what LoadLine resources name,
explains every decision, and falls back to a plain rule when data or model are missing.
The same policies can be simulated and benchmarked without a cluster.

Research commands (paper, study, validate, engines, forecast) are in loadline-lab.`
	root.Example = `  # In a cluster: check it, propose LoadLines for a namespace, and show what would be done now;
  # nothing is changed
  loadline doctor
  loadline init --namespace shop
  loadline run --once --dry-run

  # From your metrics to an evaluated policy
  loadline history pull --prometheus http://localhost:9090 --namespace shop --since 14d -o past
  loadline train --history past --objective "99% < 300ms" -o shop
  loadline evaluate shop
  loadline promote shop

  # Simulated cluster
  loadline sandbox                                        HPA and Loadline side by side, in a browser
  loadline simulate --app bookinfo --workload day --policy hpa --svg day.svg
  loadline bench --suite demo --out out/demo              policies compared
  loadline report out/demo                                HTML report`
	for _, name := range labCommands {
		root.AddCommand(newMoved(name))
	}
	return root
}

// ComparisonCommands are shared by loadline and loadline-lab. They have the policies that are
// registered when they are made.
func ComparisonCommands() []*cobra.Command {
	return []*cobra.Command{newSimulate(), newBench(), newCalibrate(), newReport(), newModel()}
}

// Group is a heading in a program's help with its commands.
type Group struct {
	Title    string
	Commands []*cobra.Command
}

// NewProgram is the root command of a program: its commands in groups, and those of every program.
func NewProgram(name string, groups []Group) *cobra.Command {
	root := &cobra.Command{
		Use:           name,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          Subcommands,
	}
	// Cobra's own flag would link text/template, with which the linker keeps every method.
	says := root.Flags().Bool("version", false, "print the version and exit")
	root.RunE = func(c *cobra.Command, _ []string) error {
		if *says {
			_, err := fmt.Fprintln(c.OutOrStdout(), versionLine(name))
			return err
		}
		return c.Help()
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return UsageError(flagHint(c, err))
	})
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.Title, Title: g.Title + ":"})
		for _, c := range g.Commands {
			c.GroupID = g.Title
		}
		root.AddCommand(g.Commands...)
	}
	root.AddCommand(newVersion(), newCompletion(name), newMan(), newSymbols(), newPod())
	addCompletions(root)
	return root
}

// Subcommands rejects a word that is not a subcommand, and suggests the closest one.
func Subcommands(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	return Usagef("unknown command %q for %q%s", args[0], c.CommandPath(), suggest.Hint(args[0], known))
}

// Exactly accepts as many arguments as there are names.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		if len(names) == 0 {
			return Usagef("%s takes no arguments, got %q", c.CommandPath(), strings.Join(args, " "))
		}
		return Usagef("%s needs %s; see %s --help", c.CommandPath(), strings.Join(names, " and "), c.CommandPath())
	}
}

// flagHint suggests the closest flag.
func flagHint(c *cobra.Command, err error) error {
	if strings.HasPrefix(err.Error(), "unknown shorthand flag: 'o'") {
		return Usagef("%s has no -o: it is short for --out, a path; the format of the result is --output", c.CommandPath())
	}
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
		return Usagef("unknown flag --%s; did you mean --%s?", name, near)
	}
	return Usagef("unknown flag --%s; see %s --help", name, c.CommandPath())
}
