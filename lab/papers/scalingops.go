package papers

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/internal/twin"
	"github.com/loadline/loadline/internal/workload"
)

const (
	opsService = "productpage"
	opsHPA     = "hpa:target=70"
	opsSteps   = 24_000
	opsLength  = 3 * time.Hour
	opsHistory = 8 * time.Hour
	opsSlope   = 30 * minute // up and down again
)

// opsSetup is the scaled service: the front end of bookinfo, with the others fixed at
// sufficient replicas. A pod's limit is its request, 200 millicores; the paper's HPA at 70 %
// keeps it at 135 to 140.
func opsSetup() (*loadline.App, error) {
	app, err := appNamed("bookinfo")
	if err != nil {
		return nil, err
	}
	for i := range app.Services {
		s := &app.Services[i]
		if s.Name == opsService {
			s.Size.CPURequest, s.Size.CPULimit = 0.2, 0.2
			s.Bounds.MinReplicas, s.Bounds.MaxReplicas, s.Replicas = 1, 10, 3
			continue
		}
		s.Replicas, s.Bounds.MinReplicas, s.Bounds.MaxReplicas = 4, 4, 4
	}
	return app, nil
}

// slopes is the paper's evaluation load (Fig. 4): the rate rises and falls linearly, again and
// again, to varying heights.
func slopes(duration time.Duration, seed uint64) (*workload.Workload, error) {
	noise, err := workload.Parse("constant:rps=1+noise:cv=0.05,corr=1m", duration, 15*time.Second, seed)
	if err != nil {
		return nil, err
	}
	heights := []float64{95, 75, 110, 60, 100, 85}
	w := &workload.Workload{Name: "slopes", Step: noise.Step}
	for i, n := range noise.Rates {
		at := time.Duration(i) * noise.Step
		height := heights[int(at/opsSlope)%len(heights)]
		x := math.Mod(at.Seconds(), opsSlope.Seconds()) / opsSlope.Seconds()
		w.Rates = append(w.Rates, n*(20+(height-20)*(1-math.Abs(2*x-1))))
	}
	return w, w.Validate()
}

// opsRun has the data of one seed.
type opsRun struct {
	app     *loadline.App
	past    *workload.Workload
	test    *workload.Workload
	calm    *history.History // HPA at 70 % throughout
	sweep   *history.History // the same load under 2, 3, 4, 5, 6 replicas in turn
	heldOut *history.History // of the test load, under HPA at 70 %
	seed    uint64
}

func newOpsRun(ctx context.Context, seed uint64, length time.Duration) (*opsRun, error) {
	app, err := opsSetup()
	if err != nil {
		return nil, err
	}
	r := &opsRun{app: app, seed: seed}
	if r.past, err = slopes(pastOf(length), 100+seed); err != nil {
		return nil, err
	}
	if r.test, err = slopes(length, 200+seed); err != nil {
		return nil, err
	}
	if r.calm, err = r.record(ctx, r.past, opsHPA, 300+seed); err != nil {
		return nil, err
	}
	if r.sweep, err = r.recordSweep(ctx, 350+seed); err != nil {
		return nil, err
	}
	r.heldOut, err = r.record(ctx, r.test, opsHPA, 400+seed)
	return r, err
}

// pastOf is the length of the history: shorter for a shorter experiment.
func pastOf(length time.Duration) time.Duration { return max(time.Hour, min(opsHistory, 3*length)) }

// record records what an autoscaler does with a load.
func (r *opsRun) record(ctx context.Context, w *workload.Workload, policy string, seed uint64) (*history.History, error) {
	load, err := w.For(r.app)
	if err != nil {
		return nil, err
	}
	return simulate.RecordHistory(ctx, simulate.HistorySpec{
		App: r.app, Load: load, Workload: w.Name, Policy: policy, Engine: "event", Duration: w.Duration(), Step: 15 * time.Second,
		Seed: seed,
	})
}

// recordSweep records a load test: an hour each of several numbers of replicas.
func (r *opsRun) recordSweep(ctx context.Context, seed uint64) (*history.History, error) {
	var all *history.History
	for n := range 5 {
		app := *r.app
		app.Services = slices.Clone(r.app.Services)
		app.Services[app.ServiceIndex(opsService)].Replicas = 2 + n
		fifth := min(time.Hour, r.past.Duration()/5)
		hour, err := r.past.Slice(time.Duration(n)*fifth, time.Duration(n+1)*fifth)
		if err != nil {
			return nil, err
		}
		one := &opsRun{app: &app}
		h, err := one.record(ctx, hour, "static", seed)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = h
			continue
		}
		all.Steps += h.Steps
		for i := range all.Services {
			for m := range all.Services[i].Series {
				all.Services[i].Series[m] = append(all.Services[i].Series[m], h.Services[i].Series[m]...)
			}
		}
	}
	return all, nil
}

func rowsOf(h *history.History) []twin.LinearRow {
	return twin.LinearRows(h.Service(opsService), history.LatencyMean, 0, h.Steps)
}

// opsWorld is an interpretation of the paper's linear world, and the models trained in it.
type opsWorld struct {
	name          string
	swept         bool // the history is that of the sweep
	alpha         float64
	keepIntercept bool
	fluid         bool // the simulated cluster instead of a linear world
	candidates    int
}

// The first is the paper's; the others are variations.
var opsWorlds = []opsWorld{
	{name: "as printed", alpha: pipeline.Smoothing, candidates: 3},
	{name: "alpha 1", alpha: 1, candidates: 2},
	{name: "alpha 1, intercept kept", alpha: 1, keepIntercept: true, candidates: 2},
	{name: "history of a sweep", swept: true, alpha: pipeline.Smoothing, candidates: 1},
	{name: "simulated cluster", alpha: pipeline.Smoothing, fluid: true, candidates: 2},
}

func (w opsWorld) history(r *opsRun) *history.History {
	if w.swept {
		return r.sweep
	}
	return r.calm
}

// delays are the parameters of ENV1 and ENV2.
func (w opsWorld) delays(r *opsRun) (train.Delays, error) {
	l := twin.FitLinear(rowsOf(w.history(r)))
	if l.Rows == 0 {
		return train.Delays{}, fmt.Errorf("the history of %s has no row with CPU, requests, replicas and delay", opsService)
	}
	d := train.Delays{
		CPUSlope: l.CPUSlope, RequestSlope: l.RequestSlope, Smoothing: w.alpha, SLA: 0.25,
		MeanCPU: l.MeanCPU, MeanRequests: l.MeanRequests, MeanReplicas: l.MeanReplicas,
	}
	if w.keepIntercept {
		d.Intercept = l.Intercept
	}
	return d, nil
}

// train trains Model 1, Model 2 starting from its weights, and possibly more.
func (w opsWorld) train(ctx context.Context, r *opsRun, steps int) ([]*pipeline.Trained, error) {
	candidates, err := pipeline.LineUp([]string{"scaling-ops"}, w.candidates, r.seed)
	if err != nil {
		return nil, err
	}
	for i := range candidates {
		candidates[i].Steps = steps
		if w.fluid {
			if candidates[i].Settings, err = policy.DQNInCluster(candidates[i].Settings); err != nil {
				return nil, err
			}
		}
	}
	delays, err := w.delays(r)
	if err != nil {
		return nil, err
	}
	app, err := r.alone()
	if err != nil {
		return nil, err
	}
	return pipeline.TrainAll(ctx, &pipeline.Subject{
		Name: "bookinfo", App: app, Training: r.past, HeldOut: r.past, History: w.history(r),
		Delays: map[string]train.Delays{opsService: delays},
	}, candidates, 1, nil)
}

// live is the event engine's figures of a policy: delay in ms, replicas, CPU of a pod in
// millicores, share of requests over the SLA in percent, and the share of time at a bound.
func (r *opsRun) live(ctx context.Context, policy string, m *formulation.Model) ([]float64, error) {
	out, err := trial{app: r.app, load: r.test, policy: policy, model: m, seed: 500 + r.seed}.run(ctx)
	if err != nil {
		return nil, err
	}
	for i, s := range out.Result.Services {
		if s.Name != opsService {
			continue
		}
		pods := float64(s.MeanReplicas)
		used := 1000 * float64(s.UsedCoreHours) / (pods * r.test.Duration().Hours())
		return []float64{float64(out.Result.Latency.Mean), pods, used, 100 * float64(out.Result.OverSLORatio),
			100 * atBound(out.Timeline.Ready[i], r.app.Services[i].Bounds)}, nil
	}
	return nil, fmt.Errorf("the run has no figures of %s", opsService)
}

// atBound is the share of time at the minimum or maximum of replicas.
func atBound(ready []float64, b loadline.Bounds) float64 {
	n := 0
	for _, v := range ready {
		if v <= float64(b.MinReplicas) || v >= float64(b.MaxReplicas) {
			n++
		}
	}
	return float64(n) / float64(max(1, len(ready)))
}

// onENV2 is ENV2's figures of a policy: delay in ms and mean pods.
func (r *opsRun) onENV2(ctx context.Context, m *formulation.Model, delays train.Delays, printed bool) ([]float64, error) {
	place, err := r.place(r.test)
	if err != nil {
		return nil, err
	}
	var made loadline.Policy
	if m == nil {
		made, err = policy.New(opsHPA, place.App)
	} else {
		made, err = formulation.NewPolicy(m, place.App)
	}
	if err != nil {
		return nil, err
	}
	s, err := train.EvaluateENV2(ctx, train.ENV2Config{Scenario: place, Delays: delays, AsPrinted: printed}, made)
	return []float64{1000 * s.Delay, s.MeanPods}, err
}

// place is the service by itself, and alone the application of it.
func (r *opsRun) place(w *workload.Workload) (train.ServiceScenario, error) {
	load, err := w.For(r.app)
	if err != nil {
		return train.ServiceScenario{}, err
	}
	return train.NewServiceScenario(formulation.NewTopology(r.app), r.app.ServiceIndex(opsService), load, w.Duration()), nil
}

func (r *opsRun) alone() (*loadline.App, error) {
	p, err := r.place(r.past)
	return p.App, err
}

// opsSeed is the results of one seed.
type opsSeed struct {
	names    []string    // of policies: HPA, then the models world by world
	live     [][]float64 // by policy
	env2     [][]float64 // in the world as printed
	printed  [][]float64 // the same with eq. 7 as printed
	errors   []float64   // of the regressor on the held-out part, ms: dropped and kept, with and without alpha
	slopes   []float64   // b0 and b1 of HPA's history and of the sweep, ms
	training float64     // seconds for the models of one world, NaN = not measured
}

func (r *opsRun) all(ctx context.Context, steps int, now func() time.Time) (*opsSeed, error) {
	s := &opsSeed{training: math.NaN(), names: []string{"HPA at 70 %"}}
	models := []*formulation.Model{nil} // HPA
	for i, w := range opsWorlds {
		var began time.Time
		if now != nil {
			began = now()
		}
		trained, err := w.train(ctx, r, steps)
		if err != nil {
			return nil, err
		}
		if now != nil && i == 0 {
			s.training = now().Sub(began).Seconds()
		}
		for n, t := range trained {
			model, err := policy.Formulated(t.Model)
			if err != nil {
				return nil, err
			}
			name := fmt.Sprintf("Model %d", n+1)
			if i > 0 {
				name += ", " + w.name
			} else if n > 1 {
				name += fmt.Sprintf(" (a replica costs %g)", model.Problem.Params["weight"])
			}
			s.names, models = append(s.names, name), append(models, model)
		}
	}
	asPrinted, err := opsWorlds[0].delays(r)
	if err != nil {
		return nil, err
	}
	for i, m := range models {
		policy := s.names[i]
		if m == nil {
			policy = opsHPA
		}
		live, err := r.live(ctx, policy, m)
		if err != nil {
			return nil, err
		}
		env2, err := r.onENV2(ctx, m, asPrinted, false)
		if err != nil {
			return nil, err
		}
		printed, err := r.onENV2(ctx, m, asPrinted, true)
		if err != nil {
			return nil, err
		}
		s.live, s.env2, s.printed = append(s.live, live), append(s.env2, env2), append(s.printed, printed)
	}
	calm, sweep := twin.FitLinear(rowsOf(r.calm)), twin.FitLinear(rowsOf(r.sweep))
	s.slopes = []float64{1000 * calm.CPUSlope, 1000 * calm.RequestSlope, 1000 * sweep.CPUSlope, 1000 * sweep.RequestSlope}
	s.errors, err = r.regressorErrors()
	return s, err
}

// regressorErrors on the held-out part, root mean square in ms.
func (r *opsRun) regressorErrors() ([]float64, error) {
	var out []float64
	for _, w := range []opsWorld{{alpha: pipeline.Smoothing}, {alpha: 1}, {alpha: pipeline.Smoothing, keepIntercept: true},
		{alpha: 1, keepIntercept: true}} {
		d, err := w.delays(r)
		if err != nil {
			return nil, err
		}
		sum, n := 0.0, 0.0
		for _, row := range rowsOf(r.heldOut) {
			if e := 1000 * (d.Of(row.CPU, row.Requests) - row.Delay); !math.IsNaN(e) {
				sum += e * e
				n++
			}
		}
		out = append(out, math.Sqrt(sum/n))
	}
	return out, nil
}

// ScalingOps runs Scaling-Ops' comparison (Table I) and its components.
func ScalingOps(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	length, steps := o.length(opsLength), o.steps(opsSteps)
	seeds := make([]*opsSeed, o.Seeds)
	err := o.each(ctx, o.Seeds, func(i int) error {
		run, err := newOpsRun(ctx, o.Seed+uint64(i), length)
		if err != nil {
			return err
		}
		seeds[i], err = run.all(ctx, steps, o.Now)
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &Report{
		Name: "scaling-ops", Title: "Scaling-Ops: offline models against HPA at 70 % (its Table I)", Seeds: o.Seeds,
		Setup: []string{
			fmt.Sprintf("Bookinfo's %s is scaled from 1 to 10 replicas, the services behind it have enough and stay as they are. A "+
				"pod asks for 200 millicores and may use no more; the paper prints no size, but its HPA at 70 %% keeps 135 millicores.",
				opsService),
			fmt.Sprintf("The load climbs and falls in straight lines every %v, as in its Fig. 4, between 20 and 60 to 110 "+
				"requests/s; %v of it under HPA, recorded every 15 s in the event engine, is the history; %v of other noise is "+
				"evaluated.", opsSlope, pastOf(length), length),
			fmt.Sprintf("Per seed and reading: Model 1, and Model 2 that starts from its weights; each %d steps of ENV1, decisions "+
				"every minute. The last two columns of Table I are ours; the paper ranks by mean pods to see policies that sit on a "+
				"bound, and the last shows it.", steps),
			"Readings: as printed; without the factor alpha = 0.4 of eq. 5; with the regressor's intercept; learned from a sweep, an " +
				"hour each under 2 to 6 replicas, in which requests had to queue, instead of from HPA's history; and trained in the " +
				"simulated cluster (fluid engine) instead of ENV1, with the same state, actions and reward.",
		},
	}
	r.Tables = append(r.Tables, opsTable(seeds), opsENV2Table(seeds), opsReadingTable(seeds))
	opsFindings(r, seeds)
	return r, nil
}

func column[T any](seeds []T, of func(T) []float64) []bench.Interval {
	values := make([][]float64, len(seeds))
	for i, s := range seeds {
		values[i] = of(s)
	}
	return intervals(values)
}

func opsTable(seeds []*opsSeed) Table {
	t := Table{
		Name: "Table I, in the event engine", Of: "policy",
		Measures: []Measure{{"delay ms", 0}, {"replicas", 2}, {"CPU millicores per pod", 0}, {"over 250 ms %", 2},
			{"time at a bound %", 0}},
		Note: "The paper prints the first column as requests/s; by its text it is a delay.",
	}
	papers := [][]float64{{94, 3.39, 135}, {173, 2.95, 152}, {120, 3.47, 146}}
	for i, name := range seeds[0].names {
		row := Row{Name: name, Ours: column(seeds, func(s *opsSeed) []float64 { return s.live[i] })}
		if i < len(papers) {
			row.Paper = numbers(papers[i]...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// opsENV2Table compares ENV2's predictions with the event engine.
func opsENV2Table(seeds []*opsSeed) Table {
	t := Table{
		Name: "What ENV2 foretells", Of: "policy",
		Measures: []Measure{{"pods in ENV2", 2}, {"pods, eq. 7 as printed", 2}, {"pods in the event engine", 2},
			{"delay in ENV2 ms", 0}, {"delay in the event engine ms", 0}},
	}
	for i, name := range seeds[0].names {
		t.Rows = append(t.Rows, Row{Name: name, Ours: column(seeds, func(s *opsSeed) []float64 {
			return []float64{s.env2[i][1], s.printed[i][1], s.live[i][1], s.env2[i][0], s.live[i][0]}
		})})
	}
	t.Rows = append(t.Rows, Row{Name: "rank correlation with the event engine", Ours: column(seeds, func(s *opsSeed) []float64 {
		pods, delays := at(s.live, 1), at(s.live, 0)
		return []float64{RankCorrelation(at(s.env2, 1), pods), RankCorrelation(at(s.printed, 1), pods), 1,
			RankCorrelation(at(s.env2, 0), delays), 1}
	})})
	return t
}

func at(rows [][]float64, measure int) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = r[measure]
	}
	return out
}

func opsReadingTable(seeds []*opsSeed) Table {
	errors := column(seeds, func(s *opsSeed) []float64 { return s.errors })
	t := Table{Name: "The regressor on the unseen part", Of: "delay =", Measures: []Measure{{"root mean square error ms", 1}}}
	for i, name := range []string{"0.4 (b0 CPU + b1 requests), as printed", "b0 CPU + b1 requests",
		"0.4 (intercept + b0 CPU + b1 requests)", "intercept + b0 CPU + b1 requests"} {
		t.Rows = append(t.Rows, Row{Name: name, Ours: errors[i : i+1]})
	}
	return t
}

func opsFindings(r *Report, seeds []*opsSeed) {
	rows := r.Tables[0].Rows
	hpa, one, two := rows[0].Ours, rows[1].Ours, rows[2].Ours // of the world as printed
	took := column(seeds, func(s *opsSeed) []float64 { return []float64{s.training} })[0]
	if !math.IsNaN(float64(took.Mean)) {
		v := Holds
		if took.Mean > 600 {
			v = Not
		}
		r.find("Several models are trained and evaluated in under ten minutes.", v,
			fmt.Sprintf("Three models of one seed are trained in %s s.", spread(took, 1)))
	}
	r.find("Model 1 uses fewer replicas than HPA, fuller, and is slower, in ENV1 as printed.", opsVerdict(one, hpa), fmt.Sprintf(
		"Replicas %s against %s, delay %s ms against %s ms; Model 1 spends %s %% of the time at a bound, and Model 2, grown from it, "+
			"%s %%. Eq. 4 lets CPU grow beyond what a pod can use, eq. 1 pays for CPU and charges 0.3 a replica, so every replica "+
			"less pays until the delay reaches 250 ms; a straight line through HPA's calm past, times 0.4, does not get there. Live, "+
			"CPU ends at the pod's limit, and a single overloaded pod looks like a well-used one: the policy stays. Without the 0.4, "+
			"or with the intercept, the same trap closes.",
		spread(one[1], 2), spread(hpa[1], 2), spread(one[0], 0), spread(hpa[0], 0), spread(one[4], 0), spread(two[4], 0)))
	n := len(rows)
	one, two = rows[n-2].Ours, rows[n-1].Ours
	r.find("Model 1 uses fewer replicas than HPA, fuller, and is slower, if it is trained in the simulated cluster.",
		opsVerdict(one, hpa), fmt.Sprintf(
			"The same state, actions and reward: replicas %s against %s, delay %s ms against %s ms, CPU %s against %s millicores, at "+
				"a bound %s %% of the time.",
			spread(one[1], 2), spread(hpa[1], 2), spread(one[0], 0), spread(hpa[0], 0), spread(one[2], 0), spread(hpa[2],
				0), spread(one[4], 0)))
	quicker, more := below(two[0], one[0]), below(one[1], two[1])
	v := Partly
	switch {
	case quicker == Holds && more == Holds:
		v = Holds
	case quicker == Undecided && more == Undecided:
		v = Undecided
	case quicker != Holds && more != Holds:
		v = Not
	}
	r.find("Model 2, grown from Model 1, gives some replicas back and is quicker (in the simulated cluster).", v, fmt.Sprintf(
		"Delay %s ms against %s ms, replicas %s against %s. Model 2 has the same reward and the same world: it is Model 1 trained "+
			"for longer.",
		spread(two[0], 0), spread(one[0], 0), spread(two[1], 2), spread(one[1], 2)))

	last := r.Tables[1].Rows[len(r.Tables[1].Rows)-1].Ours
	v = Partly
	switch {
	case last[0].Low > 0.5:
		v = Holds
	case last[0].High < 0.5:
		v = Not
	}
	r.find("ENV2, from requests alone, ranks policies as the live system does (by mean pods).", v,
		fmt.Sprintf("Rank correlation of pods %s (with eq. 7 as printed %s), of delays %s.", spread(last[0], 2), spread(last[1], 2),
			spread(last[3], 2))+" The delays themselves are not those of the event engine: a straight line has no knee.")
	e := r.Tables[2].Rows
	v = Holds
	if below(e[3].Ours[0], e[0].Ours[0]) == Holds {
		v = Not
	}
	r.find("Dropping the intercept and scaling by 0.4 align the predicted delay with what is observed.", v,
		fmt.Sprintf("Error on unseen data: %s ms as printed, %s ms without the 0.4, %s ms with the intercept and without the 0.4.",
			spread(e[0].Ours[0], 1), spread(e[1].Ours[0], 1), spread(e[3].Ours[0], 1)))
}

// opsVerdict on fewer replicas and a longer delay. A policy at a bound has not learned to
// scale, whatever the means.
func opsVerdict(model, hpa []bench.Interval) Verdict {
	if model[4].Mean > 50 {
		return Not
	}
	fewer, slower := below(model[1], hpa[1]), below(hpa[0], model[0])
	switch {
	case fewer == Holds && slower == Holds:
		return Holds
	case fewer == Holds || slower == Holds:
		return Partly
	case fewer == Not && slower == Not:
		return Not
	}
	return Undecided
}
