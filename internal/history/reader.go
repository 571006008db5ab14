//go:build !js

package history

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sort"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/loadline/loadline/internal/suggest"
)

// Read reads the history in a folder, or a part of it, in the form that Tidy makes.
func Read(dir string, o Options) (*History, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	if !m.Complete {
		return nil, fmt.Errorf("the history in %s is unfinished (%d of %d parts are there): run the command that wrote it again, it "+
			"resumes where it stopped",
			dir, partsThere(dir, m), m.Parts())
	}
	if o.Last > 0 {
		if from := m.At(m.Steps - 1).Add(-o.Last); from.After(o.From) {
			o.From = from
		}
	}
	from, to := o.steps(m)
	if from >= to {
		return nil, fmt.Errorf("the history in %s has no step between %s and %s: it spans %s to %s", dir,
			instant(o.From), instant(o.To), instant(m.Start.Add(-m.Step)), instant(m.At(m.Steps-1)))
	}
	r := newReader(m, o.Services, from, to)
	services, calls, nodes := tables()
	for part := from / m.Part; part*m.Part < to; part++ {
		if name := missingFile(dir, part); name != "" {
			return nil, fmt.Errorf("%s is missing from the history in %s: copy it there, or make the history again in another folder",
				name, dir)
		}
		if err := r.readPart(filepath.Join(dir, servicesFile(part)), services, part); err != nil {
			return nil, err
		}
		if err := r.readPart(filepath.Join(dir, callsFile(part)), calls, part); err != nil {
			return nil, err
		}
		// Nodes were not measured, or not kept by the version that wrote it.
		if err := r.readPart(filepath.Join(dir, nodesFile(part)), nodes, part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if err := r.checkNames(o.Services); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return r.history(), nil
}

func partsThere(dir string, m Manifest) int {
	n := 0
	for part := range m.Parts() {
		if missingFile(dir, part) == "" {
			n++
		}
	}
	return n
}

// steps are the selected ones.
func (o Options) steps(m Manifest) (from, to int) {
	after := func(t time.Time) int { return sort.Search(m.Steps, func(i int) bool { return m.At(i).After(t) }) }
	from, to = 0, m.Steps
	if !o.From.IsZero() {
		from = after(o.From)
	}
	if !o.To.IsZero() {
		to = after(o.To)
	}
	return from, to
}

func instant(t time.Time) string {
	if t.IsZero() {
		return "any time"
	}
	return t.UTC().Format(time.RFC3339)
}

// reader collects the rows of all parts.
type reader struct {
	manifest Manifest
	from, to int             // selected steps
	wanted   map[string]bool // services; nil = all
	runs     map[string]*gathered
	known    map[string]bool // services found, selected or not

	buffer []parquet.Value // of a column; reused
	steps  []int           // of the rows of a group; likewise
}

// gathered is the part of one run that has been read.
type gathered struct {
	table  *table
	names  []string
	series []Series // by metric; nil = nothing present so far
	seen   []bool   // by step: a row was present
}

func newReader(m Manifest, wanted []string, from, to int) *reader {
	r := &reader{manifest: m, from: from, to: to, runs: map[string]*gathered{}, known: map[string]bool{},
		buffer: make([]parquet.Value, 1024)}
	if len(wanted) > 0 {
		r.wanted = map[string]bool{}
		for _, name := range wanted {
			r.wanted[name] = true
		}
	}
	return r
}

// wants reports whether a run is selected. Calls are, if either end is, and nodes always.
func (r *reader) wants(t *table, names []string) bool {
	switch t.of {
	case ofServices:
		r.known[names[0]] = true
		return r.wanted == nil || r.wanted[names[0]]
	case ofNodes:
		return true
	}
	return r.wanted == nil || r.wanted[names[0]] || r.wanted[names[1]]
}

func (r *reader) checkNames(wanted []string) error {
	var known []string
	for name := range r.known {
		known = append(known, name)
	}
	sort.Strings(known)
	var faults []error
	for _, name := range wanted {
		if !r.known[name] {
			faults = append(faults, fmt.Errorf("no service %q in this span%s", name, suggest.Hint(name, known)))
		}
	}
	return errors.Join(faults...)
}

// history is the result.
func (r *reader) history() *History {
	m := r.manifest
	h := &History{Manifest: m, Start: m.At(r.from), Step: m.Step, Steps: r.to - r.from}
	for _, g := range r.runs {
		switch g.table.of {
		case ofServices:
			h.Services = append(h.Services, Service{Name: g.names[0], Series: [ServiceMetrics]Series(g.series)})
		case ofNodes:
			h.Nodes = append(h.Nodes, Node{Name: g.names[0], Series: [NodeMetrics]Series(g.series)})
		default:
			h.Calls = append(h.Calls, Calls{From: g.names[0], To: g.names[1], Operation: g.names[2],
				Series: [CallMetrics]Series(g.series)})
		}
	}
	h.Tidy()
	return h
}
