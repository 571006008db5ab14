package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/simulate"
)

// runOne makes one run, or reads it if it was made before.
func (r *runner) runOne(ctx context.Context, j job, given string) (*Record, error) {
	spec := r.matrix.Policies[j.policy].deployed(r.matrix.spec(j.cell, given, j.seed))
	key, err := r.keyOf(j, spec)
	if err != nil {
		return nil, err
	}
	if kept, err := r.kept(key, j, spec); kept != nil || err != nil {
		return kept, err
	}
	release, err := r.claims.Claim(key)
	if err != nil {
		return nil, err
	}
	defer release()
	if r.claims != nil { // another process may have made it meanwhile
		if kept, err := r.kept(key, j, spec); kept != nil || err != nil {
			return kept, err
		}
	}
	share := r.meter.begin(j.cell.cost(r.matrix.Engine))
	record, err := r.simulate(ctx, j, spec, share)
	if err != nil {
		return nil, err
	}
	share(1)
	record.Key = key
	return r.keep(record)
}

// keyOf a run that is not an oracle's.
func (r *runner) keyOf(j job, spec simulate.Spec) (string, error) {
	if known, found := r.keys.Load(j); found {
		return known.(string), nil
	}
	var extra any
	if r.matrix.Policies[j.policy].Warm {
		past, err := j.cell.pastKey()
		if err != nil {
			return "", err
		}
		extra = past
	}
	key, err := keyOf(spec, j.cell.loads[j.seed], extra)
	if err == nil {
		r.keys.Store(j, key)
	}
	return key, err
}

// kept is a run that was made before; nil = it was not.
func (r *runner) kept(key string, j job, spec simulate.Spec) (*Record, error) {
	kept := &Record{}
	found, err := r.store.read(runsFolder, key, kept)
	if err != nil || !found {
		return nil, err
	}
	r.meter.skip(j.cell.cost(r.matrix.Engine))
	kept.Case = r.matrix.caseOf(j, spec.Policy) // the same run may have another name now
	return kept, nil
}

// keep writes a record, and returns it as it was written.
func (r *runner) keep(record *Record) (*Record, error) {
	kept, key := &Record{}, record.Key
	if err := r.store.write(runsFolder, key, record); err != nil {
		return nil, err
	}
	// The written record counts: numbers are rounded there, and a resumed bench must give the
	// same figures.
	if found, err := r.store.read(runsFolder, key, kept); err != nil {
		return nil, err
	} else if !found {
		return nil, fmt.Errorf("run %s was written to %s and is not there", key, r.options.Dir)
	}
	kept.Case = record.Case // another worker may have made the same run under another name
	return kept, nil
}

func (r *runner) simulate(ctx context.Context, j job, spec simulate.Spec, share func(float64)) (*Record, error) {
	app := spec.App
	load, err := j.cell.loads[j.seed].For(app)
	if err != nil {
		return nil, err
	}
	if r.matrix.Policies[j.policy].Warm {
		if spec.Past, err = j.cell.histories(ctx); err != nil {
			return nil, err
		}
	}
	notes := newNotebook(app, spec.Cluster.Prices)
	spec.Load = load
	spec.Hooks = simulate.Hooks{
		CPUTime:  r.options.CPUTime,
		Of:       notes.hooks,
		Progress: func(at time.Duration) { share(at.Seconds() / spec.Duration.Seconds()) },
	}
	out, err := simulate.Run(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("%s on %s, workload %s, perturbation %s, seed %d: %w", spec.Policy, app.Name, spec.Workload,
			j.cell.perturbation, spec.Seed, err)
	}
	out.Result.Policy = r.nameless(out.Result.Policy)
	axes := notes.axes()
	bound := BoundOf(app, spec.Cluster, spec.Perturb, spec.WarmUp, spec.Duration, load.Rate)
	inCores := policy.LowerBound(app, slices.Contains(axes, axisCPU), spec.WarmUp, spec.Duration, load.Rate)
	record := &Record{
		Format: FormatVersion, Program: r.options.Program, Case: r.matrix.caseOf(j, spec.Policy), Seed: spec.Seed,
		Result: out.Result, DecisionUs: r.decisionUs(out.Effort), Timeline: timelineOf(app, out.Timeline), Latency: latencyOf(app, out),
		Decisions: notes.decisions, DecisionsLeftOut: notes.leftOut, Axes: axes,
		Bound: result.Number(bound.Bill), BoundDeviation: result.Number(bound.Deviation),
		BelowBound:     out.Result.SLOMet() && bound.Below(float64(out.Result.Bill)),
		BoundCoreHours: result.Number(inCores.CoreHours), Applied: notes.schedule(out.Deployed),
		ReplicaChanges: notes.replicaChanges, Resizes: notes.resizes, NotAllowed: notes.notAllowed(),
	}
	if record.Decisions == nil {
		record.Decisions = []Decision{}
	}
	return record, nil
}

func (r *runner) decisionUs(e simulate.Effort) result.Number {
	if r.options.CPUTime == nil {
		return result.Number(math.NaN())
	}
	return result.Number(float64(e.CPUTime) / float64(time.Microsecond) / float64(e.Decisions))
}

func latencyOf(app *loadline.App, out *simulate.Outcome) map[string][]Bucket {
	all := map[string][]Bucket{}
	for k := range app.Kinds {
		all[app.Kinds[k].Name] = bucketsOf(out.Meter.Kinds[k].Latency)
	}
	return all
}
