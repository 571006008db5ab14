package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

// newCompletion replaces cobra's command of the same name, whose help is about every shell at once.
func newCompletion(program string) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the script with which a shell completes commands, flags and their values",
		Long: strings.ReplaceAll(`Prints a script for bash, zsh, fish or powershell. With it the shell completes commands,
flags and values: applications, workloads, policies, folders of runs and histories; and,
from the cluster of your kubeconfig, namespaces, LoadLines and services.`, "PROGRAM", program),
		Example: strings.ReplaceAll(`  # bash, for this session and for all (needs the package bash-completion)
  source <(PROGRAM completion bash)
  PROGRAM completion bash > ~/.local/share/bash-completion/completions/PROGRAM

  # zsh, in a folder of $fpath; and fish
  PROGRAM completion zsh > ~/.zfunc/_PROGRAM
  PROGRAM completion fish > ~/.config/fish/completions/PROGRAM.fish`, "PROGRAM", program),
		Args: Exactly("the name of a shell: " + strings.Join(shells, ", ")),
		RunE: func(c *cobra.Command, args []string) error {
			root, out := c.Root(), c.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			}
			return Usagef("unknown shell %q: must be one of %s", args[0], strings.Join(shells, ", "))
		},
	}
}
