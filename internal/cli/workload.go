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
		Args: Subcommands,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newWorkloadList(), newWorkloadShow())
	return c
}

func newWorkloadList() *cobra.Command {
	var output Format
	c := &cobra.Command{
		Use:   "list",
		Short: "List built-in workloads, generators and trace formats",
		Args:  Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			type entry struct {
				Group string   `json:"group"`
				Name  string   `json:"name"`
				About string   `json:"about"`
				Keys  []string `json:"keys,omitempty"`
			}
			var entries []entry
			for _, e := range workload.Known() {
				entries = append(entries, entry{e.Group, e.Name, e.Help, e.Keys})
			}
			return output.Write(c.OutOrStdout(), entries, listWorkloads)
		},
	}
	output.Add(c.Flags())
	return c
}

func listWorkloads(w io.Writer) error {
	titles := map[string]string{
		"built-in":  "Built-in workloads",
		"generator": "Generators, joined by +, with settings after a colon (constant:rps=50+noise:cv=0.1)",
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
