package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/metrics/prom"
)

func newHistoryPresets() *cobra.Command {
	return &cobra.Command{
		Use:   "presets [NAME]",
		Short: "List the query sets for Prometheus, or print one to begin your own with",
		Example: `  loadline history presets
  loadline history presets istio > mine.yaml
  loadline history pull --prometheus http://localhost:9090 --namespace shop --queries mine.yaml -o past`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s takes one name at most, got %q", c.CommandPath(), strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listPresets(c.OutOrStdout())
			}
			text, err := prom.Text(args[0])
			if err != nil {
				return usageError{err}
			}
			_, err = c.OutOrStdout().Write(text)
			return err
		},
	}
}

func listPresets(out io.Writer) error {
	for _, name := range prom.Presets() {
		p, err := prom.Load(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%-18s%s\n", p.Name, p.About); err != nil {
			return err
		}
	}
	return nil
}
