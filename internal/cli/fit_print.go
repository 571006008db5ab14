package cli

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loadline/loadline/internal/draw"
	"github.com/loadline/loadline/internal/twin"
)

// printFit prints how accurate a twin is, and what it is based on.
func printFit(w io.Writer, file string, t *twin.Twin) error {
	r := &t.Report
	fmt.Fprintf(w, "%s: %s and %s, fitted to %s .. %s, scored on the rest up to %s\n\n", file,
		count(len(t.App.Services), "service", "services"), count(len(t.App.Kinds), "kind of request", "kinds of requests"),
		r.From.UTC().Format(time.DateTime), r.Cut.UTC().Format(time.DateTime), r.Until.UTC().Format(time.DateTime))
	fmt.Fprintf(w, "Median relative error on held-out history, far from saturation | near it (by requests: the twin\n"+
		"in the event engine, over %s of %v at loads from the lowest to the highest):\n",
		count(r.Stretches, "stretch", "stretches"), twin.StretchSpan)
	fmt.Fprintln(w)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "SERVICE\tMODEL\tCPU\tMEAN\tP99\tMINUTES\tSEEN PER REPLICA\tBUSIEST")
	for i := range r.Services {
		s := &r.Services[i]
		row := func(name, model string, sc twin.Scores, rest string) {
			fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\n", name, model, bothErrors(sc.CPU), bothErrors(sc.Mean), bothErrors(sc.P99), rest)
		}
		row(s.Service, "twin", s.Twin, fmt.Sprintf("%d | %d\t%.3g..%.3g/s\t%s", s.Twin.CPU.FarOf, s.Twin.CPU.NearOf, s.LowestRate,
			s.HighestRate, missPercent(s.Busiest)))
		fmt.Fprintf(tab, "\tby requests\t%s\t%s\t%s\t\t\t\n", missPercent(s.Events.CPU.All), missPercent(s.Events.Mean.All),
			missPercent(s.Events.P99.All))
		row("", "linear", s.Linear, "\t\t")
		row("", "linear + intercept", s.Kept, "\t\t")
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	printFound(w, tab, t)
	if err := printRanges(w, tab, t); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe linear model predicts the %s better with its intercept for %d of %d services; Scaling-Ops drops it.\n",
		t.Linear[0].Metric, keptBetter(r), len(r.Services))
	if len(r.Assumed) > 0 {
		fmt.Fprintf(w, "\nAssumed, because the history does not contain it (marked !guess in the file):\n")
		for _, line := range grouped(r.Assumed) {
			fmt.Fprintf(tab, "  %s\t%s\n", line[0], line[1])
		}
		if err := tab.Flush(); err != nil {
			return err
		}
	}
	if len(r.Warnings) > 0 {
		fmt.Fprintln(w)
		for _, warning := range r.Warnings {
			fmt.Fprintln(w, "warning:", warning)
		}
	}
	neighbours := ""
	if n := t.Cluster.Neighbours; n.Use > 0 || n.Request > 0 || n.Memory > 0 {
		neighbours = fmt.Sprintf(" --neighbours use=%g,request=%g,memory=%g", n.Use, n.Request, n.Memory)
	}
	_, err := fmt.Fprintf(w, "\nTry it: loadline simulate --app %s --workload day --policy hpa%s\n", file, neighbours)
	return err
}

// printFound lists the fitted services, and the end-to-end errors of the kinds of requests.
func printFound(w io.Writer, tab *tabwriter.Writer, t *twin.Twin) {
	fmt.Fprintln(w, "\nFound:")
	fmt.Fprintln(w)
	fmt.Fprintln(tab, "SERVICE\tCPU/REQUEST\tIDLE\tWAIT\tWORKERS\tMEMORY\tSTART-UP\tBEYOND THE FITTED RANGE")
	for i, s := range t.App.Services {
		fmt.Fprintf(tab, "%s\t%v (cv %.2g)\t%.3gm\t%v (cv %.2g)\t%d\t%dMi + %dKi/request\t%v\t%s of the held-out part\n", s.Name,
			s.CPU.Mean, s.CPU.CV, 1000*s.IdleCPU,
			s.Wait.Mean, s.Wait.CV, s.Workers, s.Memory.Base>>20, s.Memory.PerRequest>>10, s.Startup.Mean,
			missPercent(t.Report.Services[i].Beyond))
	}
	fmt.Fprintln(tab)
	fmt.Fprintln(tab, "KIND\tTWIN: MEAN\tTWIN: P99\tBY REQUESTS: MEAN\tP99\tOBJECTIVE")
	for i, k := range t.Report.Kinds {
		slo := t.App.Kinds[i].SLO
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%g %% within %v\n", k.Kind, bothErrors(k.Mean), bothErrors(k.P99),
			missPercent(k.EventMean), missPercent(k.EventP99), slo.Percentile, slo.Latency)
	}
	tab.Flush() // an error of the buffer is reported by the next write
	printWorks(w, tab, t)
	for _, s := range t.Report.Services {
		for _, c := range s.Changes {
			fmt.Fprintf(w, "  %s changed at %s: %v of CPU per request before, %v after\n", s.Service, c.At.UTC().Format(time.DateTime),
				c.Before, c.After)
		}
	}
}

// printWorks lists the services at which kinds of requests cost different CPU time.
func printWorks(w io.Writer, tab *tabwriter.Writer, t *twin.Twin) {
	printed := false
	for i := range t.Report.Services {
		s := &t.Report.Services[i]
		if len(s.Work) < 2 || !differ(s.Work) {
			continue
		}
		if !printed {
			fmt.Fprintln(w)
			fmt.Fprintln(tab, "SERVICE\tKIND\tCPU/REQUEST\tSTANDARD ERROR")
			printed = true
		}
		name := s.Service
		for _, work := range s.Work {
			cpu := time.Duration(float64(work.CPU) * float64(time.Second)).Round(time.Microsecond)
			fmt.Fprintf(tab, "%s\t%s\t%v\t%s\n", name, strings.Join(work.Kinds, ", "), cpu, missPercent(work.Error))
			name = ""
		}
	}
	tab.Flush() // as above
}

func differ(list []twin.WorkReport) bool {
	return slices.ContainsFunc(list, func(w twin.WorkReport) bool { return w.CPU != list[0].CPU })
}

func keptBetter(r *twin.Report) int {
	n := 0
	for i := range r.Services {
		if r.Services[i].Kept.Mean.All < r.Services[i].Linear.Mean.All {
			n++
		}
	}
	return n
}

// grouped lists assumptions by their reason: forty services with one default are one line.
func grouped(list []twin.Assumption) [][2]string {
	var lines [][2]string
	at := map[string]int{}
	more := map[string]int{}
	for _, a := range list {
		if i, known := at[a.Why]; known {
			more[a.Why]++
			lines[i][0] = fmt.Sprintf("%s and %d more", list[firstOf(list, a.Why)].Field, more[a.Why])
			continue
		}
		at[a.Why] = len(lines)
		lines = append(lines, [2]string{a.Field + " = " + a.Value, a.Why})
	}
	return lines
}

func firstOf(list []twin.Assumption, why string) int {
	for i := range list {
		if list[i].Why == why {
			return i
		}
	}
	return 0
}

func bothErrors(s twin.Score) string { return missPercent(s.Far) + " | " + missPercent(s.Near) }

func missPercent(n twin.Number) string {
	v := 100 * float64(n)
	switch {
	case math.IsNaN(v):
		return "-"
	case v >= 1000:
		return ">1000 %"
	case v < 10:
		return fmt.Sprintf("%.1f %%", v)
	}
	return fmt.Sprintf("%.0f %%", v)
}

// kneeFigure draws the load-latency profile of a service: measurements, the twin, and the
// linear model.
func kneeFigure(t *twin.Twin, service string) (draw.Figure, error) {
	at := -1
	for i := range t.Report.Services {
		s := &t.Report.Services[i]
		if len(s.Curve) == 0 || (service != "" && s.Service != service) {
			continue
		}
		if at < 0 || s.Busiest > t.Report.Services[at].Busiest {
			at = i
		}
	}
	if at < 0 {
		return draw.Figure{}, fmt.Errorf("there is no load-latency profile to draw of %s: its response times were not measured", service)
	}
	s := &t.Report.Services[at]
	f := draw.Figure{
		Title: "Load and latency of " + s.Service,
		Subtitle: "Points are trimmed means of the minutes at about the same load, in the fitted part of the history. " +
			"The linear model is Scaling-Ops' regressor with its intercept if that predicts better.",
		XUnit:  "% of the CPU limit in use",
		Panels: []draw.Panel{{Title: "mean", Unit: "s", Height: 220}, {Title: "p99", Unit: "s", Height: 220}},
	}
	line := func(panel int, name string, dots bool, y func(twin.CurvePoint) twin.Number) {
		l := draw.Line{Name: name, Dots: dots}
		for _, c := range s.Curve {
			l.X = append(l.X, 100*float64(c.Load))
			l.Y = append(l.Y, float64(y(c)))
		}
		f.Panels[panel].Lines = append(f.Panels[panel].Lines, l)
	}
	line(0, "measured", true, func(c twin.CurvePoint) twin.Number { return c.Mean })
	line(0, "twin", false, func(c twin.CurvePoint) twin.Number { return c.TwinMean })
	line(0, "linear model", false, func(c twin.CurvePoint) twin.Number { return c.Linear })
	line(1, "measured", true, func(c twin.CurvePoint) twin.Number { return c.P99 })
	line(1, "twin", false, func(c twin.CurvePoint) twin.Number { return c.TwinP99 })
	line(1, "linear model", false, func(c twin.CurvePoint) twin.Number { return c.LinearP99 })
	return f, nil
}
