package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/report"
)

func newReport() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Render a bench as one HTML file: table, charts, every run over time",
		Long: `Reads a directory that bench has written and renders it as one HTML file: the
cheapest policy that meets the SLO, the table, cost against SLO violations with the
Pareto front, latency distributions, results under perturbations, and every run over
time with its decisions.

The file is self-contained: it can be mailed, archived and opened offline. The same
directory gives the same file, byte for byte. With a name that ends in .md only the
tables are written, as Markdown.`,
		Example: `  loadline bench --suite rivals --out out/rivals
  loadline report out/rivals
  loadline report out/rivals -o rivals.html
  loadline report out/rivals -o rivals.md`,
		Args: Exactly("the directory of a bench"),
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				out = filepath.Join(args[0], "report.html")
			}
			return writeReport(c, args[0], out)
		},
	}
	OutVar(c.Flags(), &out, "file to write: .html or .md (DIR/report.html)")
	return c
}

func writeReport(c *cobra.Command, dir, out string) error {
	if _, err := os.Stat(dir); err == nil { // else Read says what to do
		if err := CheckWritable("out", out); err != nil {
			return err
		}
	}
	write, err := reportWriter(dir, out)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(out, write); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), out)
	return err
}

// reportWriter chooses the form by the name of the file.
func reportWriter(dir, out string) (func(io.Writer) error, error) {
	switch filepath.Ext(out) {
	case ".html", ".htm":
	case ".md":
		r, err := report.Results(dir)
		if err != nil {
			return nil, err
		}
		return r.WriteMarkdown, nil
	default:
		return nil, Usagef("--out %s must end in .html or .md: a report is one of the two (a browser prints the HTML page as PDF)", out)
	}
	r, err := report.Read(dir)
	if err != nil {
		return nil, err
	}
	return r.WriteHTML, nil
}
