package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// symbol is a sign that stands for something in what commands print.
type symbol struct{ sign, meaning string }

// symbols is the one legend: a sign means the same in the output of every command, and docs/glossary.md
// has the same table.
var symbols = []symbol{
	{"-", "not measured, not known, or does not apply; never zero"},
	{"*", "after a difference: its 95 % interval leaves out zero"},
	{"+-, ±", "before half the width of a 95 % interval"},
	{"!", "a bill below the bound, which nothing can have that meets the SLO in every run"},
	{"->", "in a table: from one value to another; below a finding: what to do"},
	{"<0.01 %", "above zero, and less than can be shown"},
	{"├─ └─ │", "in a tree: a call, made after the one above it"},
	{"╓ ╟ ╙ ║", "in a tree: calls that are made in parallel"},
	{"▶", "in a graph: the service that is called"},
	{"×3", "in a tree: the call is made three times"},
	{"━ ╌", "in a figure: a line, and a level such as the SLO"},
	{"│ ┤ ╵", "in a figure: its axes"},
	{"≤", "at the lower edge of a figure: this value or less"},
	{"A, B, C", "in a figure: a point, named in the legend below it"},
	{"▁▂▃▄▅▆▇█", "values over time; the highest of the row is █"},
	{"…", "cut to the width"},
}

// newSymbols is the legend as a help topic.
func newSymbols() *cobra.Command {
	widest := 0
	for _, s := range symbols {
		widest = max(widest, len([]rune(s.sign)))
	}
	var b strings.Builder
	b.WriteString("What signs mean in the output of all commands:\n\n")
	for _, s := range symbols {
		b.WriteString("  " + s.sign + strings.Repeat(" ", widest-len([]rune(s.sign))+2) + s.meaning + "\n")
	}
	b.WriteString("\nVerdicts and states are green if all is well, yellow if unclear and red if not; the words say\n" +
		"the same. There are no colours with NO_COLOR set, with TERM=dumb, and off a terminal.\n")
	return &cobra.Command{Use: "symbols", Short: "What signs mean in the output of all commands", Long: strings.TrimRight(b.String(), "\n")}
}
