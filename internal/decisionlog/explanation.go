package decisionlog

import (
	"errors"
	"fmt"
	"time"
)

// Explanation is one paragraph and what it is about.
type Explanation struct {
	Service string  `json:"service"`
	Text    string  `json:"text"`
	Changed bool    `json:"changed"` // false: the log has no change of the service
	Record  *Record `json:"decision"`
	// Last is the latest decision about it, if different.
	Last *Record `json:"last,omitempty"`
}

// InForce explains the last change of each service before an instant, or before the end of the
// log if it is zero; with a service, of that one.
func (r *Reader) InForce(at time.Time, service string) ([]Explanation, error) {
	found, err := r.Find(at, service)
	if err != nil {
		return nil, err
	}
	var all []Explanation
	for _, f := range found {
		if f.Change == nil {
			all = append(all, Explanation{
				Service: f.Service, Record: f.Last.Record.only(f.Service),
				Text: Explain(*f.Last, f.Service) + " The log has no earlier change of it.",
			})
			continue
		}
		e := Explanation{Service: f.Service, Changed: true, Text: Explain(*f.Change, f.Service), Record: f.Change.Record.only(f.Service)}
		if f.Last != f.Change {
			e.Last = f.Last.Record.only(f.Service)
			e.Text += " " + ExplainSince(f.Last, f.Service)
		}
		all = append(all, e)
	}
	return all, nil
}

// ChangesSince explains every change in the time before an instant, or before the end of the log
// if it is zero, and returns that stretch. Of more than most, the latest are explained; 0 = all are.
func (r *Reader) ChangesSince(at time.Time, since time.Duration, service string, most int) (all []Explanation, from, to time.Time, err error) {
	first, last, err := r.Span()
	if err != nil {
		return nil, from, to, err
	}
	to = last
	if !at.IsZero() {
		to = at
	}
	from = to.Add(-since)
	if to.Before(first) {
		return nil, from, to, fmt.Errorf("the log begins at %s, after %s: earlier decisions are not in it", FormatTime(first),
			FormatTime(to))
	}
	if service != "" {
		if _, err := r.Find(to, service); err != nil {
			return nil, from, to, err
		}
	}
	all = []Explanation{}
	err = r.Between(from, to, func(e Entry) error {
		for i := range e.Record.Services {
			s := &e.Record.Services[i]
			if s.Plan != nil && (service == "" || s.Name == service) {
				if most > 0 && len(all) == most {
					all = all[1:]
				}
				all = append(all, Explanation{Service: s.Name, Changed: !e.Record.Applied.IsZero(), Text: Explain(e, s.Name),
					Record: e.Record.only(s.Name)})
			}
		}
		return nil
	})
	return all, from, to, err
}

// ErrNoDecision: nothing was decided for the service at that instant.
var ErrNoDecision = errors.New("no decision about the service was recorded at that time")

// At explains what was decided for a service from the observation of an instant.
func (r *Reader) At(at time.Time, service string) (Explanation, error) {
	var found Explanation
	err := r.Between(at, at, func(e Entry) error {
		if s := e.Record.Service(service); s != nil {
			found = Explanation{Service: service, Changed: s.Plan != nil && !e.Record.Applied.IsZero(), Text: Explain(e, service),
				Record: e.Record.only(service)}
		}
		return nil
	})
	if err == nil && found.Record == nil {
		err = ErrNoDecision
	}
	return found, err
}

// only is a record without the other services.
func (r *Record) only(service string) *Record {
	one := *r
	one.Services = nil
	if s := r.Service(service); s != nil {
		one.Services = []Service{*s}
	}
	return &one
}
