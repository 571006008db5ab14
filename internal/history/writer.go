//go:build !js

package history

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
)

// Writer writes a history part by part. Parts may be written in any order and by several
// goroutines; an existing part is kept, so that an interrupted pull can resume.
type Writer struct {
	dir      string
	manifest Manifest

	wrap func(io.Writer) io.Writer // tests use it to make writes fail; nil = none
}

// NewWriter begins a history in a folder, which it creates if necessary, or continues the
// unfinished one there, if source, namespace, preset, span and step are the same. A Part of 0
// is a day of steps.
func NewWriter(dir string, m Manifest) (*Writer, error) {
	if m.Part == 0 {
		m.Part = PartOf(m.Step)
	}
	m.Version, m.Complete, m.Start = Version, false, m.Start.UTC()
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("history for %s: %w", dir, err)
	}
	there, err := ReadManifest(dir)
	switch {
	case errors.Is(err, ErrNoHistory):
		return begin(dir, m)
	case err != nil:
		return nil, err
	case there.Complete:
		return nil, fmt.Errorf("%s already holds a history (%s, %d steps from %s): choose another folder or remove it",
			dir, there.Source, there.Steps, there.Start.Format(time.RFC3339))
	}
	if err := sameHistory(there, m); err != nil {
		return nil, fmt.Errorf("%s holds an unfinished history that is not this one: %w; finish that one, choose another folder or "+
			"remove it", dir, err)
	}
	return &Writer{dir: dir, manifest: there}, nil
}

func begin(dir string, m Manifest) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if isPart(n.Name()) {
			return nil, fmt.Errorf("%s holds %s but no %s: its history is damaged; choose another folder or remove it", dir, n.Name(),
				ManifestFile)
		}
	}
	w := &Writer{dir: dir, manifest: m}
	if err := writeManifest(dir, m); err != nil {
		return nil, w.remedy(err)
	}
	return w, nil
}

func sameHistory(there, m Manifest) error {
	var differ []string
	add := func(what string, a, b any) {
		if a != b {
			differ = append(differ, fmt.Sprintf("%s is %v there and %v here", what, a, b))
		}
	}
	add("source", there.Source, m.Source)
	add("namespace", there.Namespace, m.Namespace)
	add("preset", there.Preset, m.Preset)
	add("start", there.Start.Format(time.RFC3339Nano), m.Start.Format(time.RFC3339Nano))
	add("step", there.Step, m.Step)
	add("number of steps", there.Steps, m.Steps)
	add("steps in a part", there.Part, m.Part)
	if differ == nil {
		return nil
	}
	return errors.New(strings.Join(differ, ", "))
}

// Manifest as it stands.
func (w *Writer) Manifest() Manifest { return w.manifest }

// Has reports whether a part exists.
func (w *Writer) Has(part int) bool { return missingFile(w.dir, part) == "" }

// missingFile is the missing file of a part, or empty.
func missingFile(dir string, part int) string {
	for _, name := range []string{servicesFile(part), callsFile(part)} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// WritePart writes one part: the history of its span. Services and nodes may differ between
// parts.
func (w *Writer) WritePart(part int, h *History) error {
	m := &w.manifest
	from, to := m.Span(part)
	if part < 0 || part >= m.Parts() {
		return fmt.Errorf("write part %d of %s: it has parts 0 to %d", part, w.dir, m.Parts()-1)
	}
	if !h.Start.Equal(m.At(from)) || h.Step != m.Step || h.Steps != to-from {
		return fmt.Errorf("write part %d of %s: it spans %d steps of %v from %s, not %d of %v from %s", part, w.dir,
			to-from, m.Step, m.At(from).Format(time.RFC3339), h.Steps, h.Step, h.Start.Format(time.RFC3339))
	}
	serviceRuns, err := h.serviceRuns()
	if err != nil {
		return fmt.Errorf("write part %d of %s: %w", part, w.dir, err)
	}
	callRuns, err := h.callRuns()
	if err != nil {
		return fmt.Errorf("write part %d of %s: %w", part, w.dir, err)
	}
	nodeRuns, err := h.nodeRuns()
	if err != nil {
		return fmt.Errorf("write part %d of %s: %w", part, w.dir, err)
	}
	write := func(name string, t *table, runs []run) error {
		return atomicfile.Write(filepath.Join(w.dir, name), func(out io.Writer) error {
			if w.wrap != nil {
				out = w.wrap(out)
			}
			return t.writePart(out, part, h.Start, h.Step, h.Steps, runs)
		})
	}
	services, calls, nodes := tables()
	// The services last: where they are, the part is complete.
	if len(nodeRuns) > 0 {
		if err := write(nodesFile(part), nodes, nodeRuns); err != nil {
			return w.remedy(err)
		}
	}
	if err := write(callsFile(part), calls, callRuns); err != nil {
		return w.remedy(err)
	}
	return w.remedy(write(servicesFile(part), services, serviceRuns))
}

// remedy adds what to do about a full disk: written parts are kept.
func (w *Writer) remedy(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w; make room and run the same again: what is in %s is kept", err, w.dir)
	}
	return err
}

// Finish marks the history as complete, if every part exists. The change, if any, may set the
// manifest's absent metrics and notes.
func (w *Writer) Finish(change func(*Manifest)) error {
	m := w.manifest
	for part := range m.Parts() {
		if name := missingFile(w.dir, part); name != "" {
			return fmt.Errorf("finish %s: %s is not there yet", w.dir, name)
		}
	}
	if change != nil {
		change(&m)
	}
	if err := sameHistory(w.manifest, m); err != nil {
		return fmt.Errorf("finish %s: what is written cannot be changed: %w", w.dir, err)
	}
	m.Complete = true
	if err := writeManifest(w.dir, m); err != nil {
		return w.remedy(err)
	}
	w.manifest = m
	return nil
}

// Write writes a whole history to a folder without one.
func Write(dir string, h *History) error {
	// Before anything is on disk: the cuts below rely on the lengths.
	_, serviceErr := h.serviceRuns()
	_, callErr := h.callRuns()
	_, nodeErr := h.nodeRuns()
	if err := errors.Join(serviceErr, callErr, nodeErr); err != nil {
		return fmt.Errorf("write history to %s: %w", dir, err)
	}
	m := h.Manifest
	m.Start, m.Step, m.Steps = h.Start, h.Step, h.Steps
	w, err := NewWriter(dir, m)
	if err != nil {
		return err
	}
	m = w.Manifest()
	for part := range m.Parts() {
		from, to := m.Span(part)
		if err := w.WritePart(part, h.Cut(from, to)); err != nil {
			return err
		}
	}
	return w.Finish(func(m *Manifest) { m.Absent, m.Notes, m.By = h.Manifest.Absent, h.Manifest.Notes, h.Manifest.By })
}

// Replace is Write over an existing history. The new one is written beside it first; a folder
// with other files is not touched.
func Replace(dir string, h *History) error {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		return Write(dir, h)
	}
	if err != nil {
		return err
	}
	for _, n := range names {
		if n.Name() != ManifestFile && !isPart(n.Name()) && !strings.HasSuffix(n.Name(), atomicfile.Suffix) {
			return fmt.Errorf("%s holds %s, which is no part of a history: choose another folder", dir, n.Name())
		}
	}
	dir = filepath.Clean(dir)
	beside, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".*"+atomicfile.Suffix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(beside)
	fresh, old := filepath.Join(beside, "new"), filepath.Join(beside, "old")
	if err := Write(fresh, h); err != nil {
		return err
	}
	if err := os.Rename(dir, old); err != nil {
		return err
	}
	if err := os.Rename(fresh, dir); err != nil {
		return errors.Join(err, os.Rename(old, dir))
	}
	return nil
}

// isPart reports whether a file's name is that of a part.
func isPart(name string) bool {
	for _, of := range []string{"services-", "calls-", "nodes-"} {
		number, found := strings.CutPrefix(name, of)
		if number, ext := strings.CutSuffix(number, ".parquet"); found && ext && strings.Trim(number, "0123456789") == "" {
			return true
		}
	}
	return false
}
