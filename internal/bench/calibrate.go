package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
)

// calibrationVersion of the search: other versions may find other settings.
const calibrationVersion = 5

// CalibrationLoad is one stretch of validation data.
type CalibrationLoad struct {
	Rates    sim.Arrivals
	Duration time.Duration
	Seed     uint64    // of arrivals, demands and start-ups
	Begin    time.Time // instant that the beginning stands for, for floors by the clock; zero = sim.Epoch
}

// CalibrationTask is what to calibrate.
type CalibrationTask struct {
	App    *loadline.App
	Policy string            // name:key=value,...; given settings are fixed. Rules = all plain rules
	Axes   []string          // that it may change, of guard.AxisNames; nil = all
	Margin float64           // part of the allowed share over the SLO that a setting may use; 0 = 0.7
	Loads  []CalibrationLoad // never those of the test; the search uses the first, the rest is for confirmation
	CPU    sim.CPUModel
	WarmUp time.Duration
	// Clusters in each of which a setting must meet the SLO; the cost is the mean over them. None
	// = the application's own nodes, without neighbours.
	Clusters []pool.Cluster
	// Beyond are further clusters in which what is best is confirmed. One in which none of these
	// meets the SLO does not count.
	Beyond []pool.Cluster
	// Floors is the value of the setting floor that earlier data suggest; "" = from the first load.
	Floors string
	// Also are further scenes that the same setting is for: it must meet the SLO in each, and
	// all count alike for the cost, by the geometric mean.
	Also []CalibrationScene
	// Churn limits how often a setting may change something; nil = any.
	Churn *Churn

	Workers  int                 // parallel runs; 0 = 1
	Progress func(share float64) // may be nil
}

// Churn is a limit to the changes of replicas and sizes, in terms of another policy's.
type Churn struct {
	Than    string  `json:"than"` // policy, in the notation of policies
	Times   float64 `json:"times"`
	AtLeast float64 `json:"at_least"` // per hour; so many are always allowed
}

// CalibrationScene is one application under its validation data.
type CalibrationScene struct {
	App      *loadline.App
	Loads    []CalibrationLoad
	Clusters []pool.Cluster // none = the application's own nodes, without neighbours
}

// Try is one setting with its figures on the validation data.
type Try struct {
	Spec      string  `json:"policy"`
	Engine    string  `json:"engine"`
	CoreHours float64 `json:"core_hours"`     // mean over the loads and clusters
	Bill      float64 `json:"bill,omitempty"` // likewise; what settings are compared by, if there is one
	Over      float64 `json:"over_slo_ratio"` // of the worst run
	Violated  int     `json:"violated"`       // runs that did not meet the SLO with the margin
	Changes   float64 `json:"changes_per_hour"`
	// Remark is why the setting cannot be the best; "" = it can.
	Remark string `json:"remark,omitempty"`

	point  []float64
	far    float64   // from the default, in ranges
	beyond []float64 // share over the SLO of the worst run in each of the clusters beyond
	margin float64   // 0 = the usual one
	most   float64   // changes per hour that are allowed; 0 = any
}

// Calibration is the result of a search.
type Calibration struct {
	Spec    string `json:"policy"`
	Default Try    `json:"default"`
	Best    Try    `json:"best"`
	Tried   []Try  `json:"tried"` // in order
}

// Feasible reports whether any setting met the SLO.
func (f *Calibration) Feasible() bool { return f.Best.feasible() }

// Racing: all settings run on the first load, the best of them on all loads, and the best of these
// in the event engine.
const (
	survivors = 8 // on all loads
	confirmed = 3 // in the event engine; of each rule, if there are several, one less
)

// Calibrate searches: a coarse grid, then around the best, then a race on all loads, in the policy's
// search engine; the best three are confirmed in the event engine together with the default. If none
// of them is feasible there, the three safest of the others are tried. Of several rules each is
// searched, and the best of all is found.
func Calibrate(ctx context.Context, task CalibrationTask) (*Calibration, error) {
	if len(task.Loads) == 0 {
		return nil, errors.New("calibrate: no validation data")
	}
	s := &search{CalibrationTask: task}
	for _, spec := range rulesOf(task.Policy) {
		space, err := spaceOf(spec, task.App)
		if err != nil {
			return nil, err
		}
		s.spaces = append(s.spaces, space)
	}
	for i := range s.spaces {
		s.space, s.tried = s.spaces[i], nil
		for _, step := range []func(context.Context) error{s.resolve, s.grid, s.refine, s.race} {
			if err := step(ctx); err != nil {
				return nil, err
			}
		}
		s.all = append(s.all, s.tried...)
	}
	return s.confirm(ctx)
}

type search struct {
	CalibrationTask
	spaces []space // of each rule
	seen   *past   // nil = not needed so far

	space     space // of the rule that is searched
	tried     []Try // in its search engine, on the first load
	all       []Try // of the rules that are searched
	finalists []Try // the default of the first rule, then the best of each
	found     Calibration
	work      float64 // done so far, in trials of the search
}

// refinements around the best point, each with half the stride of the last, down to a quarter.
const refinements = 4

// confirmationWork is the work of a trial in the event engine, on all loads and clusters, in trials
// of the search; for the progress.
const confirmationWork = 20

// planned is the approximate work, in trials of the search.
func (s *search) planned() float64 {
	n := (1 + len(s.spaces)) * confirmed * confirmationWork / 2
	for _, space := range s.spaces {
		n += len(space.gridPoints()) + refinements*len(space.dimensions) + survivors
	}
	return float64(n)
}

func (s *search) grid(ctx context.Context) error {
	points := [][]float64{s.space.defaults()}
	for _, p := range s.space.gridPoints() {
		if !equal(p, points[0]) {
			points = append(points, p)
		}
	}
	if err := s.try(ctx, points); err != nil {
		return err
	}
	if s.Policy != "ursa" || len(s.Also) > 0 { // with given settings, or for several scenes, it is not explored
		return nil
	}
	specs, err := explored(ctx, s.CalibrationTask)
	if err != nil {
		return err
	}
	return s.trySpecs(ctx, specs)
}

// trySpecs tries settings outside the search space.
func (s *search) trySpecs(ctx context.Context, specs []string) error {
	tries, err := s.evaluate(ctx, specs, s.space.engine, 1)
	for i := range tries {
		tries[i].far = s.space.distance(nil)
	}
	s.tried = append(s.tried, tries...)
	s.found.Tried = append(s.found.Tried, tries...)
	return err
}

func (s *search) refine(ctx context.Context) error {
	for round := range refinements {
		best := s.bestPoint()
		var points [][]float64
		for i := range s.space.dimensions {
			points = append(points, s.space.around(best, i, min(round, 1))...)
		}
		if err := s.try(ctx, points); err != nil {
			return err
		}
	}
	return nil
}

// try evaluates new points.
func (s *search) try(ctx context.Context, points [][]float64) error {
	var specs []string
	var fresh [][]float64
	for _, p := range points {
		spec := s.space.spec(p)
		if !contains(s.tried, spec) && !containsText(specs, spec) {
			specs, fresh = append(specs, spec), append(fresh, p)
		}
	}
	tries, err := s.evaluate(ctx, specs, s.space.engine, 1)
	for i := range tries {
		tries[i].point, tries[i].far = fresh[i], s.space.distance(fresh[i])
	}
	s.tried = append(s.tried, tries...)
	s.found.Tried = append(s.found.Tried, tries...)
	return err
}

// bestPoint of the space; the default has one.
func (s *search) bestPoint() []float64 {
	for _, t := range rank(s.tried) {
		if t.point != nil {
			return t.point
		}
	}
	return s.space.defaults()
}

// race runs the best on all loads, of which the worst counts, and chooses the finalists.
func (s *search) race(ctx context.Context) error {
	last := confirmed
	if len(s.spaces) > 1 {
		last--
	}
	ranked := rank(s.tried)
	if s.several() {
		var err error
		if ranked, err = s.again(ctx, ranked[:min(survivors, len(ranked))], s.space.engine); err != nil {
			return err
		}
		ranked = rank(ranked)
	}
	if len(s.finalists) == 0 {
		s.finalists = append(s.finalists, s.tried[0]) // the default
	}
	for _, t := range ranked {
		if last > 0 && !contains(s.finalists, t.Spec) {
			s.finalists = append(s.finalists, t)
			last--
		}
	}
	return nil
}

// several reports whether a scene has more than one load.
func (s *search) several() bool {
	return slices.ContainsFunc(s.scenes(), func(c CalibrationScene) bool { return len(c.Loads) > 1 })
}

func (s *search) confirm(ctx context.Context) (*Calibration, error) {
	tries, err := s.again(ctx, s.finalists, "event")
	if err != nil {
		return nil, err
	}
	if best := rank(tries)[0]; !best.feasible() {
		var others []Try
		for _, t := range safest(s.all) {
			if len(others) < confirmed && !contains(tries, t.Spec) {
				others = append(others, t)
			}
		}
		more, err := s.again(ctx, others, "event")
		if err != nil {
			return nil, err
		}
		tries = append(tries, more...)
	}
	s.countBeyond(tries)
	for _, list := range [][]Try{s.found.Tried, tries} {
		for i := range list {
			list[i].Remark = list[i].remark()
		}
	}
	s.found.Default = tries[0]
	s.found.Best = rank(tries)[0]
	if d := tries[0]; d.feasible() && d.calm() && d.Cost() <= s.found.Best.Cost()*(1+samePrice) {
		s.found.Best = d
	}
	s.found.Spec = s.found.Best.Spec
	s.found.Tried = append(s.found.Tried, tries...)
	return &s.found, nil
}

// countBeyond adds the clusters beyond in which at least one of the settings meets the SLO.
func (s *search) countBeyond(tries []Try) {
	for k := range s.Beyond {
		one := func(t Try) Try { return Try{Over: t.beyond[k], margin: t.margin} }
		if !slices.ContainsFunc(tries, func(t Try) bool { o := one(t); return t.feasible() && o.feasible() }) {
			continue
		}
		for i := range tries {
			if o := one(tries[i]); !o.feasible() {
				tries[i].Violated++
			}
			tries[i].Over = max(tries[i].Over, tries[i].beyond[k])
		}
	}
}

// again repeats trials on all validation data.
func (s *search) again(ctx context.Context, tries []Try, engine string) ([]Try, error) {
	var specs []string
	for _, t := range tries {
		specs = append(specs, t.Spec)
	}
	again, err := s.evaluate(ctx, specs, engine, all)
	for i := range again {
		again[i].point, again[i].far = tries[i].point, tries[i].far
	}
	if engine != "event" { // those are added once it is known where they count
		s.found.Tried = append(s.found.Tried, again...)
	}
	return again, err
}

// CheckCalibration reports why a policy cannot be calibrated.
func CheckCalibration(spec string, app *loadline.App) error {
	for _, one := range rulesOf(spec) {
		if _, err := policy.New(one, app); err != nil {
			return err
		}
		if _, err := spaceOf(one, app); err != nil {
			return err
		}
	}
	return nil
}

func (t CalibrationTask) spec(policy, engine string, app *loadline.App, l CalibrationLoad, on pool.Cluster) simulate.Spec {
	return simulate.Spec{
		App: app, Load: l.Rates, Policy: policy, Engine: engine, Duration: l.Duration, Seed: l.Seed, CPU: t.CPU, WarmUp: t.WarmUp,
		Cluster: on, Axes: t.Axes, Begin: l.Begin,
	}
}

// scenes are the task's own and the further ones.
func (t CalibrationTask) scenes() []CalibrationScene {
	return append([]CalibrationScene{{t.App, t.Loads, t.Clusters}}, t.Also...)
}

func (s CalibrationScene) clusters() []pool.Cluster {
	if len(s.Clusters) == 0 {
		return []pool.Cluster{{}}
	}
	return s.Clusters
}

func describe(err error, spec string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("try %s: %w", spec, err)
}
