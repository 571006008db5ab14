package pipeline

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/loadline/loadline/internal/bench"
)

// ValidationDir holds the validation runs, by which the choice is made. The name on disk
// is that of earlier versions.
const ValidationDir = "rehearsal"

// validate runs the candidates and the rule on the stretches that rules are calibrated
// on. Choosing the best of many on the held-out part would bias its figures there.
func (j EvaluationSettings) validate(ctx context.Context, f *Folder, e *Evaluation) error {
	stretches, err := validationStretches(f.Training, f.HeldOut.Duration(), j.Stretch)
	if err != nil {
		return err
	}
	app, err := sizedFor(f.App, f.Training)
	if err != nil {
		return err
	}
	m := bench.Matrix{
		Suite: "validation of " + f.Subject.Name, Apps: []bench.App{{Name: f.App.Name, Model: app}}, Seeds: 1, WarmUp: leadOf(j.Stretch),
		Cluster: j.Cluster,
	}
	for i := range e.Entries {
		if entry := &e.Entries[i]; entry.Role == RoleCandidate || entry.Label == e.Rule {
			m.Policies = append(m.Policies, bench.Policy{Spec: entry.Policy, Label: entry.Label})
		}
	}
	if len(m.Policies) == 0 {
		return nil
	}
	for i, s := range stretches {
		m.Workloads = append(m.Workloads, bench.Workload{Name: fmt.Sprintf("validation %d", i+1), Given: &bench.Given{Test: s}})
	}
	m.Baseline = m.Policies[0].Label
	results, err := bench.Run(ctx, m, bench.Options{
		Dir: filepath.Join(f.Dir, ValidationDir), Program: j.Program, Workers: j.Workers, Redo: j.Redo, CPUTime: j.CPUTime, Log: j.Log,
		Progress: func(p bench.Progress) { j.Progress(benchShare + (1-benchShare)*p.Share) },
	})
	if err != nil {
		return err
	}
	for i := range results.Rows {
		row := &results.Rows[i]
		entry := e.Entry(row.Case.Label)
		if entry.Validation == nil {
			entry.Validation = &Validation{Met: true}
		}
		r, measures := entry.Validation, row.Measures
		r.CoreHours += measures["core_hours"].Mean
		r.Over = max(r.Over, measures["over_slo_ratio"].Mean)
		r.SLORatio = max(r.SLORatio, measures["worst_slo_ratio"].Mean)
		r.Met = r.Met && row.Met
	}
	return nil
}

// validation has the figures by which the choice is made. An evaluation of an earlier version
// has none: then those of the held-out part are used.
func (e *Entry) validation() Validation {
	if e.Validation != nil {
		return *e.Validation
	}
	return Validation{e.CoreHours, e.Over, e.SLORatio, e.Met}
}
