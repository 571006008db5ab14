package cli

import "github.com/spf13/cobra"

// Commands, flags and formulations that moved to loadline-lab: loadline refuses them and names it.
var (
	labCommands     = []string{"paper", "study", "validate", "engines", "forecast"}
	labTrainFlags   = []string{"task", "agent", "longest-episode", "resume"}
	labFormulations = []string{"coscal", "firm", "asarsa"}
)

// newMoved refuses a command that moved to loadline-lab, with any arguments.
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
	return Usagef("moved to loadline-lab: run loadline-lab %s", command)
}
