package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/twin"
)

// EarlierDir has what a run was before it was continued with a later history: a folder for each
// subject, by its digest.
const EarlierDir = "earlier"

// Origin is the history that candidates were trained on, if it is not that of the run.
type Origin struct {
	Source string `json:"source"`
	Digest string `json:"digest"` // of the subject
	Seen   Span   `json:"seen"`
}

// earlierFiles are kept of a run that is continued. The runs below bench and the like stay where
// they are: each is stored under a digest of everything that determines it.
var earlierFiles = []string{TwinFile, TrainingFile, SelectionFile, HeldOutFile, EvaluationFile, TuneFile, OpeningsFile, RunFile}

// Again is how a later history of a run's application is read: the same name and objectives.
func Again(dir string) (Past, error) {
	f, err := OpenRun(dir)
	if err != nil {
		r, unreadable := readRun(dir)
		if unreadable != nil {
			return Past{}, unreadable
		}
		// Continue was interrupted: the files before it are kept.
		if f, unreadable = OpenRun(filepath.Join(dir, EarlierDir, r.Subject.Digest)); unreadable != nil {
			return Past{}, err
		}
	}
	p := Past{Name: f.Subject.Name}
	for _, k := range f.App.Kinds {
		p.Objectives = append(p.Objectives, twin.Objective{Kind: k.Name, SLO: k.SLO})
	}
	return p, nil
}

// Continue judges the candidates of a run on a later history without training them: the twin and
// the parts for selection and test become those of the new subject. If the history does not show
// what runs today, that is what the run's last evaluation promoted. What the run was before is kept
// in EarlierDir. With the subject that the run already has, nothing changes. Interrupted, the same
// call makes it whole.
func Continue(dir, program string, s *Subject) (*Folder, error) {
	before, err := readRun(dir)
	if err != nil {
		return nil, err
	}
	if err := before.continues(dir, s); err != nil {
		return nil, err
	}
	summary := s.summary()
	if before.Subject.Digest == summary.Digest {
		return OpenRun(dir)
	}
	if s.Today == "" {
		s.Today, s.TodayGuard = promoted(dir, before)
		summary.Today, summary.TodayGuard = s.Today, s.TodayGuard
	}
	summary.AssumedObjective = before.Subject.AssumedObjective
	if err := keepEarlier(dir, before.Subject.Digest); err != nil {
		return nil, err
	}
	f := &Folder{Dir: dir, App: s.App, Training: s.Training, Selection: s.Selection, HeldOut: s.HeldOut}
	f.Run = Run{Format: RunFormat, Program: program, Subject: summary, Candidates: before.Candidates, Origin: before.Origin}
	if f.Origin == nil {
		f.Origin = &Origin{before.Subject.Source, before.Subject.Digest, before.Subject.Training}
	}
	if err := f.writeSubject(s); err != nil {
		return nil, err
	}
	return f, f.write()
}

// continues reports why candidates cannot be judged on a subject.
func (r *Run) continues(dir string, s *Subject) error {
	if s.Name != r.Subject.Name {
		return fmt.Errorf("%s is a run on %s, and this is a history of %s: train on it with loadline train", dir, r.Subject.Name, s.Name)
	}
	if !slices.ContainsFunc(r.Candidates, func(c Outcome) bool { return c.Policy == "" }) {
		return nil // policies that need no training take any services
	}
	var differ []string
	for i := range s.App.Services {
		if name := s.App.Services[i].Name; !slices.Contains(r.Subject.Services, name) {
			differ = append(differ, name+" is new")
		}
	}
	for _, name := range r.Subject.Services {
		if s.App.ServiceIndex(name) < 0 {
			differ = append(differ, name+" is gone")
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("the candidates of %s were trained for other services (%s): train again with loadline train", dir,
			strings.Join(differ, ", "))
	}
	return nil
}

// promoted is the deployment that the run's evaluation advised, as policy and fallback rule.
func promoted(dir string, r *Run) (spec, guard string) {
	e, err := ReadEvaluation(&Folder{Dir: dir, Run: *r})
	if err != nil || e.Verdict.Kind != Promote {
		return "", ""
	}
	return e.Verdict.Policy, e.Verdict.Fallback
}

// keepEarlier copies what a run is now. run.json is the last file: a copy that has it is whole, and
// is not repeated from a folder that may have been changed since.
func keepEarlier(dir, digest string) error {
	to := filepath.Join(dir, EarlierDir, digest)
	if _, err := os.Stat(filepath.Join(to, RunFile)); err == nil {
		return nil
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("keep the run before it is continued: %w", err)
	}
	for _, name := range earlierFiles {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = writeWhole(filepath.Join(to, name), text)
		}
		if err != nil {
			return fmt.Errorf("keep the run before it is continued: %w", err)
		}
	}
	return nil
}
