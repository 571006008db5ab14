package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/train"
)

// Evaluation is the result of evaluating a run's candidates, evaluation.json.
type Evaluation struct {
	Format  int    `json:"format"`
	Program string `json:"program"`
	App     string `json:"app"`
	Digest  string `json:"subject_digest"` // of the subject

	Verdict     Verdict  `json:"verdict"`
	Objective   []string `json:"objective"`   // of each kind of request
	Assumptions []string `json:"assumptions"` // that the verdict rests on; an assumed objective is the first

	Settings Settings  `json:"settings"`
	Earlier  []Opening `json:"earlier_openings"` // of the test part, with other settings

	Currency string        `json:"currency"`
	Prices   pool.Prices   `json:"prices"`
	Own      result.Number `json:"own_cost_per_month"` // of Loadline itself
	Prefer   Preference    `json:"prefer"`

	Selection Selection `json:"selection"` // on the part before the test
	// Conditions are how the application and its nodes may be other than the twin has them, the
	// first as fitted, with what deployments do there.
	Conditions    []Condition   `json:"conditions"`
	Extrapolation Extrapolation `json:"extrapolation"`

	Seeds     int                `json:"seeds"` // runs of each deployment on each stretch, after the last look
	Looks     int                `json:"looks"`
	Stretches []EvaluatedStretch `json:"stretches"` // of the test part, in the event engine
	Entries   []Entry            `json:"entries"`   // by cost subject to the SLO, the best first
	ByPods    []string           `json:"by_pods"`   // labels by mean pods on ENV2, the paper's ranking

	app       *loadline.App
	knowledge Knowledge
	rates     map[string]map[string]float64 // requests per second of one replica, by deployment and service
}

// EvaluatedStretch is a stretch on which deployments were evaluated.
type EvaluatedStretch struct {
	Name     string        `json:"name"`
	From     time.Time     `json:"from"`
	To       time.Time     `json:"to"`
	MeanRate result.Number `json:"mean_rate"` // requests per second
	MaxRate  result.Number `json:"max_rate"`
	Weight   result.Number `json:"weight"` // share of the part's time that it stands for
}

// Selection is the choice of a candidate, on the second part of the history.
type Selection struct {
	Stretches []EvaluatedStretch `json:"stretches"`
	Rule      string             `json:"rule"`     // label of the best baseline there, which is the fallback of every candidate
	Fallback  string             `json:"fallback"` // it, in the notation of policies
	Choice    string             `json:"choice"`   // label of the candidate that is judged on the test part; none = there are none
	Entries   []Entry            `json:"entries"`  // baselines and all candidates, in the order given
	// Busy is the condition in which deployments must meet the SLO too; none = there is none, or
	// today's violates it there.
	Busy string `json:"busy,omitempty"`
	// Tried are the settings that the search for the best rules ran, in order; the last ones in the
	// event engine.
	Tried []bench.Try `json:"tried,omitempty"`
}

// Roles of the policies of an evaluation.
const (
	RoleCandidate = "candidate"
	RoleBaseline  = "baseline"
	RoleReference = "reference" // an oracle: not a contender
)

// Entry is a deployment with its figures: over the whole part of the history that its stretches
// stand for.
type Entry struct {
	Label      string `json:"label"`
	Policy     string `json:"policy"` // as run
	Role       string `json:"role"`
	Method     string `json:"method,omitempty"` // of a candidate
	Calibrated bool   `json:"calibrated,omitempty"`
	SHA256     string `json:"sha256,omitempty"`   // of a candidate's model
	Fallback   string `json:"fallback,omitempty"` // rule of the guard around it; none = no guard

	PerMonth   result.Number  `json:"per_month"`       // money
	MonthRange bench.Interval `json:"per_month_range"` // it and its interval
	Services   []ServiceCost  `json:"services"`
	Cores      result.Number  `json:"cores"` // paid for, mean
	GiB        result.Number  `json:"gib"`

	Over      result.Number  `json:"over_slo_ratio"` // share of the requests
	OverRange bench.Interval `json:"over_slo_range"` // it and its interval
	WorstOver result.Number  `json:"worst_over_slo"` // of the worst stretch
	// BusyOver is that of the worst stretch on nodes as busy as they may be, in the selection
	// (Selection.Busy).
	BusyOver result.Number `json:"busy_over_slo,omitempty"`
	SLORatio result.Number `json:"worst_slo_ratio"`
	SLO      State         `json:"slo"` // whether the objective is met

	Replicas       result.Number `json:"mean_replicas"`
	ReplicaChanges result.Number `json:"replica_changes_per_hour"`
	Resizes        result.Number `json:"resizes_per_hour"`
	NotAllowed     []string      `json:"not_allowed,omitempty"` // what it would change on other axes
	Bound          string        `json:"bound,omitempty"`       // min or max: where its replicas were almost all the time
	Front          bool          `json:"front"`                 // no contender is both cheaper and safer
	Stretches      []Figures     `json:"stretches"`

	Whole        *Whole      `json:"whole,omitempty"`         // in the fluid engine; nil = it cannot be simulated there
	AgainstToday *Difference `json:"against_today,omitempty"` // in cost

	ENV2    *ENV2  `json:"env2,omitempty"`
	NotENV2 string `json:"not_on_env2,omitempty"` // why it cannot be run there

	runs   []*bench.Record
	months []float64 // money per month by seed
	overs  []float64 // share over the SLO by seed
}

// Figures of one stretch, means over the seeds.
type Figures struct {
	Stretch  string        `json:"stretch"`
	PerHour  result.Number `json:"per_hour"` // money
	Over     result.Number `json:"over_slo_ratio"`
	SLORatio result.Number `json:"worst_slo_ratio"`
}

// Whole has the figures of a deployment over the whole test part in the fluid engine.
type Whole struct {
	PerMonth result.Number `json:"per_month"`
	Over     result.Number `json:"over_slo_ratio"`
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
func (e *Evaluation) Entry(label string) *Entry { return entryOf(e.Entries, label) }

func entryOf(entries []Entry, label string) *Entry {
	for i := range entries {
		if entries[i].Label == label {
			return &entries[i]
		}
	}
	return nil
}

// ReadEvaluation reads the evaluation of a run's candidates.
func ReadEvaluation(f *Folder) (*Evaluation, error) { return readEvaluation(f, EvaluationFile) }

func readEvaluation(f *Folder, file string) (*Evaluation, error) {
	path := filepath.Join(f.Dir, file)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has not been evaluated: run loadline evaluate %s first", f.Dir, f.Dir)
	}
	if err != nil {
		return nil, err
	}
	e := &Evaluation{}
	err = json.Unmarshal(text, e)
	if err == nil || e.Format != 0 && e.Format != RunFormat {
		switch {
		case e.Format != RunFormat:
			return nil, fmt.Errorf("%s has format %d, and this program reads %d: run loadline evaluate %s again", path, e.Format,
				RunFormat, f.Dir)
		case e.Digest != f.Subject.Digest:
			return nil, fmt.Errorf("%s is of another training run: run loadline evaluate %s again", path, f.Dir)
		}
		return e, nil
	}
	return nil, fmt.Errorf("%s cannot be read: %w; run loadline evaluate %s again", path, err, f.Dir)
}

// evaluationFile of an evaluation: one of rules alone does not replace that of the candidates.
func evaluationFile(s Settings) string {
	if s.Rules {
		return TuneFile
	}
	return EvaluationFile
}

func (e *Evaluation) write(dir string) error {
	return writeJSON(filepath.Join(dir, evaluationFile(e.Settings)), e, " ")
}
