package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/draw"
	"github.com/loadline/loadline/internal/workload"
)

func newWorkloadShow() *cobra.Command {
	var f workloadFlags
	var svg string
	var output Format
	c := &cobra.Command{
		Use:   "show NAME|GENERATORS|FILE",
		Short: "Draw a workload in the terminal, and to an SVG file",
		Example: `  loadline workload show day
  loadline workload show bursts --duration 1h --seed 3
  loadline workload show rates.csv --peak 300 --svg rates.svg
  loadline workload show machine_usage.csv.gz --select m_1932 --rps-at-full 500`,
		Args: Exactly("a workload"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := CheckWritable("svg", svg); err != nil {
				return err
			}
			w, report, err := f.open(args[0])
			if err != nil {
				return err
			}
			if svg != "" {
				write := func(out io.Writer) error {
					_, err := out.Write(workloadFigure(w).SVG())
					return err
				}
				if err := atomicfile.Write(svg, write); err != nil {
					return err
				}
			}
			if output.Structured() {
				return output.Encode(c.OutOrStdout(), newWorkloadSummary(w))
			}
			return showWorkload(c.OutOrStdout(), w, report)
		},
	}
	c.Flags().SortFlags = false
	f.add(c.Flags())
	output.Add(c.Flags())
	c.Flags().StringVar(&svg, "svg", "", "draw it to this file as well")
	return c
}

// workloadSummary is what workload show prints as JSON or YAML.
type workloadSummary struct {
	Name     string    `json:"name"`
	Duration float64   `json:"duration_seconds"`
	Step     float64   `json:"step_seconds"`
	Requests float64   `json:"requests"`
	Mean     float64   `json:"mean_rate"`
	Peak     float64   `json:"peak_rate"`
	Rates    []float64 `json:"rates"` // requests per second in each step
}

func newWorkloadSummary(w *workload.Workload) workloadSummary {
	s := workloadSummary{Name: w.Name, Duration: w.Duration().Seconds(), Step: w.Step.Seconds(), Rates: w.Rates}
	for _, r := range w.Rates {
		s.Requests += r * s.Step
		s.Peak = max(s.Peak, r)
	}
	s.Mean = s.Requests / s.Duration
	return s
}

func showWorkload(out io.Writer, w *workload.Workload, report workload.Report) error {
	var b strings.Builder
	width, colour := Screen(out)
	b.WriteString(workloadFigure(w).Terminal(width, colour))
	sum := newWorkloadSummary(w)
	fmt.Fprintf(&b, "\n%v in %d bins of %v: %.4g requests, %.4g per second on average, %.4g at the peak\n",
		w.Duration(), len(w.Rates), w.Step, sum.Requests, sum.Mean, sum.Peak)
	if report.Format != "" {
		fmt.Fprintf(&b, "read as %s: %d rows, %d of them selected\n", report.Format, report.Rows, report.Selected)
	}
	if remark := leftOut(report); remark != "" {
		fmt.Fprintln(&b, remark)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// Screen is the width of the terminal, and whether to use colours.
func Screen(out io.Writer) (width int, colour bool) {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 80, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return min(width, 160), colourAllowed(os.Getenv)
}

// workloadFigure shows the rate, and the shares of the kinds if the workload
// has a mix of its own.
func workloadFigure(w *workload.Workload) draw.Figure {
	x := make([]float64, len(w.Rates))
	for i := range x {
		x[i] = float64(i) * w.Step.Seconds()
	}
	f := draw.Figure{Title: "Workload " + w.Name, Panels: []draw.Panel{{
		Title: "Load", Unit: "requests/s", Lines: []draw.Line{{Name: "arrivals", X: x, Y: w.Rates, Area: true}},
	}}}
	if m := w.Mix; m != nil {
		p := draw.Panel{Title: "Mix", Unit: "%"}
		for k, name := range m.Kinds {
			line := draw.Line{Name: name}
			for bin := range m.Bins() {
				shares := m.Shares[bin*len(m.Kinds) : (bin+1)*len(m.Kinds)]
				sum := 0.0
				for _, s := range shares {
					sum += s
				}
				line.X = append(line.X, float64(bin)*m.Step.Seconds()-m.Offset.Seconds())
				line.Y = append(line.Y, 100*shares[k]/sum)
			}
			p.Lines = append(p.Lines, line)
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}
