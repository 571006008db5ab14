package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/train"
)

// Evaluation is the result of evaluating a run's candidates, evaluation.json.
type Evaluation struct {
	Format  int    `json:"format"`
	Program string `json:"program"`
	App     string `json:"app"`
	Digest  string `json:"subject_digest"` // of the subject

	Seeds     int                `json:"seeds"`
	Stretches []EvaluatedStretch `json:"stretches"` // of the held-out part, in the event engine
	Entries   []Entry            `json:"entries"`   // by cost subject to the SLO, the best first
	ByPods    []string           `json:"by_pods"`   // labels by mean pods on ENV2, the paper's ranking
	Rule      string             `json:"rule"`      // label of the rule that candidates must beat
	Prefer    Preference         `json:"prefer"`
	Verdict   Verdict            `json:"verdict"`
}

// EvaluatedStretch is a stretch on which policies were evaluated.
type EvaluatedStretch struct {
	Name     string        `json:"name"`
	From     time.Time     `json:"from"`
	To       time.Time     `json:"to"`
	MeanRate result.Number `json:"mean_rate"` // requests per second
	MaxRate  result.Number `json:"max_rate"`
}

// Roles of the policies of an evaluation.
const (
	RoleCandidate = "candidate"
	RoleBaseline  = "baseline"
	RoleReference = "reference" // an oracle: not a contender
)

// Entry is a policy with its figures.
type Entry struct {
	Label      string `json:"label"`
	Policy     string `json:"policy"` // as run
	Role       string `json:"role"`
	Method     string `json:"method,omitempty"` // of a candidate
	Calibrated bool   `json:"calibrated,omitempty"`
	SHA256     string `json:"sha256,omitempty"` // of a candidate's model

	// In the event engine, over all stretches and seeds.
	CoreHours result.Number `json:"core_hours"`      // of one pass over the stretches
	Over      result.Number `json:"over_slo_ratio"`  // share of all requests
	WorstOver result.Number `json:"worst_over_slo"`  // of the worst run
	SLORatio  result.Number `json:"worst_slo_ratio"` // latency over its SLO, at its percentile: the worst stretch's mean
	Replicas  result.Number `json:"mean_replicas"`
	Changes   result.Number `json:"changes_per_hour"`
	Met       bool          `json:"met"`             // at most 1 % over in every run; the cost counts only then
	Bound     string        `json:"bound,omitempty"` // min or max: where its replicas were almost all the time
	Front     bool          `json:"front"`           // no contender is both cheaper and safer
	Stretches []Figures     `json:"stretches"`
	// Against the rule: the cost relative to the rule's, minus 1, run by run.
	Against *bench.Interval `json:"against_rule,omitempty"`
	Pairs   int             `json:"pairs,omitempty"`

	// Validation has the figures of a candidate, or of the rule, at the end of the training
	// part. The choice is made by them, so that the held-out part only evaluates it.
	Validation *Validation `json:"rehearsal,omitempty"`

	ENV2    *ENV2  `json:"env2,omitempty"`
	NotENV2 string `json:"not_on_env2,omitempty"` // why it cannot be run there

	runs []*bench.Record
}

// Validation has the figures of a policy on stretches of the training part, in the event
// engine.
type Validation struct {
	CoreHours result.Number `json:"core_hours"`
	Over      result.Number `json:"over_slo_ratio"`
	SLORatio  result.Number `json:"worst_slo_ratio"`
	Met       bool          `json:"met"`
}

// Figures of one stretch, means over the seeds.
type Figures struct {
	Stretch   string        `json:"stretch"`
	CoreHours result.Number `json:"core_hours"`
	Over      result.Number `json:"over_slo_ratio"`
	SLORatio  result.Number `json:"worst_slo_ratio"`
	Met       bool          `json:"met"`
}

// ENV2 has the figures of a policy on Scaling-Ops' equations, all services together.
type ENV2 struct {
	MeanPods result.Number              `json:"mean_pods"`
	Delay    result.Number              `json:"delay_s"`        // mean over services
	OverSLA  result.Number              `json:"over_sla_share"` // of the time, mean over services
	AtMin    result.Number              `json:"at_min_share"`
	AtMax    result.Number              `json:"at_max_share"`
	Bound    string                     `json:"bound,omitempty"`
	Services map[string]train.ENV2Score `json:"services"`
}

// Entry by its label, or nil.
func (e *Evaluation) Entry(label string) *Entry {
	for i := range e.Entries {
		if e.Entries[i].Label == label {
			return &e.Entries[i]
		}
	}
	return nil
}

func (e *Evaluation) write(dir string) error {
	return writeJSON(filepath.Join(dir, EvaluationFile), e, " ")
}

// ReadEvaluation reads the evaluation of a run.
func ReadEvaluation(f *Folder) (*Evaluation, error) {
	path := filepath.Join(f.Dir, EvaluationFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has not been evaluated: run loadline evaluate %s first", f.Dir, f.Dir)
	}
	if err != nil {
		return nil, err
	}
	e := &Evaluation{}
	if err := json.Unmarshal(text, e); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w; run loadline evaluate %s again", path, err, f.Dir)
	}
	if e.Format != RunFormat {
		return nil, fmt.Errorf("%s has format %d, and this program reads %d: run loadline evaluate %s again", path, e.Format, RunFormat,
			f.Dir)
	}
	if e.Digest != f.Subject.Digest {
		return nil, fmt.Errorf("%s is of another training run: run loadline evaluate %s again", path, f.Dir)
	}
	return e, nil
}
