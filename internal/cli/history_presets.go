package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline/internal/metrics/prom"
)

func newHistoryPresets() *cobra.Command {
	var output Format
	c := &cobra.Command{
		Use:   "presets [NAME]",
		Short: "List the query sets for Prometheus, or print one to start your own with",
		Example: `  loadline history presets
  loadline history presets istio > mine.yaml
  loadline history pull --prometheus http://localhost:9090 --namespace shop --queries mine.yaml -o past`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return Usagef("%s takes one name at most, got %q", c.CommandPath(), strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listPresets(c.OutOrStdout(), &output)
			}
			text, err := prom.Text(args[0])
			if err != nil {
				return UsageError(err)
			}
			if output.Structured() {
				var fields any
				if err := yaml.Unmarshal(text, &fields); err != nil {
					return err
				}
				return output.Encode(c.OutOrStdout(), fields)
			}
			_, err = c.OutOrStdout().Write(text)
			return err
		},
	}
	output.Add(c.Flags())
	return c
}

func listPresets(out io.Writer, output *Format) error {
	type entry struct {
		Name  string `json:"name"`
		About string `json:"about"`
	}
	var entries []entry
	for _, name := range prom.Presets() {
		p, err := prom.Load(name)
		if err != nil {
			return err
		}
		entries = append(entries, entry{p.Name, p.About})
	}
	return output.Write(out, entries, func(w io.Writer) error {
		for _, e := range entries {
			if _, err := fmt.Fprintf(w, "%-18s%s\n", e.Name, e.About); err != nil {
				return err
			}
		}
		return nil
	})
}
