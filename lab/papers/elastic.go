package papers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/internal/workload"
)

// elasticSetup is an application under the cluster trace: the parts for training, for choosing
// settings and for evaluation, in order of time.
type elasticSetup struct {
	app                     *loadline.App
	train, validation, test *workload.Workload
	places                  []train.ServiceScenario
}

// Peaks in requests/s at which scaling the applications matters.
var elasticApps = []struct {
	name string
	peak float64
}{{"bookinfo", 500}, {"boutique", 160}}

// Names of contenders that are used as baselines.
const (
	elasticOurs       = "elastic-dqn"
	elasticHPA        = "hpa"
	elasticCalibrated = "hpa (calibrated)"
	elasticOracle     = "oracle"
)

const (
	elasticSteps  = 12_000
	elasticLength = time.Hour
	elasticWarmUp = 5 * minute // excluded from latency and SLO figures, not from cost
)

// elasticWeights are the candidate weights of the cost (l2) relative to the latency's weight of
// 1: the paper does not give its own, so each seed chooses on validation data.
var elasticWeights = []float64{0.1, 0.3, 1, 3}

func newElasticSetup(name string, peak float64, trace *workload.Workload, length time.Duration) (*elasticSetup, error) {
	app, err := appNamed(name)
	if err != nil {
		return nil, err
	}
	load, err := trace.Scale(peak)
	if err != nil {
		return nil, err
	}
	parts, err := load.Split(0.6, 0.2, 0.2)
	if err != nil {
		return nil, err
	}
	s := &elasticSetup{app: app, train: parts[0]}
	if s.validation, err = lively(parts[1], length); err != nil {
		return nil, err
	}
	if s.test, err = lively(parts[2], length); err != nil {
		return nil, err
	}
	return s, s.learnOn(s.train)
}

// learnOn makes the training scenarios from a load.
func (s *elasticSetup) learnOn(w *workload.Workload) error {
	rates, err := w.For(s.app)
	if err != nil {
		return err
	}
	s.places = train.ServiceScenarios(formulation.NewTopology(s.app), rates, w.Duration())
	return nil
}

// elasticMeasures of a run; cost is related to HPA's afterwards.
func elasticMeasures(r *result.Result) []float64 {
	return []float64{float64(r.Latency.Mean), float64(r.CoreHours), 100 * float64(r.OverSLORatio), float64(r.MeanReplicas),
		float64(r.Changes)}
}

// elasticAbsent are the rivals of the paper's Table 1 that are not implemented.
var elasticAbsent = []Row{
	{Name: "Improved-Q", Paper: numbers(120.3, 1.12, 4.8), Note: "not here: its paper does not say enough to build it"},
	{Name: "Reclaimer", Paper: numbers(97.6, 0.89, 3.6), Note: "not here: its paper does not say enough to build it"},
}

// ElasticDQN runs Elastic-DQN's comparison (Table 1).
func ElasticDQN(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	trace, whence, err := o.trace()
	if err != nil {
		return nil, err
	}
	length, steps := o.length(elasticLength), o.steps(elasticSteps)
	folder, err := elasticFolder(o, steps)
	if err != nil {
		return nil, err
	}
	places := elasticApps
	if o.few {
		places = slices.Clone(places[:1])
		places[0].peak = 60
	}
	r := &Report{
		Name: "elastic-dqn", Title: "Elastic-DQN: mean response, cost and QoS violations (its Table 1)", Seeds: o.Seeds,
		Setup: []string{
			whence + " Its first 60 % is learned on; settings are chosen on a lively stretch of the next 20 %, and everything is " +
				"evaluated on one of the last 20 %: of all stretches of the part, one in ten moves more.",
			fmt.Sprintf("Stretches last %v, the first %v of which count for the cost only. The event engine, the kernel's CPU quota; "+
				"mean response of all completed requests; QoS violations are requests over their SLO or failed; cost is core-hours "+
				"over those of HPA at its default in the same run.", length, min(elasticWarmUp, length/4)),
			fmt.Sprintf("elastic-dqn: its state, its actions (one replica more, less, none, every 30 s), reward -latency - l2*cost, "+
				"both as ratios, discount 0.94, soft target 0.01, one network for all services, %d steps in the fluid engine. l2 is "+
				"not printed: each seed trains with %v and keeps the cheapest within the SLO on validation data; that is %d trials, "+
				"as many as any learned policy gets here.", steps, elasticWeights, len(elasticWeights)),
			elasticRivalSetup(steps),
			"HPA calibrated, and the oracle's levels, are searched for once per application, the former on the validation " +
				"stretch; Autothrottle's tower learns as it goes.",
		},
	}
	measures := []Measure{{"mean response ms", 1}, {"cost", 2}, {"QoS violations %", 2}, {"replicas", 1}, {"changes", 0}}
	for i, a := range places {
		n := float64(len(places))
		rows, err := elasticApp(ctx, o.part(float64(i)/n, float64(i+1)/n), folder, a.name, a.peak, trace, steps, length)
		if err != nil {
			return nil, err
		}
		r.Tables = append(r.Tables, Table{
			Name: fmt.Sprintf("%s, peak of the trace at %g requests/s", a.name, a.peak), Of: "method", Measures: measures,
			Rows: append(append([]Row{}, elasticAbsent...), rows...),
		})
		elasticFindings(r, a.name, rows)
	}
	r.find("Elastic-DQN has a lower response time, cost and violation rate than Improved-Q and Reclaimer.", Undecided,
		"Neither is here, so that part of the paper's comparison cannot be repeated; the table has the paper's figures of them.")
	return r, nil
}

// elasticContender is one compared policy: a specification, or a model that was trained here.
type elasticContender struct {
	row    Row
	policy func(seed int) string
	model  func(seed int) *formulation.Model
}

// elasticApp runs all contenders on one application.
func elasticApp(ctx context.Context, o Options, folder *bench.ModelFolder, name string, peak float64, trace *workload.Workload, steps int,
	length time.Duration) ([]Row, error) {
	setup, err := newElasticSetup(name, peak, trace, length)
	if err != nil {
		return nil, err
	}
	models, chosen, err := setup.tune(ctx, o.part(0, 0.1), steps)
	if err != nil {
		return nil, err
	}
	contenders, err := setup.rivals(ctx, o.part(0.1, 0.9), folder, steps)
	if err != nil {
		return nil, err
	}
	calibrated, oracle, err := setup.search(ctx, o)
	if err != nil {
		return nil, err
	}
	always := func(policy string) func(int) string { return func(int) string { return policy } }
	contenders = append(contenders,
		elasticContender{row: Row{Name: elasticOurs, Paper: numbers(91.7, 0.78, 2.3),
			Note: "l2 chosen: " + tally(chosen, elasticWeightNames())},
			model: func(s int) *formulation.Model { return models[s][chosen[s]] }},
		elasticContender{row: Row{Name: "elastic-dqn, l2 = 1"}, model: func(s int) *formulation.Model { return models[s][2] }},
		elasticContender{row: Row{Name: elasticHPA, Note: "default: 80 %"}, policy: always("hpa")},
		elasticContender{row: Row{Name: elasticCalibrated, Note: calibrated}, policy: always(calibrated)},
		elasticContender{row: Row{Name: "autothrottle"}, policy: always("autothrottle")},
		elasticContender{row: Row{Name: elasticOracle, Note: "knows the rates"}, policy: always(oracle)},
	)
	return setup.compete(ctx, o.part(0.9, 1), contenders)
}

// compete runs every contender on the same hours with the same seeds.
func (s *elasticSetup) compete(ctx context.Context, o Options, contenders []elasticContender) ([]Row, error) {
	values, dropped := make([][][]float64, len(contenders)), make([][]float64, len(contenders))
	for i := range values {
		values[i], dropped[i] = make([][]float64, o.Seeds), make([]float64, o.Seeds)
	}
	err := o.each(ctx, len(contenders)*o.Seeds, func(job int) error {
		c, seed := job/o.Seeds, job%o.Seeds
		t := trial{app: s.app, load: s.test, policy: contenders[c].row.Name, seed: o.Seed + uint64(seed),
			warmUp: min(elasticWarmUp, s.test.Duration()/4)}
		if m := contenders[c].model; m != nil {
			t.model = m(seed)
		} else {
			t.policy = contenders[c].policy(seed)
		}
		out, err := t.run(ctx)
		if err != nil {
			return err
		}
		values[c][seed], dropped[c][seed] = elasticMeasures(&out.Result), 100*float64(out.Result.OptionalDroppedRatio)
		return nil
	})
	if err != nil {
		return nil, err
	}
	hpa := slices.IndexFunc(contenders, func(c elasticContender) bool { return c.row.Name == elasticHPA })
	base := make([]float64, o.Seeds)
	for seed := range base {
		base[seed] = values[hpa][seed][1]
	}
	var rows []Row
	for i := range contenders {
		for seed := range values[i] {
			values[i][seed][1] /= base[seed]
		}
		row := contenders[i].row
		row.Ours = intervals(values[i])
		// Dropping calls lowers the cost: the report must say so.
		if share := mean(dropped[i]); share > 0 {
			row.Note = strings.TrimPrefix(fmt.Sprintf("%s; %.2f %% of optional calls dropped", row.Note, share), "; ")
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// tune trains one model for each weight and seed and chooses for each seed: the cheapest within
// the SLO on validation data, or the one with the least violation.
func (s *elasticSetup) tune(ctx context.Context, o Options, steps int) (models [][]*formulation.Model, chosen []int, err error) {
	n := len(elasticWeights)
	models, tried := make([][]*formulation.Model, o.Seeds), make([][]result.Result, o.Seeds)
	for i := range models {
		models[i], tried[i] = make([]*formulation.Model, n), make([]result.Result, n)
	}
	err = o.each(ctx, o.Seeds*n, func(job int) error {
		seed, w := job/n, job%n
		problem, err := formulation.NewProblem("elastic-dqn", 0, map[string]float64{"cost": elasticWeights[w]})
		if err != nil {
			return err
		}
		network, err := learning{
			problem: problem, scenarios: s.places, service: formulation.Every, agent: elasticAgent(), steps: steps, episode: 120,
			seed: o.Seed + uint64(seed),
		}.learn(ctx)
		if err != nil {
			return err
		}
		models[seed][w] = &formulation.Model{Problem: problem, Networks: []formulation.Network{network}}
		tried[seed][w], err = s.validate(ctx, trial{policy: elasticOurs, model: models[seed][w]}, o.Seed+uint64(seed))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return models, choose(tried), nil
}

// validate runs a policy on the validation part.
func (s *elasticSetup) validate(ctx context.Context, t trial, seed uint64) (result.Result, error) {
	t.app, t.load, t.seed, t.warmUp = s.app, s.validation, validationSeed+seed, min(elasticWarmUp, s.validation.Duration()/4)
	out, err := t.run(ctx)
	if err != nil {
		return result.Result{}, err
	}
	return out.Result, nil
}

// choose the best trial of each seed; of equals, the first.
func choose(tried [][]result.Result) []int {
	chosen := make([]int, len(tried))
	for seed := range chosen {
		for i := range tried[seed] {
			if better(&tried[seed][i], &tried[seed][chosen[seed]]) {
				chosen[seed] = i
			}
		}
	}
	return chosen
}

// validationSeed is far from those of the test.
const validationSeed = 1 << 32

// better is cheaper if both meet the SLO, else the one with the smaller violation.
func better(a, b *result.Result) bool {
	if a.SLOMet() && b.SLOMet() {
		return a.CoreHours < b.CoreHours
	}
	return a.OverSLORatio < b.OverSLORatio
}

// search finds HPA's best setting on validation data, and the oracle's levels.
func (s *elasticSetup) search(ctx context.Context, o Options) (hpa, oracle string, err error) {
	load := func(w *workload.Workload, seed uint64) (bench.CalibrationLoad, error) {
		rates, err := w.For(s.app)
		return bench.CalibrationLoad{Rates: rates, Duration: w.Duration(), Seed: seed}, err
	}
	first, err := load(s.validation, validationSeed+1)
	if err != nil {
		return "", "", err
	}
	second := first
	second.Seed++
	warmUp := min(elasticWarmUp, first.Duration/4)
	found, err := bench.Calibrate(ctx, bench.CalibrationTask{App: s.app, Policy: "hpa:limits=keep,request=keep",
		Loads:   []bench.CalibrationLoad{first, second},
		WarmUp:  warmUp,
		Workers: o.Workers})
	if err != nil {
		return "", "", err
	}
	test, err := load(s.test, validationSeed+3)
	if err != nil {
		return "", "", err
	}
	seen, err := bench.SearchLevels(ctx, bench.LevelSearch{App: s.app, Policy: "oracle", Load: test, WarmUp: warmUp})
	if err != nil {
		return "", "", err
	}
	return found.Best.Spec, seen.Best.Spec, nil
}

func elasticWeightNames() []string {
	var names []string
	for _, w := range elasticWeights {
		names = append(names, fmt.Sprintf("%g", w))
	}
	return names
}

// tally counts how often each was chosen.
func tally(chosen []int, names []string) string {
	var parts []string
	for i, name := range names {
		n := 0
		for _, c := range chosen {
			if c == i {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s by %d", name, n))
		}
	}
	return strings.Join(parts, ", ")
}
