package advice

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/loadline/loadline/internal/result"
)

// Changed reports whether anything is proposed.
func (r *Rightsizing) Changed() bool {
	for _, s := range r.Services {
		if s.After != s.Today {
			return true
		}
	}
	return false
}

// Documents are the patches to apply, one for each Deployment that changes.
func (r *Rightsizing) Documents(t Target) []Document {
	t.App = r.app
	var all []Document
	for i, s := range r.Services {
		if s.After == s.Today {
			continue
		}
		d := t.Patch(i, s.size)
		d.Comments = append(d.Comments, fmt.Sprintf("%.2f %s per month today, %.2f after.", s.Month.Today, r.Currency, s.Month.After))
		d.Comments = append(d.Comments, s.Why...)
		all = append(all, d)
	}
	if len(all) > 0 {
		all[0].Comments = append([]string{r.Sentence()}, all[0].Comments...)
	}
	return all
}

// Sentence is the answer.
func (r *Rightsizing) Sentence() string {
	changes := r.changes()
	slo := fmt.Sprintf("SLO %s kept with nodes %.0f %% busy (%.2f %% of requests over it, today %.2f %%)", r.Objective,
		100*r.Check.Neighbours, 100*r.Check.OverAfter, 100*r.Check.OverToday)
	if !r.Check.Kept {
		slo = fmt.Sprintf("but no size that was tried keeps the SLO %s with nodes %.0f %% busy (%.2f %% of requests over it, today %.2f %%)",
			r.Objective, 100*r.Check.Neighbours, 100*r.Check.OverAfter, 100*r.Check.OverToday)
	}
	switch saves := r.Saves(); {
	case changes == "":
		return fmt.Sprintf("Nothing to change: requests and limits fit the use, %.2f %s per month; %s.", r.Month.Today, r.Currency, slo)
	case saves >= 0.005:
		return fmt.Sprintf("Saves %.2f of %.2f %s per month (%.0f %%), %s: %s.", saves, r.Month.Today, r.Currency, 100*saves/r.Month.Today, slo,
			changes)
	default:
		return fmt.Sprintf("Costs %.2f %s more per month than the %.2f today, %s: %s.", -saves, r.Currency, r.Month.Today, slo,
			changes)
	}
}

// mostNamed is how many services the answer names; the table has all.
const mostNamed = 3

// changes in words, those with the most money first; empty = none.
func (r *Rightsizing) changes() string {
	var changed []*ServiceSize
	for i := range r.Services {
		if r.Services[i].change() != "" {
			changed = append(changed, &r.Services[i])
		}
	}
	money := func(s *ServiceSize) float64 { return math.Abs(s.Month.Today - s.Month.After) }
	slices.SortStableFunc(changed, func(a, b *ServiceSize) int { return cmp.Compare(money(b), money(a)) })
	var parts []string
	for _, s := range changed[:min(len(changed), mostNamed)] {
		parts = append(parts, s.Name+" "+s.change())
	}
	if more := len(changed) - mostNamed; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

// change in words; empty = none.
func (s *ServiceSize) change() string {
	var all []string
	if s.After.CPURequest != s.Today.CPURequest {
		all = append(all, fmt.Sprintf("CPU request %s -> %s", cores(s.Today.CPURequest), cores(s.After.CPURequest)))
	}
	switch {
	case s.After.CPULimit == s.Today.CPULimit:
	case s.After.CPULimit == 0:
		all = append(all, "CPU limit lifted")
	default:
		all = append(all, fmt.Sprintf("CPU limit %s -> %s", cores(s.Today.CPULimit), cores(s.After.CPULimit)))
	}
	if s.After.MemoryRequest != s.Today.MemoryRequest {
		all = append(all, fmt.Sprintf("memory request %s -> %s", bytesText(s.Today.MemoryRequest), bytesText(s.After.MemoryRequest)))
	}
	if s.After.MemoryLimit != s.Today.MemoryLimit {
		all = append(all, fmt.Sprintf("memory limit %s -> %s", bytesText(s.Today.MemoryLimit), bytesText(s.After.MemoryLimit)))
	}
	return strings.Join(all, ", ")
}

// WriteText writes the answer first, then the table, then what it rests on.
func (r *Rightsizing) WriteText(w io.Writer) error {
	var b strings.Builder
	if r.Guessed {
		fmt.Fprintf(&b, "The objective was not given and is assumed from the history: %s. Give yours with --objective.\n", r.Objective)
	}
	fmt.Fprintf(&b, "%s\n\n", r.Sentence())
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "SERVICE\tCPU REQUEST\tCPU LIMIT\tMEMORY REQUEST\tMEMORY LIMIT\t%s PER MONTH\n", r.Currency)
	for i := range r.Services {
		s := &r.Services[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.2f -> %.2f\n", s.Name,
			moved(s.Today.CPURequest, s.After.CPURequest, cores), moved(s.Today.CPULimit, s.After.CPULimit, cores),
			moved(s.Today.MemoryRequest, s.After.MemoryRequest, bytesText), moved(s.Today.MemoryLimit, s.After.MemoryLimit, bytesText),
			s.Month.Today, s.Month.After)
	}
	t.Flush()
	b.WriteByte('\n')
	for _, s := range r.Services {
		for _, why := range s.Why {
			fmt.Fprintf(&b, "%s: %s\n", s.Name, why)
		}
		for _, refused := range s.Refuse {
			fmt.Fprintf(&b, "%s: nothing is proposed for %s\n", s.Name, refused)
		}
	}
	fmt.Fprintf(&b, "Checked request by request on %s, %d runs, under %s, while others use and request %.0f %% of the nodes; at most "+
		"%.0f %% of the requests may be over the SLO.\n", r.Check.Stretch, r.Check.Runs, r.Policy, 100*r.Check.Neighbours, 100*result.CountsIf)
	if r.Check.Raised > 1 {
		fmt.Fprintf(&b, "CPU requests are above what use alone suggests, up to %.2f times, to keep the SLO there.\n", r.Check.Raised)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// moved is an amount, and what becomes of it.
func moved[T int64 | float64](from, to T, write func(T) string) string {
	text := func(v T) string {
		if v <= 0 {
			return "none"
		}
		return write(v)
	}
	if from == to {
		return text(from)
	}
	return text(from) + " -> " + text(to)
}
