package decisionlog

import (
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/suggest"
)

// Finding is one service's last change, as far as the log reaches back, and the
// last decision about it.
type Finding struct {
	Service string
	Change  *Entry // nil = never changed within the log
	Last    *Entry // may be the same
}

// Find finds, for each service, the decision that was effective at an instant, or at the end of
// the log if it is zero. It reads no further back than necessary. With a service, only that one
// is searched.
func (r *Reader) Find(at time.Time, service string) ([]Finding, error) {
	var found []Finding
	begins := time.Time{}
	for i := len(r.segments) - 1; i >= 0 && !settled(found, service); i-- {
		first, err := r.Begins(i)
		if err != nil {
			return nil, err
		}
		if !at.IsZero() && first.After(at) {
			begins = first
			continue
		}
		r.progress(1 - float64(i+1)/float64(len(r.segments)))
		entries, err := r.upTo(i, at, &begins)
		if err != nil {
			return nil, err
		}
		for j := len(entries) - 1; j >= 0; j-- {
			found = look(found, &entries[j])
		}
	}
	switch {
	case begins.IsZero():
		return nil, fmt.Errorf("decision log %s: %w", r.dir, ErrEmpty)
	case len(found) == 0 && at.IsZero():
		return nil, fmt.Errorf("decision log %s has decisions that saw nothing, and none about a service", r.dir)
	case len(found) == 0:
		return nil, fmt.Errorf("decision log %s begins at %s, after %s: what was decided before is not in it", r.dir,
			begins.UTC().Format(time.RFC3339), at.UTC().Format(time.RFC3339))
	}
	if service == "" {
		return found, nil
	}
	i := slices.IndexFunc(found, func(f Finding) bool { return f.Service == service })
	if i < 0 {
		return nil, unknownService(service, found)
	}
	return found[i : i+1], nil
}

func unknownService(service string, found []Finding) error {
	var known []string
	for _, f := range found {
		known = append(known, f.Service)
	}
	return fmt.Errorf("the log has no service %q%s", service, suggest.Hint(service, known))
}

// upTo are the entries of a segment that took effect up to an instant, in that order.
func (r *Reader) upTo(segment int, at time.Time, begins *time.Time) ([]Entry, error) {
	var entries []Entry
	err := r.Read(segment, func(e Entry) error {
		if begins.IsZero() || e.Record.At.Before(*begins) {
			*begins = e.Record.At
		}
		if at.IsZero() || !e.Record.Effective().After(at) {
			entries = append(entries, e)
		}
		return nil
	})
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.Record.Effective().Compare(b.Record.Effective()) })
	return entries, err
}

// Effective is when a decision took effect: when it was applied, or, without
// that, when it was made.
func (r *Record) Effective() time.Time {
	if r.Applied.IsZero() {
		return r.At
	}
	return r.Applied
}

// look takes from an entry what later ones did not determine.
func look(found []Finding, e *Entry) []Finding {
	for i := range e.Record.Services {
		s := &e.Record.Services[i]
		at := slices.IndexFunc(found, func(f Finding) bool { return f.Service == s.Name })
		if at < 0 {
			at = len(found)
			found = append(found, Finding{Service: s.Name, Last: e})
		}
		if f := &found[at]; f.Change == nil && s.Plan != nil && !e.Record.Applied.IsZero() {
			f.Change = e
		}
	}
	return found
}

// settled reports whether the search is complete.
func settled(found []Finding, service string) bool {
	for _, f := range found {
		if f.Service == service {
			return f.Change != nil
		}
		if service == "" && f.Change == nil {
			return false
		}
	}
	return len(found) > 0 && service == ""
}

// Between visits the entries that were decided between two instants, both included, in order. A
// zero instant is no bound.
func (r *Reader) Between(from, to time.Time, visit func(Entry) error) error {
	first, err := r.segmentOf(from)
	if err != nil {
		return err
	}
	var total, read int64
	for i := first; i < len(r.segments); i++ {
		total += r.segments[i].size
	}
	wanted := func(at time.Time) bool { return !at.Before(from) && (to.IsZero() || !at.After(to)) }
	ordered := InOrder{Delay: reorder, Visit: func(e Entry) error {
		if e.Record.At.Before(from) || !to.IsZero() && e.Record.At.After(to) {
			return nil
		}
		return visit(e)
	}}
	for i := first; i < len(r.segments); i++ {
		begins, err := r.Begins(i)
		if err != nil {
			return err
		}
		if !to.IsZero() && begins.After(to.Add(reorder)) {
			break
		}
		if err := r.readWanted(i, wanted, ordered.Add); err != nil {
			return err
		}
		read += r.segments[i].size
		r.progress(float64(read) / float64(max(total, 1)))
	}
	return ordered.Flush()
}

// reorder is the delay of applying up to which records are sorted.
const reorder = 10 * time.Minute

// segmentOf is the first segment that may hold an instant.
func (r *Reader) segmentOf(from time.Time) (int, error) {
	first := 0
	for i := 1; i < len(r.segments) && !from.IsZero(); i++ {
		begins, err := r.Begins(i)
		if err != nil {
			return 0, err
		}
		if begins.IsZero() || begins.After(from.Add(-reorder)) {
			break
		}
		first = i
	}
	return first, nil
}

// Span is the instants of the first and the last decision.
func (r *Reader) Span() (first, last time.Time, err error) {
	for i := 0; i < len(r.segments) && first.IsZero(); i++ {
		if first, err = r.Begins(i); err != nil {
			return first, last, err
		}
	}
	for i := len(r.segments) - 1; i >= 0 && last.IsZero(); i-- {
		err := r.Read(i, func(e Entry) error {
			if e.Record.At.After(last) {
				last = e.Record.At
			}
			return nil
		})
		if err != nil {
			return first, last, err
		}
	}
	if first.IsZero() {
		return first, last, fmt.Errorf("decision log %s: %w", r.dir, ErrEmpty)
	}
	return first, last, nil
}
