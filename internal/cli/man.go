package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/atomicfile"
)

func newMan() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "man -o DIR",
		Short: "Write the manual pages of all commands",
		Long: `Writes one manual page for each command to a folder, such as loadline-history-pull.1. They
have what --help prints. loadline writes those of kubectl-loadline too.`,
		Example: `  loadline man -o ~/.local/share/man/man1
  man loadline-simulate`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if out == "" {
				return Usagef("%s needs --out, the folder of the pages", c.CommandPath())
			}
			roots := []*cobra.Command{c.Root()}
			if c.Root().Name() == "loadline" {
				roots = append(roots, NewPlugin())
			}
			return writeManuals(c.OutOrStdout(), out, roots)
		},
	}
	OutVar(c.Flags(), &out, "folder of the pages; it is made if it does not exist")
	return c
}

func writeManuals(stdout io.Writer, dir string, roots []*cobra.Command) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	written := 0
	var visit func(c *cobra.Command) error
	visit = func(c *cobra.Command) error {
		if c.Hidden || c.Name() == "help" { // help prints what the pages have
			return nil
		}
		page := manual(c)
		err := atomicfile.Write(filepath.Join(dir, manualName(c)+".1"), func(w io.Writer) error {
			_, err := w.Write(page)
			return err
		})
		if err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		written++
		for _, sub := range c.Commands() {
			if err := visit(sub); err != nil {
				return err
			}
		}
		return nil
	}
	for _, root := range roots {
		if err := visit(root); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(stdout, "%d manual pages in %s\n", written, dir)
	return err
}

// manualName is the name of a command's page: loadline-history-pull.
func manualName(c *cobra.Command) string {
	name := c.Name()
	for c.HasParent() {
		c = c.Parent()
		name = c.Name() + "-" + name
	}
	return name
}

// manual is a command's page, in the macros of man(7).
func manual(c *cobra.Command) []byte {
	var b bytes.Buffer
	// Without a date: the same program writes the same pages.
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q \"Loadline\"\n", strings.ToUpper(manualName(c)), "loadline "+version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manualName(c)), roff(c.Short))
	b.WriteString(".SH SYNOPSIS\n")
	if c.Runnable() || !c.HasSubCommands() {
		fmt.Fprintf(&b, ".B %s\n", roff(c.UseLine()))
	}
	if c.HasSubCommands() {
		fmt.Fprintf(&b, ".br\n.B %s\nCOMMAND\n", roff(c.CommandPath()))
	}
	b.WriteString(".SH DESCRIPTION\n")
	prose(&b, c.Long)
	if c.Long == "" {
		prose(&b, c.Short+".")
	}
	manualCommands(&b, c)
	c.InitDefaultHelpFlag()
	if c.Flags().HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		c.Flags().VisitAll(func(f *pflag.Flag) { manualFlag(&b, f) })
	}
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n")
		for line := range strings.Lines(c.Example) {
			b.WriteString(roffLine(strings.TrimPrefix(strings.TrimRight(line, "\n"), "  ")))
		}
		b.WriteString(".fi\n")
	}
	if c.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(manualName(c.Parent())))
	}
	return b.Bytes()
}

func manualCommands(b *bytes.Buffer, c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	b.WriteString(".SH COMMANDS\n")
	groups := append(c.Groups(), &cobra.Group{Title: "Others"})
	for _, g := range groups {
		first := true
		for _, sub := range c.Commands() {
			if sub.GroupID != g.ID || !sub.IsAvailableCommand() || sub.Name() == "help" {
				continue
			}
			if first && len(groups) > 1 {
				fmt.Fprintf(b, ".SS %s\n", roff(strings.TrimSuffix(g.Title, ":")))
			}
			first = false
			fmt.Fprintf(b, ".TP\n.BR %s (1)\n%s\n", roff(manualName(sub)), roff(sub.Short))
		}
	}
}

func manualFlag(b *bytes.Buffer, f *pflag.Flag) {
	if f.Hidden {
		return
	}
	kind, usage := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	fmt.Fprintf(b, ".TP\n\\fB%s\\fR", roff(name))
	if kind != "" {
		fmt.Fprintf(b, " \\fI%s\\fR", roff(kind))
	}
	b.WriteString("\n" + roffLine(usage))
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && f.DefValue != "0s" {
		b.WriteString(roffLine("Default: " + f.DefValue + "."))
	}
}

// prose writes paragraphs. Lines that are indented are a table: they stay as they are.
func prose(b *bytes.Buffer, text string) {
	table := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if indented := strings.HasPrefix(line, "  "); indented != table {
			table = indented
			if table {
				b.WriteString(".nf\n")
			} else {
				b.WriteString(".fi\n")
			}
		}
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roffLine(line))
	}
	if table {
		b.WriteString(".fi\n")
	}
}

// roffLine is a line of text that is no request, whatever it begins with.
func roffLine(line string) string {
	if line == "" {
		return ".sp\n"
	}
	return "\\&" + roff(line) + "\n"
}

// roff escapes text: a hyphen is written as a minus, so that options can be copied and searched, and
// what is not ASCII by its number, as not every roff reads UTF-8.
func roff(text string) string {
	var b strings.Builder
	for _, r := range strings.NewReplacer("\\", "\\e", "-", "\\-", "\n", " ", "\"", "\\(dq").Replace(text) {
		if r > 0x7e {
			fmt.Fprintf(&b, "\\[u%04X]", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
