package onboard

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// comments above the manifest of an application.
func (a *Application) comments() []string {
	all := []string{fmt.Sprintf("%s: Recommend shows decisions in the status and changes nothing.", a.Name)}
	for _, g := range a.Guesses {
		all = append(all, "Objective: "+g.sentence())
	}
	var guessed []string
	for _, s := range a.Services {
		if s.From == "guess" {
			guessed = append(guessed, s.Name)
		}
	}
	if len(guessed) > 0 {
		all = append(all, fmt.Sprintf("Bounds are guesses where no autoscaler has any: %s.", strings.Join(guessed, ", ")))
	}
	return append(all, a.Remarks...)
}

// sentence says where an objective comes from.
func (g Guess) sentence() string {
	return fmt.Sprintf("%v for requests to %s is a guess, not your SLO: their 99th percentile was %v typically and %v at the 95th percentile "+
		"of %s. Set what users need.", g.Latency, g.Service, short(g.Typical), short(g.High), valuesOver(g))
}

func valuesOver(g Guess) string {
	if g.Values == 1 {
		return "one value"
	}
	return fmt.Sprintf("%d values over %v", g.Values, short(g.Over))
}

// short writes a time with three digits at most.
func short(d time.Duration) string {
	unit := time.Nanosecond
	for unit*1000 <= d {
		unit *= 10
	}
	text := d.Round(unit).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Sentence is the answer in one line.
func (p *Proposal) Sentence() string {
	switch {
	case p.Workloads == 0:
		return fmt.Sprintf("Namespace %s has no Deployments and no StatefulSets.", p.Namespace)
	case len(p.Applications) == 0:
		return fmt.Sprintf("Nothing can be proposed: none of %s of namespace %s is suited yet.", count(p.Workloads, "workload"), p.Namespace)
	case len(p.LeftOut) == 0:
		return fmt.Sprintf("Loadline can manage namespace %s: %s with %s.", p.Namespace, count(len(p.Applications), "application"),
			count(p.ServiceCount(), "service"))
	}
	return fmt.Sprintf("Loadline can manage %s with %s; %d of %s of namespace %s are left out.",
		count(len(p.Applications), "application"), count(p.ServiceCount(), "service"), len(p.LeftOut), count(p.Workloads, "workload"),
		p.Namespace)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// WriteText writes the proposal for people, the answer first.
func (p *Proposal) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintln(&b, p.Sentence())
	for i := range p.Applications {
		a := &p.Applications[i]
		fmt.Fprintf(&b, "\n%s\n", a.Name)
		for _, g := range a.Guesses {
			fmt.Fprintf(&b, "  %s\n", g.sentence())
		}
		table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "  SERVICE\tWORKLOAD\tREPLICAS\tBOUNDS\tFROM\tREQUESTS/S")
		for _, s := range a.Services {
			fmt.Fprintf(table, "  %s\t%s\t%d\t%d-%d\t%s\t%.3g\n", s.Name, s.Workload, s.Replicas, s.Min, s.Max, s.From, s.Rate)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		for _, r := range a.Remarks {
			fmt.Fprintf(&b, "  %s\n", r)
		}
	}
	if len(p.LeftOut) > 0 {
		fmt.Fprintln(&b, "\nLeft out")
		for _, l := range p.LeftOut {
			fmt.Fprintf(&b, "  %s: %s.\n", l.Workload, l.Why)
			if l.Do != "" {
				fmt.Fprintf(&b, "    -> %s\n", l.Do)
			}
		}
	}
	for _, list := range []struct {
		title string
		lines []string
	}{{"Not taken over", p.NotTakenOver}, {"Notes", p.Notes}} {
		if len(list.lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n", list.title)
			for _, line := range list.lines {
				fmt.Fprintf(&b, "  %s\n", line)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
