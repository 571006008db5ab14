package pipeline

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/workload"
)

// EvaluationSettings configure an evaluation.
type EvaluationSettings struct {
	Prefer    Preference
	Seeds     int           // runs of each policy on each stretch; 0 = 3
	Baselines []string      // in the notation of bench; none = DefaultBaselines
	Stretch   time.Duration // 0 = an hour
	// Cluster is where everything is judged; the zero value has the twin's own nodes.
	Cluster pool.Cluster

	Program  string
	Workers  int
	Redo     bool                 // repeat what another version made
	CPUTime  func() time.Duration // of the calling thread; may be nil
	Progress func(share float64)  // may be nil
	Log      func(line string)    // may be nil
}

// DefaultSeeds is how often each policy is run on each stretch.
const DefaultSeeds = 3

// horizontalRule is calibrated with the limits and requests that the pods have: it may become the
// fallback rule of a deployment, which changes replicas alone.
const horizontalRule = "hpa (calibrated): hpa:limits=keep,request=keep@calibrated"

// DefaultBaselines are what candidates are compared with: HPA with its
// defaults and calibrated for this application, Autothrottle, and the oracle.
func DefaultBaselines() []string {
	return []string{"hpa", horizontalRule, "autothrottle", "oracle"}
}

func (j EvaluationSettings) withDefaults() EvaluationSettings {
	if j.Seeds == 0 {
		j.Seeds = DefaultSeeds
	}
	if len(j.Baselines) == 0 {
		j.Baselines = DefaultBaselines()
	}
	if j.Stretch == 0 {
		j.Stretch = DefaultStretch
	}
	if j.Prefer == "" {
		j.Prefer = PreferCost
	}
	if j.Progress == nil {
		j.Progress = func(float64) {}
	}
	return j
}

// benchShare is the event engine's share of the work.
const benchShare = 0.8

// Evaluate runs every candidate and every baseline on the held-out part of the history:
// in the event engine on stretches of it, and where possible on Scaling-Ops' equations
// over all of it. Rules are calibrated on the training part. Interrupted, it keeps the
// finished runs, and the same call resumes from there.
func Evaluate(ctx context.Context, f *Folder, j EvaluationSettings) (*Evaluation, error) {
	j = j.withDefaults()
	if err := j.Prefer.Check(); err != nil {
		return nil, err
	}
	candidates, err := f.Trained()
	if err != nil {
		return nil, err
	}
	on, err := stretches(f.HeldOut, j.Stretch, true)
	if err != nil {
		return nil, err
	}
	matrix, err := j.matrix(f, candidates, on)
	if err != nil {
		return nil, err
	}
	results, err := bench.Run(ctx, matrix, bench.Options{
		Dir: filepath.Join(f.Dir, BenchDir), Program: j.Program, Workers: j.Workers, Redo: j.Redo, CPUTime: j.CPUTime, Log: j.Log,
		Progress: func(p bench.Progress) { j.Progress(benchShare * p.Share) },
	})
	if err != nil {
		return nil, err
	}
	e := &Evaluation{
		Format: RunFormat, Program: j.Program, App: f.App.Name, Digest: f.Subject.Digest, Seeds: j.Seeds, Prefer: j.Prefer,
	}
	for _, s := range on {
		e.Stretches = append(e.Stretches, EvaluatedStretch{
			s.Name, f.Subject.HeldOut.From.Add(s.From), f.Subject.HeldOut.From.Add(s.To), result.Number(s.Load.Mean()),
			result.Number(s.Load.Max()),
		})
	}
	if e.Entries, err = entriesOf(filepath.Join(f.Dir, BenchDir), f.App, results, matrix.Policies, candidates); err != nil {
		return nil, err
	}
	if err := f.tryENV2(ctx, e.Entries, j); err != nil {
		return nil, err
	}
	e.rank()
	if err := j.validate(ctx, f, e); err != nil {
		return nil, err
	}
	e.setVerdict()
	return e, e.write(f.Dir)
}

// CheckBaselines reports faults of the baselines without running anything.
func (j EvaluationSettings) CheckBaselines(f *Folder) error {
	j = j.withDefaults()
	_, err := j.matrix(f, nil, []Stretch{{Name: wholeStretch, Load: f.HeldOut}})
	return err
}

// matrix of the comparison in the event engine.
func (j EvaluationSettings) matrix(f *Folder, candidates []Outcome, on []Stretch) (bench.Matrix, error) {
	app, err := sizedFor(f.App, f.Training)
	if err != nil {
		return bench.Matrix{}, err
	}
	m := bench.Matrix{
		Suite: "evaluation of " + f.Subject.Name, Apps: []bench.App{{Name: f.App.Name,
			Model: app}}, Seeds: j.Seeds, WarmUp: leadOf(j.Stretch), Cluster: j.Cluster,
		// A baseline is calibrated where it is judged: candidates are not asked to bear other
		// neighbours either.
		Neighbours: []float64{},
	}
	calibrated := false
	for _, text := range j.Baselines {
		p := bench.ParsePolicy(text)
		m.Policies = append(m.Policies, p)
		calibrated = calibrated || p.Calibrated
	}
	for _, p := range m.Policies {
		if p.Calibrated || !calibrated {
			m.Baseline = p.Label
			break
		}
	}
	for _, c := range candidates {
		path := f.ModelPath(c.Name)
		if strings.Contains(path, ",") {
			return m, fmt.Errorf("the path %s has a comma in it, which separates the settings of a policy: give the run's folder "+
				"another name", path)
		}
		method, err := policy.Trainable(c.Method)
		if err != nil {
			return m, fmt.Errorf("candidate %s: %w", c.Name, err)
		}
		m.Policies = append(m.Policies, bench.Policy{Spec: method.Spec(path, ""), Label: c.Name})
	}
	var validation []*workload.Workload
	if calibrated {
		if validation, err = validationStretches(f.Training, f.HeldOut.Duration(), j.Stretch); err != nil {
			return m, err
		}
	}
	for _, s := range on {
		m.Workloads = append(m.Workloads, bench.Workload{Name: s.Name, Given: &bench.Given{Test: s.Load, Validation: validation}})
	}
	_, err = m.Check("")
	return m, err
}

// sizedFor is the application with the replicas that serve its mean load at half of
// their capacity: the initial state of every run.
func sizedFor(app *loadline.App, training *workload.Workload) (*loadline.App, error) {
	load, err := training.For(app)
	if err != nil {
		return nil, err
	}
	sums := make([]float64, len(app.Kinds))
	for t := time.Duration(0); t < training.Duration(); t += training.Step {
		for k := range sums {
			rate, _ := load.Rate(k, t)
			sums[k] += rate
		}
	}
	for k := range sums {
		sums[k] /= float64(len(training.Rates))
	}
	return apps.SizedFor(app, sums, 0.5), nil
}

// entriesOf collects the figures of each policy over all stretches.
func entriesOf(dir string, app *loadline.App, results *bench.Results, policies []bench.Policy, candidates []Outcome) ([]Entry, error) {
	var all []Entry
	for _, p := range policies {
		e := Entry{Label: p.Label, Role: RoleBaseline, Calibrated: p.Calibrated, Met: true, SLORatio: result.Number(math.NaN())}
		name, _, _ := strings.Cut(p.Spec, ":")
		if m, err := policy.Named(name); err == nil && m.Oracle {
			e.Role = RoleReference
		}
		if i := slices.IndexFunc(candidates, func(c Outcome) bool { return c.Name == p.Label }); i >= 0 {
			e.Role, e.Method, e.SHA256 = RoleCandidate, candidates[i].Method, candidates[i].SHA256
		}
		for i := range results.Rows {
			if row := &results.Rows[i]; row.Case.Label == p.Label {
				if err := e.add(dir, row); err != nil {
					return nil, err
				}
			}
		}
		e.sumUp(app)
		all = append(all, e)
	}
	return all, nil
}

// add one stretch.
func (e *Entry) add(dir string, row *bench.Row) error {
	e.Policy = row.Case.Policy
	m := row.Measures
	e.Stretches = append(e.Stretches, Figures{row.Case.Workload, m["core_hours"].Mean, m["over_slo_ratio"].Mean,
		m["worst_slo_ratio"].Mean, row.Met})
	e.CoreHours += m["core_hours"].Mean
	e.Met = e.Met && row.Met
	if worst := m["worst_slo_ratio"].Mean; !(worst <= e.SLORatio) {
		e.SLORatio = worst
	}
	for _, key := range row.Runs {
		record, err := bench.ReadRecord(dir, key)
		if err != nil {
			return err
		}
		record.Case = row.Case // the same run may have had another name
		e.runs = append(e.runs, record)
	}
	return nil
}

// sumUp computes the figures over all runs.
func (e *Entry) sumUp(app *loadline.App) {
	var requests, over, hours, replicaHours, changes float64
	var atMin, atMax, points float64
	for _, r := range e.runs {
		n, share := float64(r.Result.Requests), float64(r.Result.OverSLORatio)
		if n > 0 && !math.IsNaN(share) {
			requests += n
			over += n * share
			e.WorstOver = max(e.WorstOver, r.Result.OverSLORatio)
		}
		h := float64(r.Result.DurationSeconds) / 3600
		hours += h
		replicaHours += h * float64(r.Result.MeanReplicas)
		changes += float64(r.Result.Changes)
		for i := range app.Services {
			s := &app.Services[i]
			if s.Bounds.MinReplicas == s.Bounds.MaxReplicas {
				continue // it cannot scale
			}
			for _, n := range r.Timeline.Replicas[s.Name] {
				points++
				if n := float64(n); n <= float64(s.Bounds.MinReplicas) {
					atMin++
				} else if n >= float64(s.Bounds.MaxReplicas) {
					atMax++
				}
			}
		}
	}
	e.Over = result.Number(over / requests)
	e.Replicas = result.Number(replicaHours / hours)
	e.Changes = result.Number(changes / hours)
	e.Bound = boundOf(atMin/points, atMax/points)
}

// atBound is the share of time above which a policy counts as staying at a bound.
const atBound = 0.95

func boundOf(atMin, atMax float64) string {
	switch {
	case atMin > atBound:
		return "min"
	case atMax > atBound:
		return "max"
	}
	return ""
}
