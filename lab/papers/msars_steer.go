package papers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/policy/msars"
	msarstrainer "github.com/loadline/loadline/internal/policy/msars/trainer"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/internal/workload"
)

// The second half of the paper (section 5.3): the effect of partial SLOs on an agent, without
// releases and with releases that make profiles jump.
const (
	steerSteps = 12_000
	steerPeak  = 150.0 // requests/s
	// steerTight is a factor on the application's SLOs: unchanged, no policy violates them.
	steerTight = 0.3

	steerMSARS = "msars"
	steerTD3   = "TD3 without the split"
	steerDRPC  = "drpc"
	steerHPA   = "hpa"
)

var steerers = []string{steerMSARS, steerTD3, steerDRPC, steerHPA}

// steerSetup is the controlled application and its load.
type steerSetup struct {
	app         *loadline.App
	train, test *workload.Workload
	profiles    *profile.Set
}

func (s *msarsStage) steerSetup(ctx context.Context, o Options) (*steerSetup, error) {
	name, length, peak := "sockshop", 24*time.Hour, steerPeak
	if s.few {
		name, length, peak = "bookinfo", 4*time.Hour, 40
	}
	app, err := appNamed(name)
	if err != nil {
		return nil, err
	}
	for k := range app.Kinds {
		app.Kinds[k].SLO.Latency = time.Duration(steerTight * float64(app.Kinds[k].SLO.Latency))
	}
	day := func(seed uint64, from, length time.Duration) (*workload.Workload, error) {
		w, _, err := workload.Open("day", workload.Options{Duration: 24 * time.Hour, Peak: peak, Step: 10 * time.Second, Seed: seed})
		if err != nil {
			return nil, err
		}
		return w.Slice(from, from+length)
	}
	setup := &steerSetup{app: app}
	if setup.train, err = day(o.Seed, 0, length); err != nil {
		return nil, err
	}
	if setup.test, err = day(^o.Seed, 8*time.Hour, 3*time.Duration(o.slots())*time.Minute); err != nil {
		return nil, err
	}
	if s.profiles == nil { // they depend on the application only
		s.profiles = &profile.Set{App: app.Name}
		if _, err := msarstrainer.Complete(ctx, app, s.profiles, nil); err != nil {
			return nil, err
		}
	}
	setup.profiles = s.profiles
	return setup, nil
}

// releases make profiles jump at slots 150 and 300: the CPU of half of the services is
// multiplied by 0.4 to 2.5.
func (s *steerSetup) releases(slots int, seed uint64) []sim.Disturbance {
	rng := rand.New(rand.NewPCG(seed, 150))
	var list []sim.Disturbance
	for jump := 1; jump <= 2; jump++ {
		for i := range s.app.Services {
			factor := min(max(math.Exp(0.45*rng.NormFloat64()), 0.4), 2.5)
			if rng.Float64() < 0.5 {
				list = append(list, sim.Disturbance{At: time.Duration(jump*slots) * time.Minute,
					Version: &sim.VersionChange{Service: i, CPUFactor: factor}})
			}
		}
	}
	return list
}

func describeSteering(o Options) string {
	return fmt.Sprintf("Steering: Sock Shop with its SLOs times %g, since no policy breaks the original ones. Each seed trains msars "+
		"with its own meta, TD3 without the split and DRPC for %d steps on a day with a peak of %g requests/s; hpa is at its "+
		"defaults. All of them then run %d minutes of another day from 08:00 in the event engine.", steerTight, o.steps(steerSteps),
		steerPeak, 3*o.slots())
}

// steerModels are the trained agents of one seed.
type steerModels struct {
	msars map[string]*msars.Model
	drpc  string // file
}

// model trains one of them.
func (s *msarsStage) model(ctx context.Context, setup *steerSetup, o Options, who string, seed uint64, c *trainedSplitters,
	folder *bench.ModelFolder, into *steerModels, progress func(float64)) error {
	steps := o.steps(steerSteps)
	if who == steerDRPC {
		method, err := policy.Trainable("drpc")
		if err != nil {
			return err
		}
		trained, err := folder.Train(ctx, bench.TrainingTask{Method: method, App: setup.app, Load: setup.train,
			Setting: bench.TrainingSettings()[0], Steps: max(steps, policy.LeastSteps), Seed: seed}, progress)
		if err == nil {
			into.drpc = trained.Path()
		}
		return err
	}
	config := msarstrainer.Default("meta")
	config.Net, config.Seed, config.Most, config.Every = c.both["meta"], seed, steps, max(steps/12, 1)
	if who == steerTD3 {
		config.Way, config.Net = msars.None, nil
	}
	if s.few {
		config.Adjust.Runs, config.Episodes, config.Forecast = 0, 1, false
	}
	load, err := setup.train.For(setup.app)
	if err != nil {
		return err
	}
	m, _, err := msarstrainer.Run(ctx, train.Scenario{App: setup.app, Load: load, Duration: setup.train.Duration(),
		Source: setup.train.Name}, setup.profiles, config, msarstrainer.Hooks{
		Progress: func(share float64, _ string) { progress(share) },
	})
	into.msars[who] = m
	return err
}

// steerResult is the results of all agents, by environment.
type steerResult struct {
	calm, wild *Table
}

var steerMeasures = []Measure{{"over SLO %", 2}, {"minutes broken %", 1}, {"core-hours", 2}, {"GiB-hours", 1}, {"cost", 2},
	{"replicas", 1}, {"changes", 0}}

const (
	steerOver = 0
	steerCost = 4
)

// steer trains all methods and runs them.
func (s *msarsStage) steer(ctx context.Context, o Options, trained []*trainedSplitters) (*steerResult, error) {
	setup, err := s.steerSetup(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Models == "" {
		if o.Models, err = os.MkdirTemp("", "loadline-msars-"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(o.Models)
	}
	folder, err := o.folder()
	if err != nil {
		return nil, err
	}
	models := make([][]steerModels, o.Seeds) // by seed and who
	for i := range models {
		models[i] = make([]steerModels, len(steerers))
	}
	learn := len(steerers) - 1 // all but HPA
	if err := o.part(0, 0.5).eachWithProgress(ctx, o.Seeds*learn, func(job int, progress func(float64)) error {
		seed, who := job/learn, job%learn
		into := &models[seed][who]
		into.msars = map[string]*msars.Model{}
		return s.model(ctx, setup, o, steerers[who], o.Seed+uint64(seed), trained[seed], folder, into, progress)
	}); err != nil {
		return nil, err
	}
	r := &steerResult{}
	if r.calm, err = s.steerTable(ctx, o.part(0.5, 0.75), setup, models, false); err != nil {
		return nil, err
	}
	r.wild, err = s.steerTable(ctx, o.part(0.75, 1), setup, models, true)
	return r, err
}

func (s *msarsStage) steerTable(ctx context.Context, o Options, setup *steerSetup, models [][]steerModels, wild bool) (*Table, error) {
	t := &Table{
		Name: "Steering while nothing is released (its Fig. 6)", Of: "policy", Measures: steerMeasures,
		Note: "Requests over their SLO, failures among them; minutes in which some kind of request broke its SLO; cost is " +
			"core-hours, and GiB-hours at what memory costs beside a core. The paper gives msars 38 % fewer violations and 8 % less " +
			"cost than TD3.",
	}
	if wild {
		t.Name = fmt.Sprintf("Steering while releases make profiles jump at slots %d and %d", o.slots(), 2*o.slots())
		t.Note = "Half of the services take another share of CPU each time, from 0.4 to 2.5 times of what they took; the policies " +
			"are not informed."
	}
	values, err := o.bySeed(ctx, "msars "+t.Name, len(steerers), func(who int, seed uint64) ([]float64, error) {
		return s.steerRun(ctx, o, setup, steerers[who], &models[seed-o.Seed][who], seed, wild)
	})
	if err != nil {
		return nil, err
	}
	for i, who := range steerers {
		t.Rows = append(t.Rows, Row{Name: who, Paper: none(len(steerMeasures)), Ours: intervals(values[i])})
	}
	return t, err
}

// steerRun is one run in the event engine.
func (s *msarsStage) steerRun(ctx context.Context, o Options, setup *steerSetup, who string, p *steerModels, seed uint64,
	wild bool) ([]float64, error) {
	run := trial{app: setup.app, load: setup.test, seed: seed, warmUp: warmUpOf(setup.test.Duration())}
	if wild {
		run.disturb = setup.releases(o.slots(), seed)
	}
	var err error
	switch who {
	case steerHPA:
		run.policy = "hpa"
	case steerDRPC:
		run.policy = "drpc:file=" + p.drpc
	default:
		if run.decider, err = msars.NewPolicy(p.msars[who], setup.app, 0); err != nil {
			return nil, err
		}
	}
	out, err := run.run(ctx)
	if err != nil {
		return nil, err
	}
	r := &out.Result
	return []float64{
		100 * float64(r.OverSLORatio), 100 * float64(r.WindowsViolatedRatio), float64(r.CoreHours), float64(r.GiBHours),
		float64(r.CoreHours) + formulation.MemoryPrice*float64(r.GiBHours), float64(r.MeanReplicas), float64(r.Changes),
	}, nil
}

// findings of the experiment.
func (s *steerResult) findings(r *Report) {
	at := func(t *Table, who string, measure int) bench.Interval {
		for _, row := range t.Rows {
			if row.Name == who {
				return row.Ours[measure]
			}
		}
		return bench.Interval{}
	}
	for _, c := range []struct {
		claim   string
		measure int
		other   string
		digits  int
		unit    string
	}{
		{"msars breaks the SLO less often than TD3 without the split (38 % less).", steerOver, steerTD3, 2, " % of requests"},
		{"msars costs less than TD3 without the split (8 % less).", steerCost, steerTD3, 2, ""},
		{"msars breaks the SLO less often than DRPC.", steerOver, steerDRPC, 2, " % of requests"},
		{"msars costs less than DRPC.", steerCost, steerDRPC, 2, ""},
	} {
		calm, wild := below(at(s.calm, steerMSARS, c.measure), at(s.calm, c.other, c.measure)), below(at(s.wild, steerMSARS, c.measure),
			at(s.wild, c.other, c.measure))
		verdict := calm
		switch {
		case calm == wild:
		case calm == Holds || wild == Holds:
			verdict = Partly
		default:
			verdict = Undecided
		}
		text := func(t *Table) string {
			return fmt.Sprintf("%s against %s%s", spread(at(t, steerMSARS, c.measure), c.digits),
				spread(at(t, c.other, c.measure), c.digits), c.unit)
		}
		r.find(c.claim, verdict, fmt.Sprintf("While nothing is released %s; while profiles jump %s.", text(s.calm), text(s.wild)))
	}
}
