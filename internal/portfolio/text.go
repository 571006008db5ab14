package portfolio

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// Drift is the result of a comparison.
type Drift struct {
	// Found deviates; nothing = all that is compared matches.
	Found []Finding
	// Released are services with a release that is not compared yet.
	Released []string
	// Missing is what cannot be compared, in words; nothing = all is compared, or idle.
	Missing []string
	Text    string
}

// Drift by the samples so far.
func (m *Monitor) Drift() Drift {
	var d Drift
	for _, measure := range measures {
		for i := range m.services {
			s := m.services[i].of[measure]
			if !s.active || measure == Latency && m.services[i].of[CPU].active { // more CPU takes longer
				continue
			}
			d.Found = append(d.Found, Finding{measure, m.app.Services[i].Name, s.ratio, s.since})
		}
	}
	if m.load.active {
		d.Found = append(d.Found, Finding{Measure: Load, Ratio: m.load.ratio, Since: m.load.since})
	}
	compared := 0
	for i := range m.services {
		w, name := &m.services[i], m.app.Services[i].Name
		if !w.released.IsZero() {
			d.Released = append(d.Released, fmt.Sprintf("%s was released at %s", name, clock(w.released)))
			continue
		}
		if visited := m.visited(i); !visited {
			continue
		}
		compared++
		for _, measure := range []Measure{CPU, Visits} {
			if s := w.of[measure]; !s.judged() && !s.quiet() && !s.active {
				d.Missing = append(d.Missing, m.missing(measure, name, s))
			}
		}
	}
	d.Text = m.text(&d, compared)
	return d
}

// visited reports whether the twin has visits to a service.
func (m *Monitor) visited(i int) bool {
	for _, v := range m.topology.Services[i].Visits {
		if v > 0 {
			return m.services[i].cpu > 0
		}
	}
	return false
}

func (m *Monitor) missing(measure Measure, name string, s *series) string {
	what := "the CPU of a visit to " + name
	if measure == Visits {
		what = "the visits of a request to " + name
	}
	n := 0
	for i := range min(s.short(), s.n) {
		if v, _ := s.at(i); v >= 0 {
			n++
		}
	}
	return fmt.Sprintf("%s is measured in %d of the last %d samples", what, n, s.short())
}

// most sentences of one kind in a text.
const mostShown = 3

func (m *Monitor) text(d *Drift, compared int) string {
	var parts []string
	for _, f := range d.Found {
		parts = append(parts, m.sentence(f))
	}
	parts = shown(parts)
	if len(d.Released) > 0 && len(d.Found) == 0 {
		parts = append(parts, strings.Join(shown(d.Released), "; ")+": it is compared with the twin once it has been measured for "+
			(time.Duration(m.load.short())*m.every).String())
	}
	if len(d.Missing) > 0 && len(d.Found) == 0 {
		parts = append(parts, "not compared: "+strings.Join(shown(d.Missing), "; "))
	}
	if len(parts) > 0 {
		return strings.Join(parts, "; ")
	}
	text := fmt.Sprintf("CPU and visits of %d of %d services match the twin", compared, len(m.services))
	if m.judged == nil {
		text += fmt.Sprintf("; the twin has no %s, so that the load is not compared", JudgedFile)
	}
	return text
}

func shown(parts []string) []string {
	if len(parts) > mostShown {
		return append(parts[:mostShown:mostShown], fmt.Sprintf("and %d more", len(parts)-mostShown))
	}
	return parts
}

// sentence on a deviation, with its figures.
func (m *Monitor) sentence(f Finding) string {
	since := ""
	if !f.Since.IsZero() {
		since = " since " + clock(f.Since)
	}
	times := loadline.DescribeNumber(round(f.Ratio)) + " times"
	switch f.Measure {
	case CPU:
		w := &m.services[m.app.ServiceIndex(f.Service)]
		released := ""
		if !w.since.IsZero() {
			released = "; it was released at " + clock(w.since)
		}
		return fmt.Sprintf("the CPU of a visit to %s is %s the twin's (%s ms, not %s ms)%s%s", f.Service, times,
			loadline.DescribeNumber(round(f.Ratio*w.cpu*1000)), loadline.DescribeNumber(round(w.cpu*1000)), since, released)
	case Visits:
		return fmt.Sprintf("requests visit %s %s as often as the twin's%s", f.Service, times, since)
	case Latency:
		return fmt.Sprintf("a visit to %s without its calls takes %s as long as the twin's at the same load%s", f.Service, times, since)
	}
	return fmt.Sprintf("the load is %s the highest that the deployment was judged under, %s requests/s%s", times,
		loadline.DescribeNumber(round(float64(m.judged.Peak))), since)
}

// round to two digits, three from 100 on.
func round(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	scale := math.Pow(10, 1-math.Floor(math.Log10(math.Abs(v))))
	if v >= 100 {
		scale = 1
	}
	return math.Round(v*scale) / scale
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }
