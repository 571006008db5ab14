package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
)

// LevelSearch is the search for a plan of replicas from the load: levels of utilisation, one per
// service, that make the cheapest run within the SLO. SearchSchedule starts from it.
//
// First one level for all, by bisection; then service by service as high as possible, while
// that saves cost; all in the fluid engine. The result is verified in the event engine with
// other seeds than the run's, because the oracle has the rates and not the arrivals, and
// corrected there: down until it is feasible, or up while it stays feasible and saves.
type LevelSearch struct {
	App     *loadline.App
	Policy  string          // oracle, with axes if not the default
	Load    CalibrationLoad // of the run itself
	CPU     sim.CPUModel
	WarmUp  time.Duration
	Cluster pool.Cluster
	Perturb simulate.Perturb // the oracle gets the disturbances too
}

// Levels that are tried for all services together, from very low to too high.
const (
	levelLow, levelHigh = 0.1, 1.6
	levelLeast          = 0.02
	levelSteps          = 24
	evaluationsAtMost   = 120
)

type levelSearch struct {
	LevelSearch
	ctx   context.Context
	cache map[string]Try // by schedule
	tried []Try
	runs  int
}

func newLevelSearch(ctx context.Context, task LevelSearch) *levelSearch {
	// Noise, loss and lag of metrics do not affect it; slow pod starts and neighbours do.
	task.Perturb = simulate.Perturb{
		SlowStart: task.Perturb.SlowStart, Disturbances: task.Perturb.Disturbances, Neighbours: task.Perturb.Neighbours,
	}
	return &levelSearch{LevelSearch: task, ctx: ctx, cache: map[string]Try{}}
}

// SearchLevels finds the schedule.
func SearchLevels(ctx context.Context, task LevelSearch) (*Calibration, error) {
	name, _, _ := strings.Cut(task.Policy, ":")
	if m, err := policy.Named(name); err != nil || !m.Oracle {
		return nil, fmt.Errorf("policy %s is not an oracle: only the schedule of oracle is searched", name)
	}
	f := newLevelSearch(ctx, task)
	levels, err := f.commonLevel()
	if err != nil {
		return nil, err
	}
	if levels, err = f.serviceBy(levels, f.inFluid, []float64{2.5, 1.5, 1.2, 1.08}); err != nil {
		return nil, err
	}
	best, err := f.verify(levels)
	if err != nil {
		return nil, err
	}
	return &Calibration{Spec: best.Spec, Best: best, Default: f.tried[0], Tried: f.tried}, nil
}

// scheduleMargin is the margin of a schedule. It is tighter than that of a calibration: a
// schedule at its limit violates the SLO with other arrivals.
const scheduleMargin = 0.6

func keeps(t Try) bool { return t.Over <= scheduleMargin*result.CountsIf }

// evaluator tries levels in one engine.
type evaluator func(levels []float64) (Try, error)

// commonLevel is the highest feasible level common to all services.
func (f *levelSearch) commonLevel() ([]float64, error) {
	at := func(i int) []float64 {
		level := levelLow * math.Pow(levelHigh/levelLow, float64(i)/levelSteps)
		return slices.Repeat([]float64{level}, len(f.App.Services))
	}
	low, high := 0, levelSteps+1 // feasible, or the best there is; and one that is not
	for high-low > 1 {
		middle := (low + high) / 2
		t, err := f.inFluid(at(middle))
		if err != nil {
			return nil, err
		}
		if keeps(t) {
			low = middle
		} else {
			high = middle
		}
	}
	return at(low), nil
}

// serviceBy raises the levels one service at a time while it saves cost, the one with the
// largest potential first.
func (f *levelSearch) serviceBy(levels []float64, try evaluator, factors []float64) ([]float64, error) {
	best, err := try(levels)
	if err != nil {
		return nil, err
	}
	for _, s := range f.bySavings(levels) {
		for _, factor := range factors {
			for f.runs < evaluationsAtMost {
				higher := slices.Clone(levels)
				higher[s] = min(higher[s]*factor, 100)
				if f.schedule(higher) == f.schedule(levels) {
					break
				}
				t, err := try(higher)
				if err != nil {
					return nil, err
				}
				if !keeps(t) || !keeps(best) || !cheaper(t, best) {
					break
				}
				levels, best = higher, t
			}
		}
	}
	return levels, nil
}

// bySavings lists the services that have more than their fewest replicas at some time, in order
// of their excess.
func (f *levelSearch) bySavings(levels []float64) []int {
	p := f.policy(levels)
	saving := make([]float64, len(levels))
	var order []int
	for s := range levels {
		sum, least := p.ReplicaSteps(s)
		saving[s] = float64(sum-least) * f.App.Services[s].Size.CPURequest
		if saving[s] > 0 {
			order = append(order, s)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if saving[a] != saving[b] {
			if saving[a] > saving[b] {
				return -1
			}
			return 1
		}
		return a - b
	})
	return order
}

// verify corrects levels in the event engine.
func (f *levelSearch) verify(levels []float64) (Try, error) {
	f.runs, f.cache = 0, map[string]Try{}
	best, err := f.inEvents(levels)
	if err != nil {
		return best, err
	}
	const down = 0.93
	for range 40 {
		if keeps(best) {
			break
		}
		for s := range levels {
			levels[s] = max(levels[s]*down, levelLeast)
		}
		t, err := f.inEvents(levels)
		if err != nil {
			return best, err
		}
		if keeps(t) || t.Over < best.Over {
			best = t
		}
	}
	if !keeps(best) {
		return best, nil
	}
	if levels, err = f.serviceBy(levels, f.inEvents, []float64{1.3, 1.1}); err != nil {
		return best, err
	}
	return f.inEvents(levels)
}

func (f *levelSearch) inFluid(levels []float64) (Try, error) {
	return f.try(levels, "fluid", f.Load.Seed)
}

// inEvents tries with three seeds that are not the run's, and the worst counts; with one if the
// run is long enough.
func (f *levelSearch) inEvents(levels []float64) (Try, error) {
	seeds := []uint64{f.Load.Seed + 1_000_003, f.Load.Seed + 2_000_003, f.Load.Seed + 3_000_017}
	if f.Load.Duration.Hours() > 6 {
		seeds = seeds[:1]
	}
	return f.try(levels, "event", seeds...)
}

func (f *levelSearch) try(levels []float64, engine string, seeds ...uint64) (Try, error) {
	key := engine + f.schedule(levels)
	if t, known := f.cache[key]; known {
		t.Spec = f.spec(levels)
		return t, nil
	}
	t := Try{Spec: f.spec(levels), Engine: engine}
	for _, seed := range seeds {
		out, err := simulate.Run(f.ctx, simulate.Spec{
			App: f.App, Load: f.Load.Rates, Policy: t.Spec, Engine: engine, Duration: f.Load.Duration, Seed: seed,
			CPU: f.CPU, WarmUp: f.WarmUp, Perturb: f.Perturb, Cluster: f.Cluster,
		})
		if err != nil {
			return t, describe(err, t.Spec)
		}
		t.CoreHours += float64(out.Result.CoreHours) / float64(len(seeds))
		if len(f.Cluster.Pools) > 0 {
			t.Bill += float64(out.Result.Bill) / float64(len(seeds))
		}
		t.Over = max(t.Over, overOf(out))
	}
	f.runs++
	f.cache[key] = t
	f.tried = append(f.tried, t)
	return t, nil
}

// spec with rounded levels, which are then tried.
func (f *levelSearch) spec(levels []float64) string {
	var b strings.Builder
	b.WriteString(f.Policy)
	join := ":"
	if strings.Contains(f.Policy, ":") {
		join = ","
	}
	if slow := f.Perturb.SlowStart; slow > 0 && slow != 1 {
		b.WriteString(join + "lead=" + strconv.FormatFloat(slow, 'g', 4, 64))
		join = ","
	}
	common := mostCommon(levels)
	b.WriteString(join + "level=" + formatLevel(common))
	for s, level := range levels {
		if formatLevel(level) != formatLevel(common) {
			b.WriteString("," + f.App.Services[s].Name + "=" + formatLevel(level))
		}
	}
	return b.String()
}

func formatLevel(level float64) string { return strconv.FormatFloat(level, 'g', 4, 64) }

func mostCommon(levels []float64) float64 {
	best, most := levels[0], 0
	for _, a := range levels {
		n := 0
		for _, b := range levels {
			if a == b {
				n++
			}
		}
		if n > most {
			best, most = a, n
		}
	}
	return best
}

// policy that has been given the load.
func (f *levelSearch) policy(levels []float64) *policy.Oracle {
	p, err := policy.New(f.spec(levels), f.App)
	if err != nil {
		panic(err) // the levels are ours; the rest was checked
	}
	c := p.(*policy.Oracle)
	c.SetFuture(sim.Epoch, f.Load.Duration, f.Load.Rates.Rate, f.Perturb.DemandChanges())
	return c
}

// schedule as a text, to compare schedules.
func (f *levelSearch) schedule(levels []float64) string {
	p := f.policy(levels)
	var b strings.Builder
	for s := range levels {
		sum, _ := p.ReplicaSteps(s)
		b.WriteString(strconv.Itoa(sum))
		b.WriteByte(' ')
	}
	return b.String()
}

// CheckOracle reports the faults of an oracle whose schedule is to be searched.
func CheckOracle(spec string, app *loadline.App) error {
	_, settings, _ := strings.Cut(spec, ":")
	if strings.Contains(","+settings, ",level=") {
		return errors.New("the level is what is searched")
	}
	_, err := policy.New(spec, app)
	return err
}
