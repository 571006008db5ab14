package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/loadline/loadline/internal/policy"
)

// PreparedOracle is the result of an oracle's search, DIR/prepared/KEY.json.
type PreparedOracle struct {
	Format  int    `json:"format"`
	Program string `json:"program"`
	Key     string `json:"key"`

	App      string `json:"app"`
	Workload string `json:"workload"`
	Label    string `json:"label"`
	OracleFound
}

// oracleGroup is the runs of one oracle under one load: they share a search.
type oracleGroup struct {
	key  string
	task OracleTask
	jobs []int           // indices into the jobs
	own  map[int][]start // by seed: what ran under it
	cost float64
}

// start is a run that an oracle may repeat.
type start struct {
	key string
	OracleStart
}

// budgetOf a search: about ten minutes of one core for all loads of a scene, at 300,000 visits a
// second in the event engine on crowded nodes and 40,000 service steps of 5 s in the fluid
// engine. The limits are evaluations, so that the result does not depend on the machine.
func budgetOf(c *cell, loads int) OracleBudget {
	steps := float64(len(c.app.Model.Services)) * c.duration().Seconds() / searchGrid.Seconds()
	return OracleBudget{
		Fluid: int(min(max(6e6/steps, 100), 1500)) / loads,
		Event: max(int(min(max(1.2e8/c.cost("event"), 6), 240))/loads, 4),
	}
}

// runOracles searches and runs the schedules of oracles, after everything else: they start from
// what the other policies did.
func (r *runner) runOracles(ctx context.Context, jobs []job, which []int, records []*Record) error {
	groups, err := r.oracleGroups(jobs, which, records)
	if err != nil {
		return err
	}
	return r.all(ctx, r.options.Shard.Order(len(groups)), func(ctx context.Context, n int) error {
		g := groups[n]
		release, err := r.claims.Claim(g.key)
		if err != nil {
			return err
		}
		defer release()
		found, err := r.searchOracle(ctx, g, jobs[g.jobs[0]])
		if err != nil {
			return err
		}
		for _, i := range g.jobs {
			if records[i], err = r.runOracle(ctx, jobs[i], found, g); err != nil {
				return err
			}
			r.meter.ended()
		}
		return nil
	})
}

func (r *runner) oracleGroups(jobs []job, which []int, records []*Record) ([]*oracleGroup, error) {
	var groups []*oracleGroup
	type id struct {
		cell   *cell
		policy int
		load   string
	}
	of := map[id]*oracleGroup{}
	loads := map[*cell]map[string]bool{}
	keyOfLoad := func(j job) (string, error) { return digest(j.cell.loads[j.seed]) }
	for _, i := range which {
		j := jobs[i]
		load, err := keyOfLoad(j)
		if err != nil {
			return nil, err
		}
		at := id{j.cell, j.policy, load}
		if of[at] == nil {
			of[at] = &oracleGroup{own: map[int][]start{}}
			groups = append(groups, of[at])
			if loads[j.cell] == nil {
				loads[j.cell] = map[string]bool{}
			}
			loads[j.cell][load] = true
		}
		of[at].jobs = append(of[at].jobs, i)
	}
	for _, g := range groups {
		first := jobs[g.jobs[0]]
		for _, i := range g.jobs {
			g.own[jobs[i].seed] = startsUnder(jobs[i], jobs, records)
		}
		if err := r.fillTask(g, first, jobs, len(loads[first.cell])); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// startsUnder are the runs of a job's cell and seed that can be repeated.
func startsUnder(j job, jobs []job, records []*Record) []start {
	var all []start
	for i, other := range jobs {
		rec := records[i]
		if other.cell != j.cell || other.seed != j.seed || rec == nil || rec.Applied == nil {
			continue
		}
		all = append(all, start{rec.Key, OracleStart{
			Origin: fmt.Sprintf("%s, seed %d", rec.Case.Label, rec.Seed), Schedule: rec.Applied, Figures: figuresOf(rec),
		}})
	}
	return all
}

func figuresOf(r *Record) Try {
	t := Try{Spec: r.Result.Policy, Engine: r.Case.Engine, Bill: float64(r.Result.Bill), CoreHours: float64(r.Result.CoreHours)}
	if over := float64(r.Result.Degraded()); !math.IsNaN(over) {
		t.Over = over
	}
	return t
}

func (r *runner) fillTask(g *oracleGroup, first job, jobs []job, loads int) error {
	w := first.cell.loads[first.seed]
	load, err := w.For(first.cell.app.Model)
	if err != nil {
		return err
	}
	spec := r.matrix.spec(first.cell, r.matrix.Policies[first.policy].Spec, first.seed)
	spec.Engine, spec.Seed = "", oracleSeed
	spec.Perturb.MetricsLate, spec.Perturb.MetricsLoss, spec.Perturb.CPUNoise = 0, 0, 0
	g.task = OracleTask{
		App: first.cell.app.Model, CPU: r.matrix.CPU, WarmUp: first.cell.warmUp, Cluster: first.cell.cluster, Perturb: spec.Perturb,
		Load: CalibrationLoad{Rates: load, Duration: w.Duration(), Seed: oracleSeed}, Budget: budgetOf(first.cell, loads),
	}
	var from []string
	for _, i := range g.jobs {
		for _, s := range g.own[jobs[i].seed] {
			from = append(from, s.key)
			g.task.Starts = append(g.task.Starts, s.OracleStart)
		}
	}
	g.cost = costOfForesight * first.cell.cost(r.matrix.Engine) / float64(loads)
	g.key, err = keyOf(spec, w, []any{"oracle", oracleVersion, g.task.Budget, from})
	return err
}

// searchOracle searches, or reads the result if it was searched before.
func (r *runner) searchOracle(ctx context.Context, g *oracleGroup, first job) (*OracleFound, error) {
	var kept PreparedOracle
	if found, err := r.store.read(preparedFolder, g.key, &kept); err != nil {
		return nil, err
	} else if found {
		r.meter.skip(g.cost)
		return &kept.OracleFound, nil
	}
	cell, label := first.cell, r.matrix.Policies[first.policy].Label
	share := r.meter.begin(g.cost)
	g.task.Progress = share
	found, err := SearchSchedule(ctx, g.task)
	if err != nil {
		return nil, fmt.Errorf("search the schedule of %s on %s, workload %s: %w", label, cell.app.Name, cell.workload, err)
	}
	share(1)
	kept = PreparedOracle{
		Format: FormatVersion, Program: r.options.Program, Key: g.key,
		App: cell.app.Name, Workload: cell.workload, Label: label, OracleFound: *found,
	}
	return found, r.store.write(preparedFolder, g.key, kept)
}

// runOracle makes the run of one seed, or reads it: the cheapest of the search's finalists that
// meets the SLO under this seed. A run of another policy under the same seed that was cheaper is
// repeated, so that the oracle never costs more than what ran in the scene.
func (r *runner) runOracle(ctx context.Context, j job, found *OracleFound, g *oracleGroup) (*Record, error) {
	spec := r.matrix.spec(j.cell, r.matrix.Policies[j.policy].Spec, j.seed)
	var own []string
	for _, s := range g.own[j.seed] {
		own = append(own, s.key)
	}
	key, err := keyOf(spec, j.cell.loads[j.seed], []any{"oracle", g.key, own})
	if err != nil {
		return nil, err
	}
	if kept, err := r.kept(key, j, spec); kept != nil || err != nil {
		return kept, err
	}
	share := r.meter.begin(j.cell.cost(r.matrix.Engine))
	best, err := r.bestUnder(ctx, j, found.Finalists, g.own[j.seed])
	if err != nil {
		return nil, err
	}
	share(1)
	best.Key = key
	return r.keep(best)
}

// bestUnder the seed of a job.
func (r *runner) bestUnder(ctx context.Context, j job, finalists []OracleFinalist, own []start) (best *Record, err error) {
	play := func(origin string, schedule *policy.Schedule) error {
		spec := r.matrix.spec(j.cell, r.matrix.Policies[j.policy].Spec, j.seed)
		spec.Decider = policy.NewScheduled(schedule)
		record, err := r.simulate(ctx, j, spec, func(float64) {})
		if err != nil {
			return err
		}
		record.Origin = origin
		if best == nil || better(figuresOf(record), figuresOf(best)) {
			best = record
		}
		return nil
	}
	for _, f := range finalists {
		if err := play(f.Origin, f.Schedule); err != nil {
			return nil, err
		}
		if best.Result.SLOMet() {
			break
		}
	}
	ranked := slices.Clone(own)
	slices.SortStableFunc(ranked, func(a, b start) int { return cmp.Compare(a.Figures.objective(), b.Figures.objective()) })
	for _, s := range ranked {
		if meets(s.Figures) && better(s.Figures, figuresOf(best)) {
			if err := play("repeats "+s.Origin, s.Schedule); err != nil {
				return nil, err
			}
		}
	}
	return best, nil
}
