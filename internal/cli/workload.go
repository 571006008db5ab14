package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/workload"
)

func newWorkload() *cobra.Command {
	c := &cobra.Command{
		Use:   "workload",
		Short: "List and show workloads: request rates over time",
		Example: `  loadline workload list
  loadline workload show day
  loadline workload show 'diurnal:low=50,high=400+noise:cv=0.1+flash:at=13h,factor=5'
  loadline workload show rates.csv --peak 300 --svg rates.svg`,
		Args: subcommands,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newWorkloadList(), newWorkloadShow())
	return c
}

func newWorkloadList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List built-in workloads, generators and trace formats",
		Args:  exactly(),
		RunE:  func(c *cobra.Command, _ []string) error { return listWorkloads(c.OutOrStdout()) },
	}
}

func listWorkloads(w io.Writer) error {
	titles := map[string]string{
		"built-in":  "Built-in workloads",
		"generator": "Generators, to be joined by + with settings after a colon (constant:rps=50+noise:cv=0.1)",
		"format":    "Trace files, recognised by their header or columns, gzip or not",
	}
	var b strings.Builder
	group := ""
	for _, e := range workload.Known() {
		if e.Group != group {
			if group != "" {
				b.WriteByte('\n')
			}
			group = e.Group
			fmt.Fprintf(&b, "%s:\n", titles[group])
		}
		fmt.Fprintf(&b, "  %-24s %s\n", e.Name, e.Help)
		for _, k := range e.Keys {
			fmt.Fprintf(&b, "      %s\n", k)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
