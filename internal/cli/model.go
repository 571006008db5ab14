package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/modelfile"
)

func newModel() *cobra.Command {
	c := &cobra.Command{
		Use:     "model",
		Short:   "Inspect model files",
		Example: `  loadline model show gru.safetensors`,
		Args:    Subcommands,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newModelShow())
	return c
}

func newModelShow() *cobra.Command {
	var output Format
	c := &cobra.Command{
		Use:   "show FILE",
		Short: "Print a model's card: its kind, training data and results",
		Long: `Prints the model card in a model file. The file is checked first, as before use: a
truncated, unknown, newer, wrongly shaped or modified file is refused.

Model files are safetensors: other tools can read the weights.`,
		Example: `  loadline model show gru.safetensors
  loadline model show gru.safetensors --output json`,
		Args: Exactly("a model file"),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := modelfile.Open(args[0])
			if err != nil {
				return err
			}
			if output.Structured() {
				return output.Encode(c.OutOrStdout(), f.Card)
			}
			return printCard(c.OutOrStdout(), args[0], f)
		},
	}
	output.Add(c.Flags())
	return c
}

func printCard(w io.Writer, path string, f *modelfile.File) error {
	card, t := f.Card, tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\n\n", path)
	fmt.Fprintf(t, "KIND\t%s\n", card.Kind)
	fmt.Fprintf(t, "PARAMETERS\t%d in %d networks\n", f.Parameters(), len(card.Networks))
	fmt.Fprintf(t, "TRAINED ON\t%s\n", card.Training.Data)
	if !card.Training.To.IsZero() {
		fmt.Fprintf(t, "\tfrom %s to %s\n", card.Training.From.UTC().Format("2006-01-02 15:04"),
			card.Training.To.UTC().Format("2006-01-02 15:04"))
	}
	fmt.Fprintf(t, "SAMPLES\t%d\n", card.Training.Samples)
	fmt.Fprintf(t, "SEED\t%d\n", card.Training.Seed)
	if card.Training.By != "" {
		fmt.Fprintf(t, "TRAINED BY\t%s\n", card.Training.By)
	}
	for _, line := range settingLines(card.Settings) {
		fmt.Fprintf(t, "SETTING\t%s\n", line)
	}
	for _, line := range card.Architectures() {
		fmt.Fprintf(t, "NETWORK\t%s\n", line)
	}
	if len(card.Features) > 0 {
		fmt.Fprintln(t, "\nFEATURE\tMEAN\tSPREAD")
		for _, x := range card.Features {
			fmt.Fprintf(t, "%s\t%.5g\t%.5g\n", x.Name, x.Mean, x.Spread)
		}
	}
	if len(card.Results) > 0 {
		fmt.Fprintln(t, "\nRESULT\tVALUE\tAGAINST\tON")
		for _, r := range card.Results {
			against := "-"
			if r.Baseline != "" {
				against = fmt.Sprintf("%.4g (%s)", r.Against, r.Baseline)
			}
			fmt.Fprintf(t, "%s\t%.4g\t%s\t%s\n", r.Name, r.Value, against, r.On)
		}
	}
	return t.Flush()
}

// longestSetting is where a setting is truncated in the text; --output json has all of it.
const longestSetting = 300

// settingLines are a card's settings, one to a line.
func settingLines(settings json.RawMessage) []string {
	var of map[string]json.RawMessage
	if len(settings) == 0 || json.Unmarshal(settings, &of) != nil {
		return nil
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		value := []rune(string(of[name]))
		if len(value) > longestSetting {
			value = append(value[:longestSetting], []rune("... (--output json has all of it)")...)
		}
		lines = append(lines, name+" "+string(value))
	}
	return lines
}
