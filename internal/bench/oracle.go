package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
)

// oracleVersion of the search: other versions may find other schedules.
const oracleVersion = 1

// OracleTask is the search for the cheapest schedule of replicas, requests and limits that meets
// the SLO in one scene. It has the rates of the load and not the arrivals.
//
// It starts from the schedules of every policy that ran in the scene and from plans that are
// computed from the load (LevelSearch). A local search (oracle_moves.go) lowers the bill of the
// best of them in the fluid engine; what it found is corrected in the event engine, along its
// own trail, and improved there by the same changes, those first of which the fluid engine
// expects something. Every step is limited by a number of evaluations, so the result depends on
// the task alone.
type OracleTask struct {
	App     *loadline.App
	Load    CalibrationLoad
	CPU     sim.CPUModel
	WarmUp  time.Duration
	Cluster pool.Cluster
	Perturb simulate.Perturb
	Starts  []OracleStart
	Budget  OracleBudget
}

// OracleStart is a schedule that ran in the scene, with its figures in the event engine.
type OracleStart struct {
	Origin   string
	Schedule *policy.Schedule
	Figures  Try
}

// OracleBudget limits the evaluations of a search.
type OracleBudget struct{ Fluid, Event int }

// OracleFound is the result of a search.
type OracleFound struct {
	// Finalists that met the SLO under the seeds of the search, cheapest first; if there is none, the
	// one that came nearest.
	Finalists []OracleFinalist `json:"finalists"`
	Fluid     int              `json:"fluid_evaluations"`
	Event     int              `json:"event_evaluations"`
}

// OracleFinalist is a schedule that the search proposes.
type OracleFinalist struct {
	Origin   string           `json:"origin"`
	Schedule *policy.Schedule `json:"schedule"`
	Figures  Try              `json:"figures"`
}

// Feasible reports whether the best schedule met the SLO.
func (f *OracleFound) Feasible() bool { return meets(f.Finalists[0].Figures) }

// objective ranks by the bill. Between equal bills, as on fixed nodes, fewer core-hours are
// better.
func (t *Try) objective() float64 {
	return t.Bill + 1e-3*pool.Prices{}.Resources(3600*t.CoreHours, 0)
}

// worthwhile is the relative saving below which two schedules cost the same.
const worthwhile = 1e-5

func cheaper(a, b Try) bool { return a.objective() < b.objective()*(1-worthwhile) }

func meets(t Try) bool { return t.Over <= result.CountsIf }

// better: cheaper with the SLO met, or nearer to it.
func better(a, b Try) bool {
	if meets(a) && meets(b) {
		return cheaper(a, b)
	}
	return meets(a) || !meets(b) && a.Over < 0.98*b.Over
}

// candidate is a schedule with its figures in one engine.
type candidate struct {
	origin   string
	schedule *policy.Schedule
	figures  Try
}

type scheduleSearch struct {
	OracleTask
	ctx         context.Context
	left        OracleBudget
	seeds       []uint64
	fluidKnown  map[string]Try
	eventKnown  map[string]Try
	inEvents    []candidate // all that were evaluated there
	moves       moves
	fluidUsable bool
}

// searchGrid is the resolution of schedules in the search.
const searchGrid = 5 * time.Second

// SearchSchedule finds the schedule.
func SearchSchedule(ctx context.Context, task OracleTask) (*OracleFound, error) {
	// Noise, loss and lag of metrics do not affect a schedule; slow pod starts do.
	task.Perturb.MetricsLate, task.Perturb.MetricsLoss, task.Perturb.CPUNoise = 0, 0, 0
	s := &scheduleSearch{
		OracleTask: task, ctx: ctx, left: task.Budget, fluidKnown: map[string]Try{}, eventKnown: map[string]Try{},
		seeds: []uint64{task.Load.Seed + 1_000_003, task.Load.Seed + 2_000_003}, fluidUsable: fluid.Check(task.App) == nil,
		moves: moves{app: task.App, duration: task.Load.Duration, node: nodeCores(task.App, task.Cluster)},
	}
	s.left.Event = max(s.left.Event, 1)
	if task.Budget.Event < 24 {
		s.seeds = s.seeds[:1]
	}
	starts, err := s.starts()
	if err != nil {
		return nil, err
	}
	var reached []candidate
	for _, start := range starts {
		from := len(s.inEvents)
		if err := s.follow(start, len(starts)); err != nil {
			return nil, err
		}
		if len(s.inEvents) > from {
			reached = append(reached, bestOf(s.inEvents[from:]))
		}
	}
	// The most promising start has the budget first; what is left goes to the others.
	slices.SortStableFunc(reached, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(max(a.figures.Over, result.CountsIf), max(b.figures.Over, result.CountsIf)),
			cmp.Compare(a.figures.objective(), b.figures.objective()))
	})
	for _, at := range reached {
		if err := s.descendInEvents(at); err != nil {
			return nil, err
		}
	}
	return s.found(), nil
}

// nodeCores is the cores of the smallest node.
func nodeCores(app *loadline.App, cluster pool.Cluster) float64 {
	least := 0.0
	for _, n := range boundNodes(app, cluster) {
		if least == 0 || n.offered.Cores < least {
			least = n.offered.Cores
		}
	}
	return least
}

// startsAtMost of the runs are improved by a descent of their own.
const startsAtMost = 2

// starts of the descents: the cheapest runs that met the SLO, or the nearest to it; and the best
// plans that are computed from the load, with the application's sizes and with others.
func (s *scheduleSearch) starts() ([]candidate, error) {
	var starts []candidate
	ranked := slices.Clone(s.Starts)
	slices.SortStableFunc(ranked, func(a, b OracleStart) int {
		return cmp.Or(cmp.Compare(max(a.Figures.Over, result.CountsIf), max(b.Figures.Over, result.CountsIf)),
			cmp.Compare(a.Figures.objective(), b.Figures.objective()))
	})
	for _, start := range ranked {
		if len(starts) < startsAtMost && (len(starts) == 0 || meets(start.Figures)) {
			starts = append(starts, candidate{origin: start.Origin, schedule: start.Schedule.Every(searchGrid)})
		}
	}
	for _, spec := range []string{"oracle", "oracle:axes=replicas+cpu"} {
		plan, err := s.planned(spec)
		if err != nil {
			return nil, err
		}
		starts = append(starts, candidate{origin: "planned by " + spec, schedule: plan})
	}
	return starts, nil
}

// planned is the schedule of one level of utilisation for each service.
func (s *scheduleSearch) planned(spec string) (*policy.Schedule, error) {
	f := newLevelSearch(s.ctx, LevelSearch{
		App: s.App, Policy: spec, Load: s.Load, CPU: s.CPU, WarmUp: s.WarmUp, Cluster: s.Cluster, Perturb: s.Perturb,
	})
	levels := slices.Repeat([]float64{0.5}, len(s.App.Services))
	if s.fluidUsable {
		var err error
		if levels, err = f.commonLevel(); err != nil {
			return nil, err
		}
	}
	return f.policy(levels).Schedule(), nil
}

// follow descends from a start in the fluid engine, and then finds the cheapest schedule of the
// trail that meets the SLO in the event engine, by bisection.
func (s *scheduleSearch) follow(start candidate, of int) error {
	trail := []candidate{start}
	if s.fluidUsable {
		var err error
		if trail, err = s.descend(start, s.Budget.Fluid*2/3/of); err != nil {
			return err
		}
	}
	low, high := -1, len(trail) // meets the SLO, or nothing does; does not
	for next := len(trail) - 1; high-low > 1 && s.left.Event > 0; next = (low + high) / 2 {
		t, err := s.event(trail[next])
		if err != nil {
			return err
		}
		if meets(t) {
			low = next
		} else {
			high = next
		}
	}
	return nil
}

// descend accepts every change that makes the schedule better in the fluid engine, sweep after
// sweep, and returns the accepted ones.
func (s *scheduleSearch) descend(at candidate, budget int) (trail []candidate, err error) {
	until := max(s.left.Fluid-budget, 0)
	if at.figures, err = s.fluid(at.schedule); err != nil {
		return nil, err
	}
	trail = append(trail, at)
	for improved := true; improved; {
		improved = false
		for _, m := range s.moves.all() {
			if s.left.Fluid <= until {
				return trail, nil
			}
			next := at.after(m, &s.moves)
			if next.schedule == nil {
				continue
			}
			if next.figures, err = s.fluid(next.schedule); err != nil {
				return nil, err
			}
			if better(next.figures, at.figures) {
				at, improved = next, true
				trail = append(trail, at)
			}
		}
	}
	return trail, nil
}

// descendInEvents is the same in the event engine, for changes that save cost in the fluid engine.
func (s *scheduleSearch) descendInEvents(at candidate) error {
	for improved := true; improved && s.left.Event > 0; {
		improved = false
		for _, m := range s.moves.all() {
			if s.left.Event <= 0 {
				break
			}
			next := at.after(m, &s.moves)
			if next.schedule == nil {
				continue
			}
			if promising, err := s.promising(at, next); err != nil {
				return err
			} else if !promising {
				continue
			}
			t, err := s.event(next)
			if err != nil {
				return err
			}
			if next.figures = t; better(t, at.figures) {
				at, improved = next, true
			}
		}
	}
	return nil
}

// fluidMargin is the share of requests over the SLO by which the fluid engine may be wrong: a
// change that adds more is not tried in the event engine.
const fluidMargin = 0.05

// promising changes save cost in the fluid engine, or bring a schedule nearer to the SLO.
func (s *scheduleSearch) promising(at, next candidate) (bool, error) {
	if !s.fluidUsable || s.left.Fluid <= 1 {
		return true, nil
	}
	now, err := s.fluid(at.schedule)
	if err != nil {
		return false, err
	}
	then, err := s.fluid(next.schedule)
	if err != nil {
		return false, err
	}
	if !meets(at.figures) {
		return then.Over <= now.Over, nil
	}
	return cheaper(then, now) && then.Over <= now.Over+fluidMargin, nil
}

func bestOf(all []candidate) candidate {
	best := all[0]
	for _, c := range all[1:] {
		if better(c.figures, best.figures) {
			best = c
		}
	}
	return best
}

// finalistsAtMost are tried under the seeds of the scene, until one meets the SLO.
const finalistsAtMost = 4

// found has the cheapest, and of the others those that leave more of a reserve.
func (s *scheduleSearch) found() *OracleFound {
	found := &OracleFound{Fluid: s.Budget.Fluid - s.left.Fluid, Event: s.Budget.Event - s.left.Event}
	ranked := slices.DeleteFunc(slices.Clone(s.inEvents), func(c candidate) bool { return !meets(c.figures) })
	slices.SortStableFunc(ranked, func(a, b candidate) int { return cmp.Compare(a.figures.objective(), b.figures.objective()) })
	if len(ranked) == 0 {
		ranked = []candidate{bestOf(s.inEvents)}
	}
	over := 2.0
	for _, c := range ranked {
		if len(found.Finalists) < finalistsAtMost && c.figures.Over < 0.8*over {
			over = c.figures.Over
			found.Finalists = append(found.Finalists, OracleFinalist{c.origin, c.schedule, c.figures})
		}
	}
	return found
}

func (s *scheduleSearch) fluid(schedule *policy.Schedule) (Try, error) {
	return s.evaluate(schedule, "fluid", s.fluidKnown, &s.left.Fluid, s.Load.Seed)
}

func (s *scheduleSearch) event(c candidate) (Try, error) {
	t, err := s.evaluate(c.schedule, "event", s.eventKnown, &s.left.Event, s.seeds...)
	c.figures = t
	s.inEvents = append(s.inEvents, c)
	return t, err
}

// evaluate runs a schedule under each seed, until one does not meet the SLO: the mean bill, and
// the worst share of requests over the SLO.
func (s *scheduleSearch) evaluate(schedule *policy.Schedule, engine string, known map[string]Try, left *int, seeds ...uint64) (Try, error) {
	key, err := digest(schedule)
	if err != nil {
		return Try{}, err
	}
	if t, found := known[key]; found {
		return t, nil
	}
	t := Try{Spec: "oracle", Engine: engine}
	runs := 0.0
	for _, seed := range seeds {
		out, err := simulate.Run(s.ctx, simulate.Spec{
			App: s.App, Load: s.Load.Rates, Policy: t.Spec, Decider: policy.NewScheduled(schedule), Engine: engine,
			Duration: s.Load.Duration, Seed: seed, CPU: s.CPU, WarmUp: s.WarmUp, Perturb: s.Perturb, Cluster: s.Cluster,
		})
		if err != nil {
			return t, fmt.Errorf("try a schedule: %w", err)
		}
		*left--
		runs++
		t.CoreHours += float64(out.Result.CoreHours)
		t.Bill += float64(out.Result.Bill)
		if t.Over = max(t.Over, overOf(out)); !meets(t) {
			break
		}
	}
	t.CoreHours, t.Bill = t.CoreHours/runs, t.Bill/runs
	known[key] = t
	return t, nil
}
