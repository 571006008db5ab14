package pipeline

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/loadline/loadline/internal/bench"
)

// RehearsalDir holds the runs that the choice is made by.
const RehearsalDir = "rehearsal"

// rehearse runs the candidates and the rule on the stretches that rules are
// calibrated on. The best of many on the unseen part would owe some of its success
// there to chance, and nothing would be left to tell how much.
func (j Judging) rehearse(ctx context.Context, f *Folder, e *Evaluation) error {
	stretches, err := validationStretches(f.Seen, f.Unseen.Duration(), j.Stretch)
	if err != nil {
		return err
	}
	app, err := sizedFor(f.App, f.Seen)
	if err != nil {
		return err
	}
	m := bench.Matrix{
		Suite: "rehearsal of " + f.Subject.Name, Apps: []bench.App{{Name: f.App.Name, Model: app}}, Seeds: 1, WarmUp: leadOf(j.Stretch),
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
		m.Workloads = append(m.Workloads, bench.Workload{Name: fmt.Sprintf("rehearsal %d", i+1), Given: &bench.Given{Test: s}})
	}
	m.Baseline = m.Policies[0].Label
	results, err := bench.Run(ctx, m, bench.Options{
		Dir: filepath.Join(f.Dir, RehearsalDir), Program: j.Program, Workers: j.Workers, Redo: j.Redo, CPUTime: j.CPUTime, Log: j.Log,
		Progress: func(p bench.Progress) { j.Progress(benchShare + (1-benchShare)*p.Share) },
	})
	if err != nil {
		return err
	}
	for i := range results.Rows {
		row := &results.Rows[i]
		entry := e.Entry(row.Case.Label)
		if entry.Rehearsal == nil {
			entry.Rehearsal = &Rehearsal{Met: true}
		}
		r, measures := entry.Rehearsal, row.Measures
		r.CoreHours += measures["core_hours"].Mean
		r.Over = max(r.Over, measures["over_slo_ratio"].Mean)
		r.SLORatio = max(r.SLORatio, measures["worst_slo_ratio"].Mean)
		r.Met = r.Met && row.Met
	}
	return nil
}

// rehearsal is what the choice is made by; without one, as in an evaluation of an
// earlier version, what happened on the unseen part.
func (e *Entry) rehearsal() Rehearsal {
	if e.Rehearsal != nil {
		return *e.Rehearsal
	}
	return Rehearsal{e.CoreHours, e.Over, e.SLORatio, e.Met}
}
