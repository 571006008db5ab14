package portfolio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/pool"
)

// JudgedFile is the name of the file that promote writes, and its key in the ConfigMap of the twin.
const JudgedFile = "judged.json"

// judgedFormat is the version of the file. Another one is rejected.
const judgedFormat = 1

// Judged is what a deployment was judged on, and what was judged beside it.
type Judged struct {
	Format int    `json:"format"`
	App    string `json:"app"`
	Digest string `json:"subject_digest"` // of the twin and the history
	// The test part of the history.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Peak is the highest load that the twin was fitted to or judged under, requests per second.
	Peak result.Number `json:"peak_rate"`
	// Errors of the twin on later history: median, relative.
	Services []ServiceError `json:"services"`
	P99Error result.Number  `json:"p99_error"`

	Axes     []string    `json:"axes"`
	Prices   pool.Prices `json:"prices"`
	Currency string      `json:"currency"`
	// Deployments that were judged: the promoted one first, then the best first.
	Deployments []Deployment `json:"deployments"`

	// For people: all policies of the evaluation, and how those learned that did. Files of earlier
	// releases have neither.
	Candidates []Evaluated `json:"candidates,omitempty"`
	Curves     []Curve     `json:"curves,omitempty"`
}

// ServiceError is the twin's error of the CPU of one service.
type ServiceError struct {
	Service  string        `json:"service"`
	CPUError result.Number `json:"cpu_error"`
}

// Deployment is a deployment with its figures on the test part.
type Deployment struct {
	Label    string `json:"label"`
	Policy   string `json:"policy,omitempty"`   // in the notation of policies; none = it has a model
	Fallback string `json:"fallback,omitempty"` // rule of the guard around it; none = no guard

	PerMonth result.Number `json:"per_month"` // request by request
	Over     result.Number `json:"over_slo_ratio"`
	// Whole are those of the fluid engine over the whole test part.
	WholePerMonth result.Number `json:"whole_per_month"`
	WholeOver     result.Number `json:"whole_over_slo_ratio"`
}

// mostRivals of a promoted deployment that are kept: the runner-up, and the tuned rule.
const mostRivals = 2

// Of is what the evaluation of a run judged the promoted deployment on. Only deployments that need
// no model can be estimated elsewhere: the runner-up is the best of them, and the tuned rule is kept
// if it is another one.
func Of(f *pipeline.Folder, e *pipeline.Evaluation, promoted *pipeline.Entry) *Judged {
	j := &Judged{
		Format: judgedFormat, App: f.Subject.Name, Digest: f.Subject.Digest, From: f.Subject.HeldOut.From, To: f.Subject.HeldOut.To,
		Peak:     result.Number(max(f.Training.Max(), f.Selection.Max(), f.HeldOut.Max())),
		P99Error: f.Subject.Knowledge.P99Error, Axes: e.Settings.Axes, Prices: e.Prices.WithDefaults(), Currency: e.Currency,
		Services: []ServiceError{}, Deployments: []Deployment{deploymentOf(promoted)},
	}
	for _, s := range f.Subject.Knowledge.Services {
		j.Services = append(j.Services, ServiceError{s.Service, s.CPUError})
	}
	add := func(d *pipeline.Entry) {
		if d == nil || d.Label == promoted.Label || d.Role == pipeline.RoleReference || d.SHA256 != "" || d.Policy == "" ||
			slices.ContainsFunc(j.Deployments, func(o Deployment) bool { return o.Policy == d.Policy && o.Fallback == d.Fallback }) {
			return
		}
		j.Deployments = append(j.Deployments, deploymentOf(d))
	}
	for i := range e.Entries { // by cost subject to the SLO
		if len(j.Deployments) < mostRivals {
			add(&e.Entries[i])
		}
	}
	add(e.Entry(pipeline.TunedLabel))
	j.Candidates, j.Curves = candidatesOf(e, promoted.Label), curvesOf(f.Candidates, promoted.Label)
	return j
}

func deploymentOf(e *pipeline.Entry) Deployment {
	d := Deployment{Label: e.Label, Policy: e.Policy, Fallback: e.Fallback, PerMonth: e.PerMonth, Over: e.Over,
		WholePerMonth: result.Number(math.NaN()), WholeOver: result.Number(math.NaN())}
	if e.SHA256 != "" {
		d.Policy = ""
	}
	if e.Whole != nil {
		d.WholePerMonth, d.WholeOver = e.Whole.PerMonth, e.Whole.Over
	}
	return d
}

// Encode writes the file.
func (j *Judged) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(j, "", " ")
	return append(text, '\n'), err
}

// Read the file; name is for errors.
func Read(name string, text []byte) (*Judged, error) {
	j := &Judged{}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(j); err != nil {
		return nil, fmt.Errorf("%s is not a %s: %w; loadline promote writes one", name, JudgedFile, err)
	}
	var faults []error
	if j.Format != judgedFormat {
		faults = append(faults, fmt.Errorf("format is %d, this program reads %d: promote again", j.Format, judgedFormat))
	}
	if len(j.Deployments) == 0 {
		faults = append(faults, errors.New("deployments is empty, must have the promoted one"))
	}
	if !(j.Peak > 0) || math.IsInf(float64(j.Peak), 1) {
		faults = append(faults, fmt.Errorf("peak_rate is %v, must be above 0", float64(j.Peak)))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return j, nil
}

// cpuError of a service; NaN = it is not stated.
func (j *Judged) cpuError(service string) float64 {
	if j != nil {
		for _, s := range j.Services {
			if s.Service == service {
				return float64(s.CPUError)
			}
		}
	}
	return math.NaN()
}
