package papers

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/lab/study"
)

// Studies of Elastic-DQN's settings, one command each.
func Studies() []Experiment {
	return []Experiment{
		{"gamma", "discount 0.90 to 0.98: steps to convergence and return (its Fig. 2); about a minute", studyGamma},
		{"learning-rate", "learning rate 1e-4 to 1e-2: steps to convergence and return (its Fig. 3); about a minute", studyRate},
		{"sampling", "a decision every 1, 2, 5, 10, 20 s: response time (its Fig. 4); about 2 minutes", studySampling},
		{"loss", "the loss over 200 epochs (its Fig. 5); under a minute", studyLoss},
		{"data-size", "3 hours to 12 days of trace to learn from: response time and cost on unseen load; about a minute", studyDataSize},
	}
}

const (
	studySteps  = 12_000
	studyApp    = "bookinfo"
	studyPeak   = 500.0 // requests/s
	studyLength = time.Hour
	// studyPlaces is the number of evaluations of a learning curve.
	studyPlaces = 40
)

// Convergence defines the term for the studies.
const Convergence = "Converged: the first evaluation (greedy, 10 episodes of 60 steps, every fortieth of the training), smoothed by " +
	"the median of three, that has made nine tenths of the way from the mean return of networks before any update to the run's final " +
	"level, the mean of its last quarter. Steps are steps in the environment, the first eighth of which only fills the replay; the " +
	"paper does not say what its steps are, so where the best is counts, not the figures."

// studyTask is Elastic-DQN's problem on an application under the cluster trace.
func studyTask(o Options, steps int) (rl.Task, string, error) {
	trace, whence, err := o.trace()
	if err != nil {
		return rl.Task{}, "", err
	}
	setup, err := newElasticSetup(studyApp, studyPeak, trace, studyLength)
	if err != nil {
		return rl.Task{}, "", err
	}
	problem, err := formulation.NewProblem("elastic-dqn", 0, map[string]float64{"cost": studyWeight})
	if err != nil {
		return rl.Task{}, "", err
	}
	s := learning{problem: problem, scenarios: setup.places, service: formulation.Every, steps: steps, episode: 60, seed: o.Seed}
	first, err := s.scaled()
	if err != nil {
		return rl.Task{}, "", err
	}
	return rl.Task{
		Name: "elastic-dqn on " + studyApp, Step: problem.Period, Steps: steps, Solved: math.NaN(),
		New: func() (rl.Env, error) {
			where, err := s.scaled()
			if err != nil {
				return nil, err
			}
			return &train.ScaledEnv{Env: where.Env, Scales: first.Scales}, nil // the same scales for every run
		},
	}, whence, nil
}

// studyWeight is the weight of the cost, close to what the tuned agents of the paper's table
// choose.
const studyWeight = 0.3

// grid runs one setting of the agent over values.
func grid(ctx context.Context, o Options, steps, places int, key string, values []string) (*study.Report, string, error) {
	task, whence, err := studyTask(o, steps)
	if err != nil {
		return nil, "", err
	}
	spec := study.Spec{
		Task: task, Seeds: o.Seeds, Seed: o.Seed, Parallel: o.Workers,
		Agent: fmt.Sprintf("dqn:hidden=64x64,double=false,discount=0.94,soft=0.01,rate=0.001,warm-up=%d,explore=linear:1:0.02:%d",
			max(64, steps/8), steps/2),
		Training: rl.TrainingConfig{
			Steps: steps, EvaluateEvery: max(1, steps/places), Episodes: 10,
		},
	}
	if key != "" {
		spec.Vary = []study.Axis{{Key: key, Values: values}}
	}
	if o.Progress != nil {
		spec.Progress = func(p study.Progress) { o.Progress(p.Share) }
	}
	r, err := study.Run(ctx, spec)
	return r, whence, err
}

func studyReport(o Options, name, title, whence string, steps int, more ...string) *Report {
	return &Report{Name: name, Title: title, Seeds: o.Seeds, Setup: append([]string{
		whence,
		fmt.Sprintf("elastic-dqn in the fluid engine on the services of %s at a peak of %g requests/s, 30 s a step, l2 = %g, %d "+
			"steps of training a run.", studyApp, studyPeak, studyWeight, steps),
	}, more...)}
}

// convergence of each cell's runs: steps, and the final return. All runs of a study have the
// same start: the mean return of networks before any update.
func convergence(r *study.Report) [][]bench.Interval {
	var untrained []float64
	for _, c := range r.Cells {
		for _, o := range c.Outcomes {
			if len(o.Curve) > 0 {
				untrained = append(untrained, float64(o.Curve[0].Evaluation))
			}
		}
	}
	start := mean(untrained)
	var all [][]bench.Interval
	for _, c := range r.Cells {
		var values [][]float64
		for _, o := range c.Outcomes {
			var steps, evaluations []float64
			for _, p := range o.Curve {
				steps, evaluations = append(steps, float64(p.Steps)), append(evaluations, float64(p.Evaluation))
			}
			final := math.NaN()
			if n := len(evaluations); n >= 4 {
				final = mean(evaluations[n-n/4:])
			}
			values = append(values, []float64{ConvergedAfter(steps, evaluations, start), final})
		}
		all = append(all, intervals(values))
	}
	return all
}

var convergenceMeasures = []Measure{{"steps to convergence", 0}, {"final return", 2}}

// bestRow by a measure: the row with the lowest or highest mean, and whether its interval is
// apart from all others'.
func bestRow(rows []Row, measure int, lowest bool) (best int, apart bool) {
	for i := range rows {
		a, b := float64(rows[i].Ours[measure].Mean), float64(rows[best].Ours[measure].Mean)
		if math.IsNaN(b) || lowest && a < b || !lowest && a > b {
			best = i
		}
	}
	apart = true
	for i := range rows {
		if i == best {
			continue
		}
		x, y := rows[best].Ours[measure], rows[i].Ours[measure]
		if lowest && below(x, y) != Holds || !lowest && below(y, x) != Holds {
			apart = false
		}
	}
	return best, apart
}

// optimum tests whether the best value is the paper's.
func (r *Report) optimum(claim string, rows []Row, measure int, lowest bool, want string) {
	i, apart := bestRow(rows, measure, lowest)
	v := Not
	switch {
	case !apart:
		v = Undecided
	case rows[i].Name == want:
		v = Holds
	}
	because := fmt.Sprintf("The best mean here is at %s (%s).", rows[i].Name, spread(rows[i].Ours[measure], 2))
	if !apart {
		because += " Intervals overlap: other values do not differ significantly."
	}
	r.find(claim, v, because)
}

func studyGamma(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	steps := o.steps(studySteps)
	g, whence, err := grid(ctx, o, steps, studyPlaces, "discount", []string{"0.90", "0.92", "0.94", "0.96", "0.98"})
	if err != nil {
		return nil, err
	}
	r := studyReport(o, "gamma", "Elastic-DQN, Fig. 2: the discount", whence, steps, Convergence,
		"Returns are not discounted, so that they can be compared. The paper gives no figures, only that 0.94 converges in the "+
			"fewest steps and has the highest return.")
	t := Table{Name: "Discount", Of: "gamma", Measures: convergenceMeasures}
	converged := convergence(g)
	for i, c := range g.Cells {
		t.Rows = append(t.Rows, Row{Name: c.Values(), Ours: converged[i]})
	}
	r.Tables = []Table{t}
	r.optimum("Training converges in the fewest steps at a discount of 0.94.", t.Rows, 0, true, "0.94")
	r.optimum("The return is highest at 0.94.", t.Rows, 1, false, "0.94")
	return r, nil
}

func studyRate(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	steps := o.steps(studySteps)
	g, whence, err := grid(ctx, o, steps, studyPlaces, "rate", []string{"0.0001", "0.0005", "0.001", "0.005", "0.01"})
	if err != nil {
		return nil, err
	}
	r := studyReport(o, "learning-rate", "Elastic-DQN, Fig. 3: the learning rate", whence, steps, Convergence)
	t := Table{Name: "Learning rate", Of: "rate", Measures: convergenceMeasures}
	papers := map[string]float64{"0.0001": 460, "0.001": 320}
	converged := convergence(g)
	for i, c := range g.Cells {
		row := Row{Name: c.Values(), Ours: converged[i]}
		if p, known := papers[row.Name]; known {
			row.Paper = numbers(p)
		}
		t.Rows = append(t.Rows, row)
	}
	r.Tables = []Table{t}
	r.optimum("Training converges in the fewest steps at a rate of 1e-3.", t.Rows, 0, true, "0.001")
	slow, best := t.Rows[0].Ours[0], t.Rows[2].Ours[0]
	r.find("From 1e-4 to 1e-3 the steps fall by 30 % (460 to 320).", below(best, slow),
		fmt.Sprintf("From %s to %s here.", spread(slow, 0), spread(best, 0)))
	high := t.Rows[4].Ours
	r.find("Beyond 1e-3 the return drops significantly.", below(high[1], t.Rows[2].Ours[1]),
		fmt.Sprintf("%s at 1e-2 against %s at 1e-3.", spread(high[1], 2), spread(t.Rows[2].Ours[1], 2)))
	return r, nil
}

// epochs of the loss study.
const epochs = 200

var shownEpochs = []int{1, 10, 25, 50, 75, 100, 150, 200}

func studyLoss(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	steps := o.steps(2 * studySteps)
	g, whence, err := grid(ctx, o, steps, epochs, "", nil)
	if err != nil {
		return nil, err
	}
	r := studyReport(o, "loss", "Elastic-DQN, Fig. 5: the loss", whence, steps,
		"An epoch is a 200th of the training; the loss is the Huber error of the Bellman targets, mean over the epoch. The paper "+
			"shows a curve without figures.")
	t := Table{Name: "Loss", Of: "epoch", Measures: []Measure{{"loss", 4}, {"return", 2}}}
	losses := make([][]float64, 0, o.Seeds)
	for _, out := range g.Cells[0].Outcomes {
		losses = append(losses, lossByEpoch(out, steps))
	}
	returns := make([][]float64, 0, o.Seeds)
	for _, out := range g.Cells[0].Outcomes {
		var curve []float64
		for e := range epochs {
			curve = append(curve, float64(pointAt(out, float64(e+1)/epochs*float64(steps)).Evaluation))
		}
		returns = append(returns, curve)
	}
	for _, e := range shownEpochs {
		values := make([][]float64, len(losses))
		for s := range values {
			values[s] = []float64{losses[s][e-1], returns[s][e-1]}
		}
		t.Rows = append(t.Rows, Row{Name: strconv.Itoa(e), Ours: intervals(values)})
	}
	t.Note = "Loss by epoch, on a logarithmic scale: " + sketch(losses, 50)
	r.Tables = []Table{t}
	var early, late, peak []float64
	for _, l := range losses {
		top, at := 0.0, 0
		for e, v := range l {
			if v > top {
				top, at = v, e
			}
		}
		bottom := mean(l[150:])
		early = append(early, (top-mean(l[45:55]))/(top-bottom))
		late = append(late, mean(l[175:])/mean(l[150:175]))
		peak = append(peak, float64(at+1))
	}
	e := bench.IntervalOf(early)
	v := Partly
	switch {
	case e.Low > 0.5 && mean(peak) < 50:
		v = Holds
	case e.High < 0.5:
		v = Not
	}
	r.find("The loss falls most within the first 50 epochs.", v,
		fmt.Sprintf("By epoch 50 it has made %s of its way from its highest value (at epoch %.0f on the mean) to its level after "+
			"150. The first %d epochs only fill the replay and have no loss.", spread(e, 2), mean(peak), epochs/8))
	l := bench.IntervalOf(late)
	v = Not
	if l.Low <= 1.1 && l.High >= 0.9 && l.High < 1.25 {
		v = Holds
	}
	r.find("It is stable from epoch 150 on.", v, fmt.Sprintf("The last 25 epochs have %s times the loss of the 25 before.", spread(l, 2)))
	return r, nil
}

// sketch draws the mean of several curves in the given number of letters, on a logarithmic
// scale; unknown values are blank.
func sketch(curves [][]float64, width int) string {
	letters := []rune("▁▂▃▄▅▆▇█")
	line := make([]float64, width)
	low, high := math.Inf(1), math.Inf(-1)
	for i := range line {
		var some []float64
		for _, c := range curves {
			some = append(some, c[i*len(c)/width:(i+1)*len(c)/width]...)
		}
		line[i] = math.Log(mean(some))
		if !math.IsNaN(line[i]) && !math.IsInf(line[i], 0) {
			low, high = min(low, line[i]), max(high, line[i])
		}
	}
	out := make([]rune, width)
	for i, v := range line {
		out[i] = ' '
		if v >= low && v <= high {
			out[i] = letters[min(int((v-low)/max(high-low, 1e-9)*float64(len(letters))), len(letters)-1)]
		}
	}
	return string(out)
}

// pointAt is a run's first point at or after a step.
func pointAt(o *study.Outcome, at float64) study.Point {
	for _, p := range o.Curve {
		if float64(p.Steps) >= at-0.5 {
			return p
		}
	}
	return o.Curve[len(o.Curve)-1]
}

func lossByEpoch(o *study.Outcome, steps int) []float64 {
	out := make([]float64, epochs)
	for e := range out {
		out[e] = float64(pointAt(o, float64(e+1)/epochs*float64(steps)).Loss)
	}
	return out
}

// newStudySetup is the set-up of the studies that are judged in the event engine, and a
// sentence on where its load comes from.
func newStudySetup(o Options) (setup *elasticSetup, whence string, err error) {
	if err := o.Validate(); err != nil {
		return nil, "", err
	}
	trace, whence, err := o.trace()
	if err != nil {
		return nil, "", err
	}
	setup, err = newElasticSetup(studyApp, studyPeak, trace, o.length(studyLength))
	return setup, whence, err
}

// studySampling trains with different periods, windows to match, and judges in the
// event engine.
func studySampling(ctx context.Context, o Options) (*Report, error) {
	setup, whence, err := newStudySetup(o)
	if err != nil {
		return nil, err
	}
	steps, length := o.steps(studySteps), o.length(studyLength)
	periods := []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second}
	n := len(periods)
	values, err := setup.compare(ctx, o, "sampling", 2*n, func(i int) (learning, error) {
		period, agent := periods[i%n], elasticAgent()
		if i >= n { // the same horizon in seconds as 0.94 at 20 s
			agent.Discount = math.Pow(0.94, period.Seconds()/20)
		}
		p, err := formulation.NewProblem("elastic-dqn", period, map[string]float64{"cost": studyWeight})
		if err == nil {
			p.Window = max(5*time.Second, period)
		}
		return learning{problem: p, scenarios: setup.places, agent: agent}, err
	}, steps)
	if err != nil {
		return nil, err
	}
	r := studyReport(o, "sampling", "Elastic-DQN, Fig. 4: the sampling interval", whence, steps,
		fmt.Sprintf("The interval is the time between decisions; metrics are scraped as often and averaged over it, or over 5 s if "+
			"it is shorter. Evaluated in the event engine over %v of held-out load.", length),
		"The paper's latencies are normalised by something that it does not name: its and ours are shown over those at 1 s. Its "+
			"value at 10 s is not printed.")
	papers := []float64{0.51, 0.54, 0.61, math.NaN(), 0.74}
	for half, name := range []string{"Sampling interval, discount 0.94 a step",
		"Sampling interval, the same discount a second (0.94 in 20 s)"} {
		t := Table{Name: name, Of: "interval", Measures: []Measure{{"latency over that at 1 s", 2}, {"mean response ms", 1},
			{"QoS violations %", 2}, {"core-hours", 2}, {"changes", 0}}}
		for i, p := range periods {
			own := make([][]float64, o.Seeds)
			for s := range own {
				m := values[half*n+i][s]
				own[s] = []float64{m[0] / values[half*n][s][0], m[0], m[2], m[1], m[4]}
			}
			row := Row{Name: p.String(), Ours: intervals(own)}
			if half == 0 {
				row.Paper = []result.Number{rounded(result.Number(papers[i]/papers[0]), 2)}
			}
			t.Rows = append(t.Rows, row)
		}
		last := t.Rows[n-1].Ours
		v := Undecided
		switch {
		case last[0].Low > 1 && last[0].High >= 1.45:
			v = Holds
		case last[0].Low > 1:
			v = Partly
		case last[0].High < 1:
			v = Not
		}
		r.Tables = append(r.Tables, t)
		r.find("Latency grows with the sampling interval, by 45 % from 1 s to 20 s; "+
			strings.ToLower(name[len("Sampling interval, "):])+".", v, fmt.Sprintf(
			"At 20 s it is %s times that at 1 s (%s ms against %s ms), with %s against %s changes and %s against %s core-hours.",
			spread(last[0], 2), spread(last[1], 0), spread(t.Rows[0].Ours[1], 0), spread(last[4], 0), spread(t.Rows[0].Ours[4],
				0), spread(last[3], 2), spread(t.Rows[0].Ours[3], 2)))
	}
	return r, nil
}

// compare trains one model for each variant and seed and evaluates it on the held-out part:
// variant, seed, measures.
func (s *elasticSetup) compare(ctx context.Context, o Options, study string, variants int, of func(i int) (learning, error),
	steps int) ([][][]float64, error) {
	return o.bySeed(ctx, "study "+study, variants, func(i int, seed uint64) ([]float64, error) {
		one, err := of(i)
		if err != nil {
			return nil, err
		}
		one.service, one.steps, one.episode, one.seed = formulation.Every, steps, 120, seed
		network, err := one.learn(ctx)
		if err != nil {
			return nil, err
		}
		m := &formulation.Model{Problem: one.problem, Networks: []formulation.Network{network}}
		out, err := trial{app: s.app, load: s.test, policy: "elastic-dqn", model: m, seed: seed,
			warmUp: min(elasticWarmUp, s.test.Duration()/4)}.run(ctx)
		if err != nil {
			return nil, err
		}
		return elasticMeasures(&out.Result), nil
	})
}

func studyDataSize(ctx context.Context, o Options) (*Report, error) {
	setup, whence, err := newStudySetup(o)
	if err != nil {
		return nil, err
	}
	steps, length := o.steps(studySteps), o.length(studyLength)
	var sizes []time.Duration
	for _, size := range []time.Duration{3 * time.Hour, 12 * time.Hour, 24 * time.Hour, 72 * time.Hour} {
		if size < setup.train.Duration() {
			sizes = append(sizes, size)
		}
	}
	sizes = append(sizes, setup.train.Duration())
	places := make([][]train.ServiceScenario, len(sizes))
	for i, size := range sizes {
		part, err := setup.train.Slice(0, size)
		if err != nil {
			return nil, err
		}
		one := *setup
		if err := one.learnOn(part); err != nil {
			return nil, err
		}
		places[i] = one.places
	}
	values, err := setup.compare(ctx, o, "data-size", len(sizes), func(i int) (learning, error) {
		p, err := formulation.NewProblem("elastic-dqn", 0, map[string]float64{"cost": studyWeight})
		return learning{problem: p, scenarios: places[i], agent: elasticAgent()}, err
	}, steps)
	if err != nil {
		return nil, err
	}
	r := studyReport(o, "data-size", "Elastic-DQN: the size of the training data", whence, steps,
		fmt.Sprintf("Every run trains for as many steps, on the first so many hours of the trace; evaluated in the event engine over "+
			"%v of held-out load. The paper names the test and prints no result.", length))
	t := Table{Name: "Training data", Of: "hours of trace", Measures: []Measure{{"mean response ms", 1}, {"QoS violations %", 2},
		{"core-hours", 2}}}
	for i, size := range sizes {
		own := make([][]float64, o.Seeds)
		for s := range own {
			own[s] = []float64{values[i][s][0], values[i][s][2], values[i][s][1]}
		}
		t.Rows = append(t.Rows, Row{Name: fmt.Sprintf("%.0f", size.Hours()), Paper: none(1), Ours: intervals(own)})
	}
	r.Tables = []Table{t}
	first, last := t.Rows[0].Ours, t.Rows[len(t.Rows)-1].Ours
	r.find("With more training data fewer requests are over the SLO.", below(last[1], first[1]), fmt.Sprintf(
		"%s %% with %s hours, %s %% with %s hours. The paper says only that its method adapts to different sizes.", spread(first[1],
			2), t.Rows[0].Name, spread(last[1], 2), t.Rows[len(t.Rows)-1].Name))
	return r, nil
}
