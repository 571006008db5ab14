package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/internal/workload"
)

// RunFormat is the version of a run's files. Another one is detected and rejected.
const RunFormat = 2

// Files of a run's folder. Each is written atomically; run.json names only existing ones.
const (
	RunFile        = "run.json"
	TwinFile       = "twin.yaml"
	TrainingFile   = "seen.json"
	SelectionFile  = "select.json"
	HeldOutFile    = "unseen.json"
	CandidatesDir  = "candidates"
	BenchDir       = "bench"
	EvaluationFile = "evaluation.json"
	TuneFile       = "tune.json" // the evaluation of rules alone
)

// Inputs are the files and folders of a run that an evaluation reads; some may be missing.
func Inputs() []string {
	return []string{RunFile, TwinFile, TrainingFile, SelectionFile, HeldOutFile, CandidatesDir}
}

// Run is a training run as it is stored, run.json: the training data and the candidates.
// With the files beside it, it can be evaluated without the history.
type Run struct {
	Format     int       `json:"format"`
	Program    string    `json:"program"`
	Subject    Summary   `json:"subject"`
	Candidates []Outcome `json:"candidates"`
	// Origin is where the candidates were trained; nil = on this subject.
	Origin *Origin `json:"origin,omitempty"`
}

// Summary of a subject.
type Summary struct {
	Name     string   `json:"name"`
	Source   string   `json:"source"`
	Digest   string   `json:"digest"` // of the model and of the parts
	Services []string `json:"services"`
	Training Span     `json:"seen"`
	// Selection follows: rules are calibrated and a candidate is chosen there.
	Selection Span                    `json:"select"`
	HeldOut   Span                    `json:"unseen"` // the test part
	Delays    map[string]train.Delays `json:"delays"` // Scaling-Ops' model of each service
	Notes     []string                `json:"notes,omitempty"`
	// Today is the autoscaler that the user runs; none = unknown.
	Today string `json:"today,omitempty"`
	// TodayGuard is its fallback rule, if it is a LoadLine; none = it runs without our guard.
	TodayGuard       string   `json:"today_guard,omitempty"`
	AssumedObjective bool     `json:"assumed_objective,omitempty"`
	Guessed          []string `json:"guessed,omitempty"`  // what a conclusion would rest on, and what to measure
	Replaced         []string `json:"replaced,omitempty"` // services whose training part shows a release that is gone

	Knowledge Knowledge `json:"knowledge"`
}

// Span of time.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Outcome is a candidate with all its settings and, once it is trained, the
// digest of its model and its learning curves.
type Outcome struct {
	Candidate
	Result
}

// Result of a training.
type Result struct {
	SHA256 string         `json:"sha256,omitempty"` // of the model file; empty = not trained yet
	Failed string         `json:"failed,omitempty"` // why the training failed; the same command tries again
	Curves []OutcomeCurve `json:"curves,omitempty"`
}

// UnmarshalJSON reads both parts: without it the candidate's UnmarshalJSON would be
// promoted and read the whole.
func (o *Outcome) UnmarshalJSON(text []byte) error {
	return errors.Join(json.Unmarshal(text, &o.Candidate), json.Unmarshal(text, &o.Result))
}

// OutcomeCurve is the learning curve of one network; unknown values are null.
type OutcomeCurve struct {
	Service string         `json:"service"`
	Points  []OutcomePoint `json:"points"`
}

// OutcomePoint of a learning curve.
type OutcomePoint struct {
	Steps      int           `json:"steps"`
	Return     result.Number `json:"return"`
	Loss       result.Number `json:"loss"`
	Evaluation result.Number `json:"evaluation"`
}

// Folder is a run on disk.
type Folder struct {
	Dir string
	Run
	App                          *loadline.App
	Training, Selection, HeldOut *workload.Workload

	known []string // figures that the user gave
}

// OtherVersionError: the folder was made by another version of the program.
type OtherVersionError struct {
	Path              string
	Format            int
	Program, Expected string
}

func (e *OtherVersionError) Error() string {
	if e.Format != RunFormat {
		return fmt.Sprintf("%s has format %d, and this program reads %d: train again into another folder, or use the loadline that "+
			"made it", e.Path, e.Format, RunFormat)
	}
	return fmt.Sprintf("%s was begun by %q, and this is %q: choose another folder, or start it again with --redo", e.Path, e.Program,
		e.Expected)
}

// ErrNoRun: the folder has no run.
var ErrNoRun = errors.New("no run")

// ModelPath is the path of a candidate's model.
func (f *Folder) ModelPath(name string) string { return modelPath(f.Dir, name) }

func modelPath(dir, name string) string {
	return filepath.Join(dir, CandidatesDir, name+".safetensors")
}
