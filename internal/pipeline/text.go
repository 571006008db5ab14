package pipeline

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/loadline/loadline/internal/result"
)

// WriteText writes the tables of an evaluation.
func (e *Evaluation) WriteText(w io.Writer) error {
	var b strings.Builder
	e.writePods(&b)
	e.writeCost(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// writePods is the paper's table.
func (e *Evaluation) writePods(b *strings.Builder) {
	b.WriteString("On ENV2, Scaling-Ops' equations, over the whole held-out part: by mean pods, as the paper ranks\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  \tpolicy\tmean pods\tover SLA\tdelay\tat min\tat max\t")
	for i, label := range e.ByPods {
		entry := e.Entry(label)
		s := entry.ENV2
		fmt.Fprintf(t, "  %d\t%s\t%.2f\t%s\t%s\t%s\t%s\t%s\n", i+1, label, float64(s.MeanPods), result.Percent(s.OverSLA),
			milliseconds(float64(s.Delay)),
			result.Percent(s.AtMin), result.Percent(s.AtMax), sitsOn(s.Bound))
	}
	reasons := map[string][]string{}
	var order []string
	for i := range e.Entries {
		entry := &e.Entries[i]
		if entry.ENV2 != nil {
			continue
		}
		fmt.Fprintf(t, "  -\t%s\t-\t-\t-\t-\t-\t\n", entry.Label)
		if !slices.Contains(order, entry.NotENV2) {
			order = append(order, entry.NotENV2)
		}
		reasons[entry.NotENV2] = append(reasons[entry.NotENV2], entry.Label)
	}
	t.Flush()
	for _, reason := range order {
		fmt.Fprintf(b, "  -: %s (%s)\n", reason, listed(reasons[reason]))
	}
	b.WriteByte('\n')
}

// writeCost writes the figures of the event engine.
func (e *Evaluation) writeCost(b *strings.Builder) {
	seeds := fmt.Sprintf("%d seeds", e.Seeds)
	if e.Seeds == 1 {
		seeds = "1 seed"
	}
	fmt.Fprintf(b, "Request by request on stretches of the held-out part, %s each:\n", seeds)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, s := range e.Stretches {
		fmt.Fprintf(t, "  %s\t%s to %s\tmean %.3g requests/s, at most %.3g\n", s.Name, stamp(s.From), s.To.UTC().Format("15:04"),
			float64(s.MeanRate), float64(s.MaxRate))
	}
	t.Flush()
	fmt.Fprintf(b, "By cost with the SLO met (at most %.0f %% of the requests over it in every run):\n", 100*result.CountsIf)
	t = tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	against := "against the rule"
	if rule := e.Entry(e.Rule); rule != nil {
		against = "against " + rule.Label
	}
	fmt.Fprintf(t, "  \tpolicy\tcore-hours\t%s\tover SLO\tworst run\tlatency/SLO\treplicas\tchanges/h\tfront\t\n", against)
	place := 0
	for i := range e.Entries {
		entry := &e.Entries[i]
		rank := "-"
		if entry.Met && entry.Role != RoleReference {
			place++
			rank = fmt.Sprint(place)
		}
		front := ""
		if entry.Front {
			front = "*"
		}
		fmt.Fprintf(t, "  %s\t%s\t%.4g\t%s\t%s\t%s\t%.2f\t%.1f\t%.1f\t%s\t%s\n", rank, entry.name(), float64(entry.CoreHours),
			entry.difference(),
			result.Percent(entry.Over), result.Percent(entry.WorstOver), float64(entry.SLORatio), float64(entry.Replicas),
			float64(entry.Changes), front, entry.remark())
	}
	t.Flush()
	b.WriteByte('\n')
}

// name with the calibrated setting, if any.
func (e *Entry) name() string {
	if _, settings, _ := strings.Cut(e.Policy, ":"); e.Calibrated && settings != "" {
		return e.Label + " " + strings.ReplaceAll(settings, ",", ", ")
	}
	return e.Label
}

// difference to the rule; a star if the interval excludes zero.
func (e *Entry) difference() string {
	if e.Against == nil || math.IsNaN(float64(e.Against.Mean)) {
		return "-"
	}
	star := ""
	if e.Against.Low > 0 || e.Against.High < 0 {
		star = " *"
	}
	return fmt.Sprintf("%+.1f %%%s", 100*float64(e.Against.Mean), star)
}

func (e *Entry) remark() string {
	var words []string
	if !e.Met {
		words = append(words, "SLO violated")
	}
	if e.Role == RoleReference {
		words = append(words, "oracle")
	}
	if on := sitsOn(e.Bound); on != "" {
		words = append(words, on)
	}
	return strings.Join(words, "; ")
}

func sitsOn(bound string) string {
	if bound == "" {
		return ""
	}
	return "stays at its " + bound
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.3g ms", 1000*seconds) }
