package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/workload"
)

// Begin starts a run, or continues one of the same subject: candidates that were trained with
// the same settings are kept. With another subject, or other settings of a candidate of the
// same name, nothing is touched and the error names the difference.
func Begin(dir, program string, s *Subject, candidates []Candidate, redo bool) (*Folder, error) {
	f := &Folder{Dir: dir, App: s.App, Training: s.Training, Selection: s.Selection, HeldOut: s.HeldOut}
	f.Run = Run{Format: RunFormat, Program: program, Subject: s.summary()}
	for _, c := range candidates {
		f.Candidates = append(f.Candidates, Outcome{Candidate: c})
	}
	var before *Run
	if !redo {
		var err error
		if before, err = readRun(dir); err != nil && !errors.Is(err, ErrNoRun) {
			return nil, err
		}
	}
	if before != nil {
		if err := f.takeOver(before); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, CandidatesDir), 0o755); err != nil {
		return nil, fmt.Errorf("begin a run in %s: %w", dir, err)
	}
	removeLeftovers(dir)
	removeLeftovers(filepath.Join(dir, CandidatesDir))
	if err := f.writeSubject(s); err != nil {
		return nil, err
	}
	return f, f.write()
}

// writeSubject writes the files of a subject; run.json follows.
func (f *Folder) writeSubject(s *Subject) error {
	for _, file := range []struct {
		name string
		what any
	}{{TrainingFile, keptWorkload(s.Training)}, {SelectionFile, keptWorkload(s.Selection)}, {HeldOutFile, keptWorkload(s.HeldOut)}} {
		if err := writeJSON(filepath.Join(f.Dir, file.name), file.what, ""); err != nil {
			return err
		}
	}
	return writeWhole(filepath.Join(f.Dir, TwinFile), s.Model)
}

func (f *Folder) write() error { return writeJSON(filepath.Join(f.Dir, RunFile), f.Run, " ") }

// takeOver keeps what an earlier training finished.
func (f *Folder) takeOver(before *Run) error {
	path := filepath.Join(f.Dir, RunFile)
	if before.Program != f.Program {
		return &OtherVersionError{path, before.Format, before.Program, f.Program}
	}
	if before.Subject.Digest != f.Subject.Digest {
		return fmt.Errorf("%s is a run on %s, and %s: choose another folder, or start it again with --redo", path, before.Subject.Name,
			f.difference(before))
	}
	for i := range f.Candidates {
		now := &f.Candidates[i]
		at := slices.IndexFunc(before.Candidates, func(o Outcome) bool { return o.Name == now.Name })
		if at < 0 {
			continue
		}
		then := before.Candidates[at]
		if difference := settingsDiffer(then, *now); difference != "" {
			return fmt.Errorf("%s has candidate %s with %s: choose another folder, or start it again with --redo", path, now.Name,
				difference)
		}
		if then.SHA256 != "" && fileDigest(f.ModelPath(now.Name)) == then.SHA256 {
			now.SHA256, now.Curves = then.SHA256, then.Curves
		}
	}
	return nil
}

// settingsDiffer names the first setting in which two candidates differ.
func settingsDiffer(then, now Outcome) string {
	fields := func(o Outcome) map[string]any {
		text, _ := json.Marshal(o.Candidate) // plain numbers and words
		all := map[string]any{}
		_ = json.Unmarshal(text, &all)
		settings, _ := all["settings"].(map[string]any)
		delete(all, "settings")
		maps.Copy(all, settings)
		return all
	}
	a, b := fields(then), fields(now)
	var names []string
	for name := range a {
		names = append(names, name)
	}
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		before, _ := json.Marshal(a[name])
		after, _ := json.Marshal(b[name])
		if !bytes.Equal(before, after) {
			return fmt.Sprintf("%s %s, this is %s", name, before, after)
		}
	}
	return ""
}

// Missing counts the candidates that are not trained yet.
func (f *Folder) Missing() int {
	n := 0
	for _, c := range f.Candidates {
		if c.SHA256 == "" && c.Policy == "" {
			n++
		}
	}
	return n
}

// Have reads the models of the candidates that are trained.
func (f *Folder) Have() (map[string]policy.Model, error) {
	have := map[string]policy.Model{}
	for _, c := range f.Candidates {
		if c.SHA256 == "" {
			continue
		}
		m, err := policy.OpenModel(f.ModelPath(c.Name))
		if err != nil {
			return nil, err
		}
		have[c.Name] = m
	}
	return have, nil
}

// Keep stores a trained candidate: its model first, then run.json with its name.
func (f *Folder) Keep(t *Trained) error {
	at := slices.IndexFunc(f.Candidates, func(o Outcome) bool { return o.Name == t.Candidate.Name })
	if at < 0 {
		return fmt.Errorf("candidate %s is not one of this run", t.Candidate.Name)
	}
	path := f.ModelPath(t.Candidate.Name)
	file, err := t.Model.File(nil)
	if err != nil {
		return fmt.Errorf("keep candidate %s: %w", t.Candidate.Name, err)
	}
	file.Card.Training.By = f.Program
	if file.Card.Training.To.IsZero() {
		file.Card.Training.From, file.Card.Training.To = f.Subject.Training.From, f.Subject.Training.To
	}
	if err := file.Write(path); err != nil {
		return err
	}
	o := &f.Candidates[at]
	o.SHA256 = fileDigest(path)
	o.Curves = nil
	for _, c := range t.Curves {
		curve := OutcomeCurve{Service: c.Service}
		for _, p := range c.Points {
			curve.Points = append(curve.Points, OutcomePoint{p.Steps, result.Number(p.Return), result.Number(p.Loss),
				result.Number(p.Evaluation)})
		}
		o.Curves = append(o.Curves, curve)
	}
	return f.write()
}

// Fail records why candidates could not be trained.
func (f *Folder) Fail(failed FailedError) error {
	for i := range f.Candidates {
		if err := failed[f.Candidates[i].Name]; err != nil {
			f.Candidates[i].Failed = err.Error()
		}
	}
	return f.write()
}

// OpenRun reads a run whose training is finished or interrupted.
func OpenRun(dir string) (*Folder, error) {
	r, err := readRun(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{Dir: dir, Run: *r}
	path := filepath.Join(dir, TwinFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("open the run in %s: %w; train again", dir, err)
	}
	model, err := apps.Parse(path, text)
	if err != nil {
		return nil, err
	}
	f.App = model.App
	for _, part := range []struct {
		name string
		to   **workload.Workload
	}{{TrainingFile, &f.Training}, {SelectionFile, &f.Selection}, {HeldOutFile, &f.HeldOut}} {
		if *part.to, err = readWorkload(filepath.Join(dir, part.name)); err != nil {
			return nil, err
		}
	}
	if digest := subjectDigest(text, f.Training, f.Selection, f.HeldOut, f.Subject.Delays); digest != f.Subject.Digest {
		return nil, fmt.Errorf("the files in %s do not belong together: %s, %s, %s or %s was changed since the training; train again",
			dir, TwinFile, TrainingFile, SelectionFile, HeldOutFile)
	}
	return f, nil
}

// Trained are the candidates with a model, which must be the one that was trained, and those that
// need none.
func (f *Folder) Trained() ([]Outcome, error) {
	var all []Outcome
	for _, c := range f.Candidates {
		if c.Policy != "" {
			all = append(all, c)
			continue
		}
		if c.SHA256 == "" {
			continue
		}
		path := f.ModelPath(c.Name)
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("candidate %s: %w; the command that trained the run makes it again", c.Name, err)
		}
		if fileDigest(path) != c.SHA256 {
			return nil, fmt.Errorf("%s is not the file that was trained: it was changed or damaged since; the command that trained "+
				"the run makes it again", path)
		}
		all = append(all, c)
	}
	if len(f.Candidates) == 0 {
		return nil, fmt.Errorf("%s has no candidates: loadline tune %s judges rules alone, loadline train -o %s adds candidates", f.Dir,
			f.Dir, f.Dir)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no candidate of %s is trained yet: run the command that began the training again", f.Dir)
	}
	return all, nil
}

func readRun(dir string) (*Run, error) {
	path := filepath.Join(dir, RunFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s: there is no %s; make one with loadline train --history DIR -o %s", ErrNoRun, dir, RunFile, dir)
	}
	if err != nil {
		return nil, err
	}
	var made struct {
		Format  int    `json:"format"`
		Program string `json:"program"`
	}
	if err := json.Unmarshal(text, &made); err != nil {
		return nil, fmt.Errorf("%s is not a run: %w; train again into another folder", path, err)
	}
	if made.Format != RunFormat {
		return nil, &OtherVersionError{Path: path, Format: made.Format, Program: made.Program}
	}
	r := &Run{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s is not a run: %w; train again into another folder", path, err)
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if c.Name == "" || strings.ContainsAny(c.Name, `/\,`) {
			return nil, fmt.Errorf("%s: candidate %q is not the name of a file", path, c.Name)
		}
	}
	return r, nil
}
