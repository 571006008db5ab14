package papers

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

// WriteText writes the report for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.Title)
	for _, s := range r.Setup {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	for _, t := range r.Tables {
		fmt.Fprintf(&b, "\n%s\n", t.Name)
		out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for i, row := range t.cells() {
			if i == 0 {
				for j := range row {
					row[j] = strings.ToUpper(row[j])
				}
			}
			fmt.Fprintf(out, "  %s\n", strings.Join(row, "\t"))
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if t.Note != "" {
			fmt.Fprintf(&b, "  %s\n", t.Note)
		}
	}
	fmt.Fprintf(&b, "\nWhat holds and what does not (%d seeds, 95 %% intervals)\n", r.Seeds)
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "  %s: %s\n    %s\n", strings.ToUpper(string(f.Verdict)), f.Claim, f.Because)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the report as a section of a document.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", r.Title)
	for _, s := range r.Setup {
		fmt.Fprintf(&b, "- %s\n", s)
	}
	for _, t := range r.Tables {
		fmt.Fprintf(&b, "\n**%s**\n\n", t.Name)
		for i, row := range t.cells() {
			for j := range row {
				row[j] = strings.ReplaceAll(row[j], "|", "\\|")
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(row)))
			}
		}
		if t.Note != "" {
			fmt.Fprintf(&b, "\n%s\n", t.Note)
		}
	}
	fmt.Fprintf(&b, "\n%d seeds, 95 %% intervals. What holds and what does not:\n\n", r.Seeds)
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "- **%s**: %s %s\n", f.Verdict, f.Claim, f.Because)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// cells of a table, the head first. The paper's columns are included only if it has a figure,
// and notes only if there is one.
func (t *Table) cells() [][]string {
	paper := make([]bool, len(t.Measures))
	notes := false
	for _, r := range t.Rows {
		notes = notes || r.Note != ""
		for i := range t.Measures {
			paper[i] = paper[i] || (i < len(r.Paper) && !math.IsNaN(float64(r.Paper[i])))
		}
	}
	head := []string{t.Of}
	for i, m := range t.Measures {
		if paper[i] {
			head = append(head, m.Name+" (paper)")
		}
		head = append(head, m.Name)
	}
	if notes {
		head = append(head, "note")
	}
	all := [][]string{head}
	for _, r := range t.Rows {
		row := []string{r.Name}
		for i, m := range t.Measures {
			if paper[i] {
				text := "-"
				if i < len(r.Paper) {
					text = number(r.Paper[i], -1)
				}
				row = append(row, text)
			}
			text := "-"
			if i < len(r.Ours) {
				text = spread(r.Ours[i], m.Digits)
			}
			row = append(row, text)
		}
		if notes {
			row = append(row, r.Note)
		}
		all = append(all, row)
	}
	return all
}

// number with the paper's digits (-1) or the given ones.
func number(n result.Number, digits int) string {
	v := float64(n)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case digits < 0:
		return fmt.Sprintf("%g", v)
	}
	return fmt.Sprintf("%.*f", digits, v)
}

// spread is a mean and half of its interval.
func spread(i bench.Interval, digits int) string {
	text := number(i.Mean, digits)
	half := float64(i.High-i.Low) / 2
	if text == "-" || math.IsNaN(half) {
		return text
	}
	return fmt.Sprintf("%s ± %.*f", text, digits, half)
}
