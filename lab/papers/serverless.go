package papers

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/internal/workload"
)

const (
	functionSteps  = 2_000       // of each function's network
	settleLength   = 10 * minute // sixty steps of 10 s
	takeOverLength = 40 * minute
	pastLength     = 2 * time.Hour
	functionKPA    = "kpa:target=1" // the best of 1 to 5, tried by hand: here it alternates between panic mode and too few replicas
	functionUsual  = "hpa"          // the steadier of the two, and so the better one to learn from
	waves          = "diurnal:low=0.3,high=1,period=20m,peak=8m+noise:cv=0.05,corr=1m"
)

// someFunctions are a few functions of different sizes and cold starts; all nine would only
// take longer.
var someFunctions = []string{"adservice", "checkoutservice", "currencyservice"}

// Serverless runs the serverless paper's experiment, and the three problems that it leaves
// open.
func Serverless(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	steps := o.steps(functionSteps)
	r := &Report{
		Name: "serverless", Title: "Serverless: vertical and horizontal agents for functions", Seeds: o.Seeds,
		Setup: []string{
			"The nine functions of the online shop on Knative, scale to zero and cold starts included; state, 10 s steps and p90 " +
				"objective are the paper's, one DQN agent for each function. The event engine throughout; agents that are " +
				"pre-trained are so in the fluid engine.",
			fmt.Sprintf("Every network that is trained beforehand has %d steps. Reward: -1 if p90 is over the objective, else 1 - "+
				"(p90/objective)^0.4, less the CPU held over the most that is allowed (the published code has no such term: weight 0).",
				steps),
			"Settled: from there on nine of ten steps are within tolerance of the median of the last third: the setting within one " +
				"move (a quarter of the CPU, one container), p90 within half of its level, the reward within 0.1. A run has 60 steps.",
		},
	}
	settle, err := settling(ctx, o.part(0, 0.6), steps)
	if err != nil {
		return nil, err
	}
	boot, err := bootstrapping(ctx, o.part(0.6, 0.8), steps)
	if err != nil {
		return nil, err
	}
	come, err := comingAndGoing(ctx, o.part(0.8, 0.9), steps)
	if err != nil {
		return nil, err
	}
	chain, err := chains(ctx, o.part(0.9, 1), steps)
	if err != nil {
		return nil, err
	}
	r.Tables = []Table{settle, boot, come, chain}
	serverlessFindings(r)
	return r, nil
}

// settleArm is one way to scale the functions.
type settleArm struct {
	name     string
	vertical bool
	restarts bool
	weight   float64 // of the CPU in the reward
	scratch  bool    // learns live, from scratch; else trained beforehand
	paper    bool    // as in the paper
}

var settleArms = []settleArm{
	{name: "vertical, restart on resize", vertical: true, restarts: true, weight: 1, paper: true},
	{name: "vertical, resize in place", vertical: true, weight: 1},
	{name: "vertical, restart, no CPU term", vertical: true, restarts: true},
	{name: "vertical, in place, no CPU term", vertical: true},
	{name: "vertical, restart, learns live from nothing", vertical: true, restarts: true, weight: 1, scratch: true},
	{name: "horizontal", weight: 1},
	{name: "horizontal, no CPU term"},
	{name: "horizontal, learns live from nothing", weight: 1, scratch: true},
}

// settling measures after how many steps actions, p90 and reward settle.
func settling(ctx context.Context, o Options, steps int) (Table, error) {
	t := Table{
		Name: "When things settle, in steps of 10 s (median over nine functions)", Of: "agent",
		Measures: []Measure{{"action", 0}, {"p90", 0}, {"reward", 0}, {"CPU or containers at the end, share of the most", 2},
			{"p90 over objective at the end", 2}, {"mean reward of the last third", 2}},
		Note: "The load is constant and keeps 0.15 (vertical) or 0.4 cores (horizontal) of each function busy; vertical begins with " +
			"a limit of 0.1 cores, so that it is overloaded, horizontal with one container.",
	}
	values, err := o.bySeed(ctx, "serverless settle", len(settleArms), func(i int, seed uint64) ([]float64, error) {
		return settleArms[i].run(ctx, o, steps, seed)
	})
	for i, a := range settleArms {
		row := Row{Name: a.name}
		if err == nil {
			row.Ours = intervals(values[i])
		}
		if a.paper {
			row.Paper = numbers(10, 20, 20)
		}
		t.Rows = append(t.Rows, row)
	}
	return t, err
}

func (a settleArm) run(ctx context.Context, o Options, steps int, seed uint64) ([]float64, error) {
	var names []string
	if o.few {
		names = someFunctions[:1]
	}
	length := o.length(settleLength)
	setup, err := newFunctionSetup(a.vertical, a.weight, names...)
	if err != nil {
		return nil, err
	}
	cores := 0.15
	if !a.vertical {
		cores = 0.4
	}
	training, test, err := setup.settleLoads(cores, length)
	if err != nil {
		return nil, err
	}
	var model *formulation.Model
	config := scratch()
	if !a.scratch {
		if model, err = setup.train(ctx, training, steps, seed, a.restarts); err != nil {
			return nil, err
		}
		config = ready()
	}
	online, err := setup.learners(training, config, model, !a.scratch, seed)
	if err != nil {
		return nil, err
	}
	if _, err := (trial{app: setup.app, load: test, policy: a.name, decider: online, seed: seed,
		restarts: a.restarts}).run(ctx); err != nil {
		return nil, err
	}
	var each [6][]float64
	for _, k := range setup.kinds {
		i := setup.service(k)
		for m, v := range a.measure(online.agents[i].trail, setup.app.Services[i].Bounds.MaxCPU,
			float64(setup.app.Services[i].Bounds.MaxReplicas)) {
			each[m] = append(each[m], v)
		}
	}
	out := make([]float64, len(each))
	for m := range each {
		out[m] = median(each[m])
	}
	return out, nil
}

// settleLoads are a varying load to train on and a constant one to settle under.
func (s *functionSetup) settleLoads(cores float64, length time.Duration) (training, test *workload.Workload, err error) {
	shape, err := shapeOf("diurnal:low=0.4,high=1.6,period=1h,peak=20m+noise:cv=0.1,corr=2m", 4*time.Hour, 7)
	if err != nil {
		return nil, nil, err
	}
	if training, err = s.load("practice", cores, shape, nil); err != nil {
		return nil, nil, err
	}
	if shape, err = shapeOf("constant:rps=1", length, 1); err != nil {
		return nil, nil, err
	}
	test, err = s.load("constant", cores, shape, nil)
	return training, test, err
}

// measure one function's trail.
func (a settleArm) measure(trail []mark, maxCPU, maxReplicas float64) []float64 {
	action, moved := field(trail, func(m mark) float64 { return m.cpu / maxCPU }), Ratio(0.26)
	if !a.vertical {
		action, moved = field(trail, func(m mark) float64 { return m.replicas / maxReplicas }), Apart(1.01/maxReplicas)
	}
	late, reward := field(trail, func(m mark) float64 { return m.late }), field(trail, func(m mark) float64 { return m.reward })
	end := len(trail) - len(trail)/3
	return []float64{
		float64(SettlesAfter(action, moved)), float64(SettlesAfter(late, Ratio(0.5))), float64(SettlesAfter(reward, Apart(0.1))),
		median(action[end:]), median(late[end:]), mean(reward[end:]),
	}
}

// fill the table with a row for each variant: the intervals over the seeds of what run
// measures.
func (t *Table) fill(ctx context.Context, o Options, variants []string, run func(i int, seed uint64) ([]float64, error)) error {
	values, err := o.bySeed(ctx, fmt.Sprint(t.Name, t.Of, variants), len(variants), run)
	if err != nil {
		return err
	}
	for i, name := range variants {
		t.Rows = append(t.Rows, Row{Name: name, Ours: intervals(values[i])})
	}
	return nil
}

// bootstrapping compares the first minutes of agents after they take over.
func bootstrapping(ctx context.Context, o Options, steps int) (Table, error) {
	arms := []string{functionUsual + " stays", "agents from nothing", "agents that learned off-line from " + functionUsual,
		"agents pre-trained in the fluid engine", functionKPA}
	length := o.length(takeOverLength)
	t := Table{
		Name: "Bootstrapping: taking over from the default autoscaler, horizontal", Of: "from then on",
		Measures: []Measure{{"reward, first 10 min", 3}, {"reward, first 20 min", 3}, {"reward after", 3},
			{"requests over objective %", 2}, {"core-hours", 2}},
		Note: fmt.Sprintf("%v of %s on adservice, checkoutservice and currencyservice under waves of 20 min is the past; then %v, in "+
			"which agents go on learning. Exploration: the published code's from nothing, 2 %% otherwise. The reward is taken from "+
			"what users saw, alike for all.", functionPast(length), functionUsual, length),
	}
	err := t.fill(ctx, o, arms, func(i int, seed uint64) ([]float64, error) { return takeOver(ctx, i, steps, length, seed) })
	return t, err
}

// functionPast is the length of the history: shorter for a shorter experiment.
func functionPast(length time.Duration) time.Duration { return min(pastLength, 6*length) }

func takeOver(ctx context.Context, arm, steps int, length time.Duration, seed uint64) ([]float64, error) {
	setup, err := newFunctionSetup(false, 1, someFunctions...)
	if err != nil {
		return nil, err
	}
	before := functionPast(length)
	shape, err := shapeOf(waves, before+length, seed)
	if err != nil {
		return nil, err
	}
	all, err := setup.load("waves", 0.6, shape, nil)
	if err != nil {
		return nil, err
	}
	past, err := all.Slice(0, before)
	if err != nil {
		return nil, err
	}
	test, err := all.Slice(before, before+length)
	if err != nil {
		return nil, err
	}
	for _, k := range setup.kinds {
		setup.app.Services[setup.service(k)].Replicas = 3
	}
	t := trial{app: setup.app, load: test, policy: functionUsual, seed: seed}
	switch arm {
	case 0:
	case 4:
		t.policy = functionKPA
	default:
		config, model := ready(), (*formulation.Model)(nil)
		switch arm {
		case 1:
			config = scratch()
		case 3:
			if model, err = setup.train(ctx, past, steps, seed, false); err != nil {
				return nil, err
			}
		}
		online, err := setup.learners(past, config, model, false, seed)
		if err != nil {
			return nil, err
		}
		if arm == 2 {
			h, err := setup.record(ctx, past, functionUsual, 1000+seed)
			if err != nil {
				return nil, err
			}
			if err := setup.bootstrap(online, h, past, 8); err != nil {
				return nil, err
			}
		}
		t.decider, t.policy = online, "novice"
	}
	out, err := t.run(ctx)
	if err != nil {
		return nil, err
	}
	sums := make([]float64, 3)
	for _, k := range setup.kinds {
		rewards := setup.rewards(out, k)
		n := float64(len(setup.kinds))
		first := min(20*minute, length/2)
		sums[0] += between(out, rewards, 0, first/2) / n
		sums[1] += between(out, rewards, 0, first) / n
		sums[2] += between(out, rewards, first, length) / n
	}
	return append(sums, 100*float64(out.Result.OverSLORatio), float64(out.Result.CoreHours)), nil
}

// comingAndGoing adds a third function in the middle of a run.
func comingAndGoing(ctx context.Context, o Options, steps int) (Table, error) {
	length := o.length(takeOverLength)
	arms := []string{"its agent begins from nothing", "its agent is pre-trained in the fluid engine"}
	t := Table{
		Name: "A function comes: currencyservice joins adservice and checkoutservice", Of: "the newcomer",
		Measures: []Measure{{"others' reward before", 3}, {"others' reward after", 3}, {"newcomer's reward, first 5 min", 3},
			{"newcomer's reward after", 3}, {"newcomer settles after steps", 0}},
		Note: "It is at zero containers until its first request, halfway through the run. One agent for each function: nine have 27 " +
			"values to learn between them, where the paper's joint action would have 3^9 = 19,683.",
	}
	err := t.fill(ctx, o, arms, func(i int, seed uint64) ([]float64, error) { return newcomer(ctx, i == 1, steps, length, seed) })
	return t, err
}

func newcomer(ctx context.Context, practised bool, steps int, length time.Duration, seed uint64) ([]float64, error) {
	setup, err := newFunctionSetup(false, 1, someFunctions...)
	if err != nil {
		return nil, err
	}
	shape, err := shapeOf("constant:rps=0.7+noise:cv=0.1,corr=1m", length, seed)
	if err != nil {
		return nil, err
	}
	past, err := shapeOf(waves, functionPast(length), seed)
	if err != nil {
		return nil, err
	}
	training, err := setup.load("waves", 0.6, past, nil)
	if err != nil {
		return nil, err
	}
	half := (length / 2).Truncate(time.Minute)
	last := setup.kinds[len(setup.kinds)-1]
	load, err := setup.load("a function comes", 0.6, shape, func(kind int, at time.Duration) bool { return kind != last || at >= half })
	if err != nil {
		return nil, err
	}
	model, err := setup.train(ctx, training, steps, seed, false)
	if err != nil {
		return nil, err
	}
	online, err := setup.learners(training, ready(), model, false, seed)
	if err != nil {
		return nil, err
	}
	if !practised {
		fresh, err := setup.learners(training, scratch(), nil, false, seed)
		if err != nil {
			return nil, err
		}
		online.agents[setup.service(last)] = fresh.agents[setup.service(last)]
	}
	online.agents[setup.service(last)].begin = sim.Time(half)
	for _, k := range setup.kinds {
		setup.app.Services[setup.service(k)].Replicas = 3
	}
	setup.app.Services[setup.service(last)].Replicas = 0
	out, err := trial{app: setup.app, load: load, policy: "novice", decider: online, seed: seed}.run(ctx)
	if err != nil {
		return nil, err
	}
	before, after := 0.0, 0.0
	others := setup.kinds[:len(setup.kinds)-1]
	for _, k := range others {
		rewards := setup.rewards(out, k)
		before += between(out, rewards, half/2, half) / float64(len(others))
		after += between(out, rewards, half, half+half/2) / float64(len(others))
	}
	rewards := setup.rewards(out, last)
	first := min(5*minute, half/2)
	trail := online.agents[setup.service(last)].trail
	settled := SettlesAfter(field(trail, func(m mark) float64 { return m.reward }), Apart(0.1))
	return []float64{before, after, between(out, rewards, half, half+first), between(out, rewards, half+first, length),
		float64(settled)}, nil
}

// chains runs agents that were trained function by function on a chain of functions.
func chains(ctx context.Context, o Options, steps int) (Table, error) {
	length := o.length(takeOverLength)
	arms := []string{"hpa", "kpa:target=1", "agents, each trained alone on its part of the objective"}
	t := Table{
		Name: "Chains: video analytics, streaming to decoder to six recognitions", Of: "scaled by",
		Measures: []Measure{{"fragments over 2 s %", 2}, {"p90 ms", 0}, {"core-hours", 2}, {"containers", 1}},
		Note: fmt.Sprintf("Waves of 2 to 6 fragments a second, %v. The end-to-end objective is divided among the functions by "+
			"the time that each takes when nothing waits; calls to others count as waiting while an agent learns.", length),
	}
	err := t.fill(ctx, o, arms, func(i int, seed uint64) ([]float64, error) {
		return chain(ctx, arms[i], i == 2, steps, length, seed)
	})
	return t, err
}

func chain(ctx context.Context, policy string, learn bool, steps int, length time.Duration, seed uint64) ([]float64, error) {
	app, err := appNamed("video")
	if err != nil {
		return nil, err
	}
	for i := range app.Services {
		s := &app.Services[i]
		s.Size.CPURequest = s.Size.CPULimit
		s.Bounds.MinCPU, s.Bounds.MaxCPU = s.Size.CPULimit, s.Size.CPULimit
		s.Bounds.MaxReplicas, s.Replicas = 10, 3
	}
	const spec = "diurnal:low=2,high=6,period=20m,peak=8m+noise:cv=0.05,corr=1m"
	load, err := shapeOf(spec, length, seed)
	if err != nil {
		return nil, err
	}
	t := trial{app: app, load: load, policy: policy, seed: seed, warmUp: min(2*minute, length/4)}
	if learn {
		past, err := shapeOf(spec, functionPast(length), 1000+seed)
		if err != nil {
			return nil, err
		}
		rates, err := past.For(app)
		if err != nil {
			return nil, err
		}
		problem, err := formulation.NewProblem("serverless-horizontal", 0, map[string]float64{"cpu": 1})
		if err != nil {
			return nil, err
		}
		t.model, err = learning{
			problem: problem, scenarios: train.ServiceScenarios(formulation.NewTopology(app), rates,
				past.Duration()), agent: serverlessAgent(), steps: steps, episode: 60, seed: seed,
		}.learnEach(ctx)
		if err != nil {
			return nil, err
		}
	}
	out, err := t.run(ctx)
	if err != nil {
		return nil, err
	}
	return []float64{100 * float64(out.Result.OverSLORatio), float64(out.Result.Kinds[0].AtSLO), float64(out.Result.CoreHours),
		float64(out.Result.MeanReplicas)}, nil
}

func serverlessFindings(r *Report) {
	settle, boot, come, chain := r.Tables[0].Rows, r.Tables[1].Rows, r.Tables[2].Rows, r.Tables[3].Rows
	restart, place := settle[0].Ours, settle[1].Ours
	around := func(i bench.Interval, low, high float64) Verdict {
		switch {
		case float64(i.High) < low || float64(i.Low) > high:
			return Not
		case float64(i.Mean) >= low && float64(i.Mean) <= high:
			return Holds
		}
		return Undecided
	}
	r.find("Vertical actions settle after about 10 steps.", around(restart[0], 5, 15),
		fmt.Sprintf("%s steps with a restart on resize, %s in place, for pre-trained agents; %s for one that learns live from "+
			"nothing, with the published exploration.", spread(restart[0], 0), spread(place[0], 0), spread(settle[4].Ours[0], 0)))
	twenty := around(restart[1], 15, 25)
	if other := around(restart[2], 15, 25); other != twenty {
		twenty = Partly
	}
	r.find("p90 and reward settle after about 20.", twenty,
		fmt.Sprintf("p90 after %s and the reward after %s steps with restarts. At the end p90 is %s times the objective with "+
			"restarts and %s in place: in an overload the reward is -1 however late requests are, so only the CPU term has a slope, "+
			"and it points down; where the backlog does not drain within the steps that an agent looks ahead, some cut the CPU to "+
			"its least and stay there, and some resize, and so restart, for ever.", spread(restart[1], 0), spread(restart[2],
			0), spread(restart[4], 2), spread(place[4], 2)))
	r.find("They settle later than the actions because a resize restarts the container.", lag(restart, place),
		fmt.Sprintf("p90 follows the actions by %.0f steps with restarts and by %.0f in place: queues have to drain and metrics look "+
			"back 30 s, restarts or not.", restart[1].Mean-restart[0].Mean, place[1].Mean-place[0].Mean))
	r.find("The CPU term is why the agent does not scale for ever.", below(restart[3], settle[2].Ours[3]),
		fmt.Sprintf("It ends at %s of the largest limit with the term and at %s without; containers at %s with and %s without.",
			spread(restart[3], 2), spread(settle[2].Ours[3], 2), spread(settle[5].Ours[3], 2), spread(settle[6].Ours[3], 2)))
	r.find("Open problem: an agent's beginning is bad; learning off-line from the default autoscaler mends it.",
		below(boot[1].Ours[1], boot[2].Ours[1]),
		fmt.Sprintf("Mean reward of the first 20 min: %s from nothing, %s after learning from %s, %s after pre-training in the fluid "+
			"engine, %s if the autoscaler stays.", spread(boot[1].Ours[1], 3), spread(boot[2].Ours[1],
			3), functionUsual, spread(boot[3].Ours[1], 3), spread(boot[0].Ours[1], 3)))
	before, after := come[0].Ours[0], come[0].Ours[1]
	v := Not
	if math.Abs(float64(before.Mean-after.Mean)) < 0.05 {
		v = Holds
	}
	r.find("Open problem: functions come and go; with one agent each the others are not disturbed.", v,
		fmt.Sprintf("The others' reward is %s before and %s after; the newcomer's in its first 5 min is %s from nothing and %s after "+
			"pre-training.", spread(before, 3), spread(after, 3), spread(come[0].Ours[2], 3), spread(come[1].Ours[2], 3)))
	v = Undecided
	switch agents := chain[2].Ours; {
	case agents[0].High <= 10:
		v = Holds
	case agents[0].Low > 10:
		v = Not
	}
	r.find("Open problem: chains; agents that know only their part of the objective keep the end-to-end one (at most 10 % of the "+
		"fragments over it).", v,
		fmt.Sprintf("%s %% over for %s core-hours; KPA %s %% for %s, HPA %s %% for %s.", spread(chain[2].Ours[0], 2),
			spread(chain[2].Ours[2], 2), spread(chain[1].Ours[0], 2), spread(chain[1].Ours[2], 2), spread(chain[0].Ours[0],
				2), spread(chain[0].Ours[2], 2)))
}

// lag tests whether results follow actions later because of restarts: it holds if they do with
// restarts and not without, and in part if they do in both cases but more with restarts.
func lag(restart, place []bench.Interval) Verdict {
	with, without := restart[1].Mean-restart[0].Mean, place[1].Mean-place[0].Mean
	switch {
	case with > 1 && without <= 1:
		return Holds
	case with > without && with > 1:
		return Partly
	}
	return Not
}
