package bench

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

// Prepared is the result of a calibration or search, DIR/prepared/KEY.json.
type Prepared struct {
	Format  int    `json:"format"`
	Program string `json:"program"`
	Key     string `json:"key"`

	App      string `json:"app"`
	Workload string `json:"workload"`
	Label    string `json:"label"`
	Calibration
}

// preparation is one search, and the jobs that wait for it. Calibrations are shared by all
// seeds and perturbations of an application and a workload: settings are not calibrated to
// perturbations.
type preparation struct {
	key   string
	first job // of those that wait for it
	cost  float64
	check func(ctx context.Context, share func(float64)) (*Calibration, error)

	train func(ctx context.Context, share func(float64)) (*Trained, error) // instead of check

	done    atomic.Bool // what follows is set
	spec    string
	found   *Calibration
	trained *Trained
}

// oracleSeed is the first of the seeds with which schedules are searched. No run uses them: the
// oracle has the rates and not the arrivals. Runs under one trace share one schedule.
const oracleSeed = 800_001

// Approximate cost of a search, in runs.
const (
	costOfCalibration = 12
	costOfForesight   = 40
)

// preparations for the jobs, each once.
func (r *runner) preparations(jobs []job) (all []*preparation, of map[job]*preparation, err error) {
	of = map[job]*preparation{}
	byKey := map[string]*preparation{}
	for _, j := range jobs {
		p, err := r.preparation(j, jobs)
		if err != nil {
			return nil, nil, err
		}
		if p == nil {
			continue
		}
		if byKey[p.key] == nil {
			p.first = j
			byKey[p.key] = p
			all = append(all, p)
		}
		of[j] = byKey[p.key]
	}
	return all, of, nil
}

// prepare makes one, for the jobs that wait for it.
func (r *runner) prepare(ctx context.Context, p *preparation) error {
	release, err := r.claims.Claim(p.key)
	if err != nil {
		return err
	}
	defer release()
	share := r.meter.begin(p.cost)
	if err := r.make(ctx, p, share); err != nil {
		return err
	}
	share(1)
	p.done.Store(true)
	return nil
}

func (r *runner) make(ctx context.Context, p *preparation, share func(float64)) (err error) {
	if p.train != nil {
		return r.train(ctx, p, share)
	}
	found, err := r.search(ctx, p, share)
	if err != nil {
		return err
	}
	p.spec, p.found = found.Spec, found
	return nil
}

// search searches, or reads the result if it was searched before.
func (r *runner) search(ctx context.Context, p *preparation, share func(float64)) (*Calibration, error) {
	var kept Prepared
	if found, err := r.store.read(preparedFolder, p.key, &kept); err != nil || found {
		return &kept.Calibration, err
	}
	cell, label := p.first.cell, r.matrix.Policies[p.first.policy].Label
	found, err := p.check(ctx, share)
	if err != nil {
		return nil, fmt.Errorf("prepare %s on %s, workload %s: %w", label, cell.app.Name, cell.workload, err)
	}
	kept = Prepared{
		Format: FormatVersion, Program: r.options.Program, Key: p.key,
		App: cell.app.Name, Workload: cell.workload, Label: label, Calibration: *found,
	}
	return found, r.store.write(preparedFolder, p.key, kept)
}

// preparation of a job; nil = none.
func (r *runner) preparation(j job, jobs []job) (*preparation, error) {
	p := r.matrix.Policies[j.policy]
	switch {
	case p.Calibrated:
		return r.calibration(j, p, jobs)
	case p.Trained:
		return r.training(j, p)
	}
	return nil, nil
}

// calibration of a policy for the job's application and workload, or for all of them.
func (r *runner) calibration(j job, p Policy, jobs []job) (*preparation, error) {
	if len(j.cell.alone) > 0 && !p.Once {
		return r.calibrationOfEach(j, p)
	}
	cells := []*cell{j.cell}
	if p.Once {
		cells = scenesOf(jobs)
	}
	task := CalibrationTask{Policy: p.Spec, Axes: p.Axes, Margin: r.matrix.Margin, CPU: r.matrix.CPU, WarmUp: cells[0].warmUp,
		Churn: r.matrix.Churn, Floors: r.matrix.Floors, Workers: r.options.Workers}
	var keys []string
	cost := 0.0
	for i, c := range cells {
		loads, err := loadsOf(c.app, c.validation, c.begins)
		if err != nil {
			return nil, err
		}
		clusters := WithNeighbours(c.cluster, r.matrix.Neighbours)
		if i == 0 {
			task.App, task.Loads, task.Clusters = c.app.Model, loads, clusters
			task.Beyond = beyondNeighbours(c.cluster, c.app.Model, r.matrix.Neighbours)
		} else {
			task.Also = append(task.Also, CalibrationScene{c.app.Model, loads, clusters})
		}
		cost += costOfCalibration * c.cost(r.matrix.Engine) * float64(len(clusters))
		of, err := r.validationKeys(c, p)
		if err != nil {
			return nil, err
		}
		keys = append(keys, of...)
	}
	terms := []any{calibrationVersion, keys, r.matrix.Neighbours, r.matrix.Margin, r.matrix.Floors}
	if r.matrix.Churn != nil {
		terms = append(terms, r.matrix.Churn)
	}
	key, err := digest(terms)
	return &preparation{
		key: key, cost: cost,
		check: func(ctx context.Context, share func(float64)) (*Calibration, error) {
			task.Progress = share
			return Calibrate(ctx, task)
		},
	}, err
}

// calibrationOfEach calibrates a policy for each of several applications, alone in their cluster, as
// their owners would.
func (r *runner) calibrationOfEach(j job, p Policy) (*preparation, error) {
	var each []*preparation
	var keys []string
	cost := 0.0
	for _, c := range j.cell.alone {
		one, err := r.calibration(job{c, j.policy, j.seed}, p, nil)
		if err != nil {
			return nil, err
		}
		each, keys, cost = append(each, one), append(keys, one.key), cost+one.cost
	}
	key, err := digest(keys)
	return &preparation{
		key: key, cost: cost,
		check: func(ctx context.Context, share func(float64)) (*Calibration, error) {
			var found []*Calibration
			for i, one := range each {
				f, err := one.check(ctx, func(s float64) { share((float64(i) + s) / float64(len(each))) })
				if err != nil {
					return nil, err
				}
				found = append(found, f)
			}
			return joinCalibrations(j.cell.app.Model, found), nil
		},
	}, err
}

// joinCalibrations is the setting of all applications together, with the sum of their costs and the
// share over the SLO of the worst.
func joinCalibrations(app *loadline.App, found []*Calibration) *Calibration {
	joined := &Calibration{}
	join := func(into *Try, of func(*Calibration) *Try) {
		var specs []string
		for _, f := range found {
			t := of(f)
			specs = append(specs, t.Spec)
			into.Engine, into.CoreHours, into.Bill = t.Engine, into.CoreHours+t.CoreHours, into.Bill+t.Bill
			into.Over, into.Violated, into.Changes = max(into.Over, t.Over), into.Violated+t.Violated, into.Changes+t.Changes
		}
		into.Spec = policy.JoinApplications(app, specs)
	}
	join(&joined.Default, func(f *Calibration) *Try { return &f.Default })
	join(&joined.Best, func(f *Calibration) *Try { return &f.Best })
	for _, f := range found {
		joined.Tried = append(joined.Tried, f.Tried...)
	}
	joined.Spec = joined.Best.Spec
	return joined
}

// validationKeys identify the runs of a policy on a cell's validation data.
func (r *runner) validationKeys(c *cell, p Policy) ([]string, error) {
	var keys []string
	for _, rule := range p.specs() {
		for i, w := range c.validation {
			spec := p.deployed(r.matrix.spec(c, rule, 0))
			spec.Duration, spec.Seed, spec.Engine, spec.Begin = w.Duration(), validationSeed+uint64(i), "", beginOf(c.begins, i)
			spec.Perturb = simulate.Perturb{}
			key, err := keyOf(spec, w, "calibration")
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// scenesOf the jobs: one cell of each application, workload and cluster. Perturbations are left
// out.
func scenesOf(jobs []job) []*cell {
	var scenes []*cell
	same := func(a, b *cell) bool {
		return a.app.Name == b.app.Name && a.workload == b.workload && a.cluster.String() == b.cluster.String()
	}
	for _, j := range jobs {
		of := j.cell.alone
		if len(of) == 0 {
			of = []*cell{j.cell}
		}
		for _, one := range of {
			if !slices.ContainsFunc(scenes, func(c *cell) bool { return same(c, one) }) {
				scenes = append(scenes, one)
			}
		}
	}
	return scenes
}

// NewCalibrationTask is the task of calibrating a policy outside a bench, on the
// same validation data as a bench would.
func NewCalibrationTask(a App, w Workload, on pool.Cluster, policy string) (CalibrationTask, error) {
	task := CalibrationTask{App: a.Model, Policy: policy, Clusters: WithNeighbours(on, NeighbourLevels)}
	if err := CheckCalibration(policy, a.Model); err != nil {
		return task, err
	}
	validation, err := new(opened).validation(w)
	if err != nil {
		return task, err
	}
	task.Beyond = beyondNeighbours(on, a.Model, NeighbourLevels)
	task.Loads, err = loadsOf(a, validation, nil)
	return task, err
}

func beginOf(begins []time.Time, i int) time.Time {
	if i < len(begins) {
		return begins[i]
	}
	return time.Time{}
}

func loadsOf(a App, validation []*workload.Workload, begins []time.Time) ([]CalibrationLoad, error) {
	var loads []CalibrationLoad
	for i, w := range validation {
		load, err := w.For(a.Model)
		if err != nil {
			return nil, err
		}
		loads = append(loads, CalibrationLoad{Rates: load, Duration: w.Duration(), Seed: validationSeed + uint64(i), Begin: beginOf(begins, i)})
	}
	return loads, nil
}
