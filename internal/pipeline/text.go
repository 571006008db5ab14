package pipeline

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/loadline/loadline/internal/result"
)

// WriteVerdict writes the verdict, the objective and what the verdict rests on. An objective that
// was assumed comes first.
func (e *Evaluation) WriteVerdict(w io.Writer) error {
	var b strings.Builder
	objective := "Objective: " + joined(e.Objective, 4) + "\n"
	assumptions := e.Assumptions
	if len(assumptions) > 0 && strings.HasPrefix(assumptions[0], "The objective is assumed") {
		b.WriteString(assumptions[0] + " " + objective)
		objective, assumptions = "", assumptions[1:]
	}
	fmt.Fprintf(&b, "%s\n%s", e.Verdict.Sentence, objective)
	for _, list := range [][]string{e.Verdict.Reasons, assumptions} {
		for _, line := range list {
			fmt.Fprintf(&b, "  - %s\n", line)
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteText writes the tables of an evaluation: the test part, and if verbose the selection and
// Scaling-Ops' environment too.
func (e *Evaluation) WriteText(w io.Writer, verbose bool) error {
	if e.Verdict.Kind == Refused {
		return nil
	}
	var b strings.Builder
	e.writeTest(&b)
	e.writeServices(&b)
	if verbose {
		e.writeConditions(&b)
		e.writeSelection(&b)
		e.writeTried(&b)
		e.writePods(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (e *Evaluation) writeTest(b *strings.Builder) {
	fmt.Fprintf(b, "Test part, request by request (axes %s; %s each, %s; intervals are 95 %% over %d planned looks):\n",
		strings.Join(e.Settings.Axes, ", "), counted(e.Seeds, "run"), counted(e.Looks, "look"), mostLooks)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, s := range e.Stretches {
		fmt.Fprintf(t, "  %s\t%s to %s\tmean %.3g requests/s, at most %.3g\tstands for %.0f %% of the time\n", s.Name, stamp(s.From),
			s.To.UTC().Format("15:04"), float64(s.MeanRate), float64(s.MaxRate), 100*float64(s.Weight))
	}
	t.Flush()
	t = tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "  \tdeployment\t%s/month\tagainst today\tover SLO\tworst stretch\tlatency/SLO\treplicas\treplica changes/h\t"+
		"resizes/h\tfront\t\n", e.Currency)
	place := 0
	for i := range e.Entries {
		entry := &e.Entries[i]
		rank := "-"
		if entry.SLO == Yes && entry.Role != RoleReference {
			place++
			rank = fmt.Sprint(place)
		}
		front := ""
		if entry.Front {
			front = "yes"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\t%.2f\t%.1f\t%.1f\t%.1f\t%s\t%s\n", rank, entry.name(), money(entry.PerMonth),
			entry.AgainstToday.text(), result.Percent(entry.Over), result.Percent(entry.WorstOver), float64(entry.SLORatio),
			float64(entry.Replicas), float64(entry.ReplicaChanges), float64(entry.Resizes), front, entry.remark())
	}
	t.Flush()
	if e.Selection.Choice != "" {
		fmt.Fprintf(b, "  Candidates run behind the guard with %s as fallback; their difference to today includes Loadline's own %s %s "+
			"a month.\n", RuleName(e.Selection.Fallback), money(e.Own), e.Currency)
	}
	b.WriteByte('\n')
}

// writeServices compares today's cost with that of what the verdict is about, service by service.
func (e *Evaluation) writeServices(b *strings.Builder) {
	today, other := e.Entry(TodayLabel), e.Entry(e.Selection.Choice)
	if e.Verdict.Kind == Change {
		other = e.withPolicy(e.Verdict.Policy)
	}
	if today == nil || other == nil || today == other {
		return
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "  service\ttoday, %s/month\t%s\tcores\tGiB\t\n", e.Currency, other.Label)
	for _, s := range today.Services {
		i := slices.IndexFunc(other.Services, func(o ServiceCost) bool { return o.Name == s.Name })
		if i < 0 {
			continue
		}
		o := other.Services[i]
		fmt.Fprintf(t, "  %s\t%s\t%s\t%.2f -> %.2f\t%.2f -> %.2f\t\n", s.Name, money(s.PerMonth), money(o.PerMonth), float64(s.Cores),
			float64(o.Cores), float64(s.GiB), float64(o.GiB))
	}
	t.Flush()
	b.WriteByte('\n')
}

// writeSelection shows how the rule and the candidate were chosen.
func (e *Evaluation) writeSelection(b *strings.Builder) {
	s := &e.Selection
	fmt.Fprintf(b, "Selection, on the part before the test: rule %s", s.Rule)
	if s.Choice != "" {
		fmt.Fprintf(b, ", candidate %s by %s", s.Choice, e.Prefer)
	}
	b.WriteByte('\n')
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "  deployment\t%s/month\tover SLO\tworst stretch\t%s\tlatency/SLO\tchanges/h\t\n", e.Currency, s.Busy)
	for i := range s.Entries {
		entry, busy := &s.Entries[i], ""
		if s.Busy != "" {
			busy = result.Percent(entry.BusyOver)
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%.2f\t%.1f\t%s\n", entry.name(), money(entry.PerMonth), result.Percent(entry.Over),
			result.Percent(entry.WorstOver), busy, float64(entry.SLORatio), float64(entry.changes()), sitsOn(entry.Bound))
	}
	t.Flush()
	b.WriteByte('\n')
}

// writePods is the table of Scaling-Ops' paper.
func (e *Evaluation) writePods(b *strings.Builder) {
	b.WriteString("On ENV2, Scaling-Ops' equations, over the whole test part: policies without guard, by mean pods, as the paper ranks\n")
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

// name with the settings of a rule.
func (e *Entry) name() string {
	if e.Role == RoleCandidate {
		return e.Label
	}
	if name := RuleName(e.Policy); e.Label == TodayLabel || e.Calibrated {
		return e.Label + ": " + name
	}
	return e.Label
}

// text of a difference; a star if it is clear.
func (d *Difference) text() string {
	if d == nil {
		return "-"
	}
	star := ""
	if d.Saves == Yes || d.Saves == No && d.Low > 0 {
		star = " *"
	}
	return signed(d.Mean) + star
}

func (e *Entry) remark() string {
	var words []string
	switch e.SLO {
	case No:
		words = append(words, "SLO violated")
	case Unclear:
		words = append(words, "SLO unclear")
	}
	if e.Role == RoleReference {
		words = append(words, "oracle")
	}
	if on := sitsOn(e.Bound); on != "" {
		words = append(words, on)
	}
	if len(e.NotAllowed) > 0 {
		words = append(words, "may not change "+strings.Join(e.NotAllowed, ", "))
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

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
