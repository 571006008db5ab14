package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

// cell is one scene with the loads of all seeds.
type cell struct {
	scene        string
	app          App
	workload     string
	cluster      pool.Cluster
	begin        time.Time
	perturbation string
	perturb      simulate.Perturb
	loads        []*workload.Workload // by seed
	validation   []*workload.Workload // without the perturbation; empty = nothing is calibrated
	announced    []loadline.Event
	begins       []time.Time        // of the validation data; none = not known
	training     *workload.Workload // likewise; nil = nothing is trained
	past         *workload.Workload // of the days before; nil = no policy starts with them
	memory       memory
	warmUp       time.Duration
	alone        []*cell // each of several applications alone in the cluster, for calibration and history; empty = there is one
}

// job is one run to be made.
type job struct {
	cell   *cell
	policy int // index into Matrix.Policies
	seed   int // index into the cell's loads
}

// cells makes everything that will be run, and reports every fault before anything is run.
// Workloads whose trace is not available are left out and named.
func (m Matrix) cells(data string) (all []*cell, leftOut []string, err error) {
	o := &opened{data: data}
	var faults []error
	for _, s := range m.scenes() {
		c, err := m.cell(o, s)
		switch {
		case errors.Is(err, errNoTrace):
			if !slices.Contains(leftOut, s.Workload.Name) {
				leftOut = append(leftOut, s.Workload.Name)
			}
		case err != nil:
			faults = append(faults, fmt.Errorf("%s, workload %s, perturbation %s: %w", s.App.Name, s.Workload.Name, s.Perturbation, err))
		default:
			all = append(all, c)
		}
	}
	if len(faults) == 0 && len(all) == 0 {
		faults = append(faults, fmt.Errorf("nothing is left to run: %w: %s", errNoTrace, strings.Join(leftOut, ", ")))
	}
	return all, leftOut, joinOnce(faults)
}

func (m Matrix) cell(o *opened, s Scene) (*cell, error) {
	a, w := s.App, s.Workload
	p, err := perturbationNamed(s.Perturbation)
	if err != nil {
		return nil, err
	}
	c := &cell{scene: s.Name, app: a, workload: w.Name, cluster: s.Cluster, begin: s.Begin, perturbation: s.Perturbation, warmUp: m.WarmUp}
	if s.FromStart {
		c.warmUp = 0
	}
	if c.alone, err = m.aloneCells(o, s); err != nil {
		return nil, err
	}
	which := wholePart
	if m.calibrates() || m.trains() || m.warms() {
		which = testPart
	}
	if m.calibrates() && len(c.alone) == 0 {
		if c.validation, err = o.validation(w); err != nil {
			return nil, err
		}
		if w.Given != nil {
			c.begins = w.Given.Begins
		}
	}
	if m.trains() && len(c.alone) == 0 {
		if c.training, err = o.training(w); err != nil {
			return nil, err
		}
	}
	if m.warms() && len(c.alone) == 0 {
		if c.past, err = o.past(w); err != nil {
			return nil, err
		}
	}
	for i := range m.Seeds {
		plain, err := c.open(o, w, which, m.FirstSeed+uint64(i))
		if err != nil {
			return nil, err
		}
		load, err := p.onLoad(a.Model, plain)
		if err != nil {
			return nil, err
		}
		c.loads = append(c.loads, load)
	}
	if c.perturb, err = p.onRun(a.Model, c.cluster, c.duration()); err != nil {
		return nil, err
	}
	if p.announced != nil {
		c.announced = p.announced(c.duration())
	}
	return c, m.checkCell(c)
}

// open the workload of a run; of several applications, each draws its own.
func (c *cell) open(o *opened, w Workload, which part, seed uint64) (*workload.Workload, error) {
	if len(w.Of) == 0 {
		return o.open(w, which, seed)
	}
	var of []*workload.Workload
	for i := range w.Of {
		one, err := o.open(w.Of[i], which, sim.TenantSeed(seed, i))
		if err != nil {
			return nil, err
		}
		of = append(of, one)
	}
	return workload.Join(w.Name, c.app.Model, of)
}

// aloneCells are those of several applications alone in the cluster of a scene; none of one.
func (m Matrix) aloneCells(o *opened, s Scene) ([]*cell, error) {
	if len(s.App.Model.Tenants) != len(s.Workload.Of) {
		return nil, fmt.Errorf("%d workloads for %d applications: must be one for each", len(s.Workload.Of), len(s.App.Model.Tenants))
	}
	var all []*cell
	for i, w := range s.Workload.Of {
		app := apps.Split(s.App.Model)[i]
		one, err := m.cell(o, Scene{
			App: App{Name: app.Name, Model: app}, Workload: w, Cluster: s.Cluster, Begin: s.Begin, Perturbation: none, FromStart: s.FromStart,
		})
		if err != nil {
			return nil, fmt.Errorf("application %s: %w", app.Name, err)
		}
		all = append(all, one)
	}
	return all, nil
}

func (m Matrix) calibrates() bool {
	return slices.ContainsFunc(m.Policies, func(p Policy) bool { return p.Calibrated })
}

func (m Matrix) trains() bool {
	return slices.ContainsFunc(m.Policies, func(p Policy) bool { return p.Trained })
}

func (m Matrix) warms() bool {
	return slices.ContainsFunc(m.Policies, func(p Policy) bool { return p.Warm })
}

// checkCell validates every policy in the cell.
func (m Matrix) checkCell(c *cell) error {
	if err := errors.Join(c.cluster.Validate(), c.cluster.CheckApp(c.app.Model)); err != nil {
		return err
	}
	var faults []error
	for _, w := range append(slices.Clone(c.loads), c.validation...) {
		if _, err := w.For(c.app.Model); err != nil {
			faults = append(faults, err)
		}
	}
	if c.training != nil {
		_, err := c.training.For(c.app.Model)
		faults = append(faults, err)
	}
	for i, p := range m.Policies {
		if len(c.alone) > 0 && (p.Trained || p.needsSearch()) {
			faults = append(faults, fmt.Errorf("policy %s: it is trained or searched for one application, and %s is %d: leave it out",
				p.Label, c.app.Name, len(c.alone)))
			continue
		}
		if p.Trained {
			if err := checkTrained(p, c.app); err != nil {
				faults = append(faults, fmt.Errorf("policy %s: %w", p.Label, err))
			}
			continue
		}
		if err := m.checkPolicy(c, p); err != nil {
			faults = append(faults, fmt.Errorf("policy %s: %w", m.Policies[i].Label, err))
			continue
		}
		switch {
		case p.Warm && p.Calibrated:
			faults = append(faults, fmt.Errorf("policy %s: it starts with a history, and cannot be calibrated as well", p.Label))
		case p.Warm && !learnsHistory(p.Spec):
			faults = append(faults, fmt.Errorf("policy %s: it cannot start with a history; planner can", p.Label))
		case p.Calibrated && p.Guard != "":
			faults = append(faults, fmt.Errorf("policy %s: settings are searched without the guards; leave out one of them", p.Label))
		case p.Guard != "" && p.needsSearch():
			faults = append(faults, fmt.Errorf("policy %s: it repeats a schedule, and cannot be guarded", p.Label))
		case p.Brownout && len(c.app.Model.Tenants) > 0:
			faults = append(faults, fmt.Errorf("policy %s: brownout is for one application, and there are %d: use %s instead", p.Label,
				len(c.app.Model.Tenants), guardedSuffix))
		case p.Calibrated && p.needsSearch():
			faults = append(faults, fmt.Errorf("policy %s: it is searched for each run, and cannot be calibrated", p.Label))
		case p.Calibrated && len(c.alone) == 0: // several were checked alone
			faults = append(faults, CheckCalibration(p.Spec, c.app.Model))
		case p.needsSearch():
			faults = append(faults, CheckOracle(p.Spec, c.app.Model))
		}
	}
	return joinOnce(faults)
}

// checkPolicy validates a run of the policy, or of each of the rules that it stands for.
func (m Matrix) checkPolicy(c *cell, p Policy) error {
	var faults []error
	for _, spec := range p.specs() {
		faults = append(faults, p.deployed(m.spec(c, spec, 0)).Validate())
	}
	return errors.Join(faults...)
}

func (c *cell) duration() time.Duration { return c.loads[0].Duration() }

// spec of one run of the cell; the caller binds the load.
func (m Matrix) spec(c *cell, policy string, seed int) simulate.Spec {
	return simulate.Spec{
		App: c.app.Model, Workload: c.workload, Policy: policy, Engine: m.Engine, Duration: c.duration(),
		Seed: m.FirstSeed + uint64(seed), CPU: m.CPU, WarmUp: c.warmUp, Perturb: c.perturb, Cluster: c.cluster, Begin: c.begin,
		Announced: c.announced,
	}
}

// caseOf a job; spec is the policy as it is run, for a calibrated one.
func (m Matrix) caseOf(j job, spec string) Case {
	p := m.Policies[j.policy]
	if p.needsSearch() || p.Trained {
		spec = p.Spec // its levels or its model differ between seeds; the result names them
	}
	return Case{
		Scene: j.cell.scene, App: j.cell.app.Name, Workload: j.cell.workload, Policy: spec, Label: p.Label,
		Perturbation: j.cell.perturbation, Engine: m.Engine, Cluster: j.cell.cluster.String(),
		Guard: p.Guard, Axes: strings.Join(p.Axes, ","),
	}
}

// jobs in the order of tables.
func (m Matrix) jobs(cells []*cell) []job {
	var all []job
	for _, c := range cells {
		for p := range m.Policies {
			for s := range c.loads {
				all = append(all, job{c, p, s})
			}
		}
	}
	return all
}

// joinOnce joins errors and reports each one once: a wrong policy is wrong in every cell.
func joinOnce(faults []error) error {
	var once []error
	seen := map[string]bool{}
	for _, err := range faults {
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			once = append(once, err)
		}
	}
	return errors.Join(once...)
}
