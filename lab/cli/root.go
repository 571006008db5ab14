// Package cli is the command line of loadline-lab, one file per verb: the papers'
// experiments, studies of learning agents, validation of the simulator and training of the
// learned rivals. What it shares with loadline is in internal/cli.
package cli

import (
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/cli"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/lab/rivals/trainer"
)

// registerRivals adds the learned rivals to the methods of every command.
var registerRivals = sync.OnceFunc(func() { policy.Register(trainer.Methods()...) })

// NewRoot is the command loadline-lab.
func NewRoot() *cobra.Command {
	registerRivals()
	root := cli.NewProgram("loadline-lab", []cli.Group{
		{Title: "Experiments", Commands: []*cobra.Command{newPaper(), newStudy(), newTrain()}},
		{Title: "Validation of the models", Commands: []*cobra.Command{newMeasure(), newDeploy(), newValidate(), newEngines(), newForecast()}},
		{Title: "Simulated cluster, with the learned rivals", Commands: comparisons()},
	})
	root.Short = "Experiments with Loadline: papers, studies, validation and learned rivals"
	root.Long = `loadline-lab is for researchers. It runs the experiments of the papers that Loadline is
built on, compares settings of learning agents, validates the simulator against measured
data, and trains the learned rivals CoScal, FIRM and A-SARSA. Its simulate and bench
have the rivals as policies.

What a platform engineer needs is in loadline.`
	root.Example = `  # A paper's figures next to ours
  loadline-lab paper scaling-ops

  # The fluid engine compared with the event engine, the simulator with measured data
  loadline-lab engines --quick
  loadline-lab validate cfs

  # A learned rival, trained and simulated
  loadline-lab train --formulation coscal --app bookinfo --workload day --peak 40 -o coscal.safetensors
  loadline-lab simulate --app bookinfo --workload day --peak 40 --policy coscal:file=coscal.safetensors`
	return root
}

// comparisons are loadline's commands, with examples for this program.
func comparisons() []*cobra.Command {
	all := cli.ComparisonCommands()
	for _, c := range all {
		nameProgram(c)
	}
	return all
}

func nameProgram(c *cobra.Command) {
	c.Example = strings.ReplaceAll(c.Example, "loadline ", "loadline-lab ")
	for _, sub := range c.Commands() {
		nameProgram(sub)
	}
}
