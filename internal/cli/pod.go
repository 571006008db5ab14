package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/jobs"
)

// newPod is what runs in the pods of a Job that --on kubernetes creates.
func newPod() *cobra.Command {
	c := &cobra.Command{
		Use: "pod", Short: "What runs in the pods of a Job that --on kubernetes creates", Hidden: true, Args: Subcommands,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	hold := &cobra.Command{
		Use: "hold", Short: "Hold the volume, for put and get, until it is stopped", Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			<-c.Context().Done()
			return nil
		},
	}
	put := &cobra.Command{
		Use: "put DIR", Short: "Unpack files from standard input", Args: Exactly("a folder"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return jobs.Unpack(c.InOrStdin(), args[0])
		},
	}
	get := &cobra.Command{
		Use: "get DIR", Short: "Pack a folder, or nothing if there is none, to standard output", Args: Exactly("a folder"),
		RunE: func(c *cobra.Command, args []string) error {
			return jobs.Pack(c.OutOrStdout(), jobs.Existing([]jobs.Path{{Here: args[0]}}))
		},
	}
	c.AddCommand(hold, put, get, newPodWork())
	return c
}

func newPodWork() *cobra.Command {
	var in, program string
	c := &cobra.Command{
		Use: "work --in DIR --program BUILD -- COMMAND", Short: "Run a command in a folder of the volume",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if mine := Build(); mine != program {
				return Usagef("the image has %s, and the Job was created by %s: results of two builds are not mixed; name an image of the "+
					"same build with --on-image", mine, program)
			}
			if err := os.MkdirAll(in, 0o755); err != nil {
				return err
			}
			if err := os.Chdir(in); err != nil {
				return err
			}
			root := c.Root()
			root.SetArgs(args)
			return root.ExecuteContext(c.Context())
		},
	}
	c.Flags().StringVar(&in, "in", "", "folder to run it in")
	c.Flags().StringVar(&program, "program", "", "the build that this must be")
	return c
}
