package cli

import "github.com/spf13/cobra"

// What loadline-lab does: asked for here, the answer is where it went.
var (
	labCommands     = []string{"paper", "study", "validate", "engines", "forecast"}
	labTrainFlags   = []string{"task", "agent", "longest-episode", "resume"}
	labFormulations = []string{"coscal", "firm", "asarsa"}
)

// newMoved refuses a command that loadline-lab has, with whatever arguments.
func newMoved(name string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              "Moved to loadline-lab",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return movedError(name) },
	}
}

// movedError names the command line in loadline-lab.
func movedError(command string) error {
	return usagef("moved to loadline-lab: run loadline-lab %s", command)
}
