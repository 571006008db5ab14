package prom

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// Seen is what a pull has come across so far. It is kept beside the parts, so
// that a pull that goes on after an interruption knows what was in those that
// it does not read again.
type Seen struct {
	Queries string              `json:"queries"`   // fingerprint
	Scrape  time.Duration       `json:"scrape_ns"` // between two scrapes
	Values  map[string][]string `json:"values"`    // "service cpu" to the names that have it
	Notes   []string            `json:"notes"`
	First   time.Time           `json:"first"` // instant with any value
	Last    time.Time           `json:"last"`

	loaded bool // it is that of a pull which was interrupted
}

// mostNotes keeps a talkative server from filling the manifest.
const mostNotes = 100

func (s *Seen) note(text string) {
	if len(s.Notes) < mostNotes && !slices.Contains(s.Notes, text) {
		s.Notes = append(s.Notes, text)
	}
}

func (s *Seen) at(t time.Time) {
	if s.First.IsZero() || t.Before(s.First) {
		s.First = t
	}
	if t.After(s.Last) {
		s.Last = t
	}
}

func (s *Seen) value(of, metric, who string) {
	key := of + " " + metric
	if i, found := slices.BinarySearch(s.Values[key], who); !found {
		s.Values[key] = slices.Insert(s.Values[key], i, who)
	}
}

// absences are the metrics that nothing had, with the likely reason and what it
// costs.
func (s *Seen) absences(p *Preset) []history.Absence {
	var list []history.Absence
	add := func(of string, about loadline.Metric, q *Query) {
		if len(s.Values[of+" "+about.Name]) > 0 {
			return
		}
		reason := fmt.Sprintf("preset %s has no query for it", p.Name)
		switch {
		case q != nil && q.Text == "":
			reason = q.Absent
		case q != nil && q.Absent != "":
			reason = "the query has no result: " + q.Absent
		case q != nil:
			reason = "the query has no result"
		}
		list = append(list, history.Absence{Of: of, Metric: about.Name, Reason: reason, Cost: about.Cost})
	}
	for _, m := range loadline.ServiceTable.Columns() {
		add("service", m.About(), p.Service[m])
	}
	for _, m := range loadline.CallTable.Columns() {
		add("call", m.About(), p.Calls[m])
	}
	for _, m := range loadline.NodeTable.Columns() {
		add("node", m.About(), p.Nodes[m])
	}
	return list
}

// notes are what a reader of the history should know beyond that.
func (s *Seen) notes(start, end time.Time, step time.Duration) []string {
	notes := slices.Sorted(slices.Values(s.Notes)) // queries end in any order
	if s.Scrape > step {
		notes = append(notes, fmt.Sprintf("metrics were scraped every %v only: steps of %v repeat what is known", s.Scrape, step))
	}
	notes = append(notes, fmt.Sprintf("rates are taken over %v", Setting{Step: step, Scrape: s.Scrape}.Window()))
	if s.First.After(start) {
		notes = append(notes, fmt.Sprintf("nothing is known before %s: the server keeps no more, or nothing was measured",
			s.First.UTC().Format(time.RFC3339)))
	}
	if s.Last.Before(end) {
		notes = append(notes, fmt.Sprintf("nothing is known after %s", s.Last.UTC().Format(time.RFC3339)))
	}
	return append(notes, s.partial()...)
}

// partial tells which services lack what others have, where that costs most.
func (s *Seen) partial() []string {
	all := s.services()
	var notes []string
	for _, m := range []history.ServiceMetric{history.Rate, history.LatencyP99, history.CPU, history.Ready} {
		has := s.Values["service "+m.String()]
		if len(has) == 0 || len(has) == len(all) {
			continue
		}
		var without []string
		for _, name := range all {
			if _, found := slices.BinarySearch(has, name); !found {
				without = append(without, name)
			}
		}
		const most = 8
		if n := len(without); n > most {
			without = append(without[:most], fmt.Sprintf("and %d more", n-most))
		}
		notes = append(notes, fmt.Sprintf("%s is absent for %s: %s", m, strings.Join(without, ", "), m.About().Cost))
	}
	return notes
}

// services that have any value.
func (s *Seen) services() []string {
	var all []string
	for key, names := range s.Values {
		if strings.HasPrefix(key, "service ") {
			all = append(all, names...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
