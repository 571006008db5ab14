package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// Commands whose result is a file, or that only group others.
var withoutFormat = []string{"loadline-lab", "loadline-lab report", "loadline-lab model", "loadline-lab forecast",
	"loadline-lab measure", "loadline-lab measure contention", "loadline-lab measure server", "loadline-lab measure awake",
	"loadline-lab completion", "loadline-lab man", "loadline-lab symbols"}

func TestOutputIsAlwaysAFormatAndOAlwaysAPath(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden { // for programs
			return
		}
		flag := c.Flags().Lookup("output")
		switch {
		case flag == nil && !slices.Contains(withoutFormat, c.CommandPath()):
			t.Errorf("%s has no --output", c.CommandPath())
		case flag != nil && flag.Value.Type() != "format":
			t.Errorf("%s --output is not a cli.Format", c.CommandPath())
		}
		if flag := c.Flags().ShorthandLookup("o"); flag != nil && (flag.Name != "out" || flag.Value.Set("json") == nil) {
			t.Errorf("%s -o is --%s, or takes the name of a format", c.CommandPath(), flag.Name)
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(NewRoot())
}
