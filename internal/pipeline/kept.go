package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/internal/workload"
)

func (s *Subject) summary() Summary {
	names := make([]string, len(s.App.Services))
	for i := range names {
		names[i] = s.App.Services[i].Name
	}
	return Summary{
		Name: s.Name, Source: s.Source, Services: names, Delays: s.Delays, Notes: s.Notes,
		Digest:   subjectDigest(s.Model, s.Training, s.Selection, s.HeldOut, s.Delays),
		Training: spanOf(s.TrainingFrom, s.Training), Selection: spanOf(s.SelectionFrom, s.Selection), HeldOut: spanOf(s.HeldOutFrom, s.HeldOut),
		Today: s.Today, TodayGuard: s.TodayGuard, AssumedObjective: s.AssumedObjective, Guessed: s.Guessed, Replaced: s.Replaced, Knowledge: s.Knowledge,
	}
}

func spanOf(from time.Time, w *workload.Workload) Span {
	return Span{from.UTC(), from.Add(w.Duration()).UTC()}
}

func subjectDigest(model []byte, training, selection, heldOut *workload.Workload, delays map[string]train.Delays) string {
	sum := sha256.New()
	sum.Write(model)
	// Numbers and names can always be encoded.
	_ = json.NewEncoder(sum).Encode([]any{keptWorkload(training), keptWorkload(selection), keptWorkload(heldOut), delays})
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// workloadFile is the format of a workload.
type workloadFile struct {
	Format int           `json:"format"`
	Name   string        `json:"name"`
	Step   time.Duration `json:"step_ns"`
	Rates  []float64     `json:"rates"`
	Mix    *workload.Mix `json:"mix,omitempty"`
}

func keptWorkload(w *workload.Workload) workloadFile {
	return workloadFile{RunFormat, w.Name, w.Step, w.Rates, w.Mix}
}

func readWorkload(path string) (*workload.Workload, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w; train again", err)
	}
	var kept workloadFile
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, fmt.Errorf("%s: %w; train again", path, err)
	}
	if kept.Format > RunFormat {
		return nil, &OtherVersionError{Path: path, Format: kept.Format}
	}
	w := &workload.Workload{Name: kept.Name, Step: kept.Step, Rates: kept.Rates, Mix: kept.Mix}
	return w, w.Validate()
}

func writeJSON(path string, what any, indent string) error {
	var text []byte
	var err error
	if indent == "" {
		text, err = json.Marshal(what)
	} else {
		text, err = json.MarshalIndent(what, "", indent)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeWhole(path, append(text, '\n'))
}

func writeWhole(path string, text []byte) error {
	return atomicfile.Write(path, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// fileDigest of a file's content; empty if it cannot be read.
func fileDigest(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// removeLeftovers removes temporary files of a killed training. A recent one may belong to
// another running program.
func removeLeftovers(folder string) {
	paths, _ := filepath.Glob(filepath.Join(folder, ".*"+atomicfile.Suffix))
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > time.Minute {
			os.Remove(path)
		}
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }
