package trainer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/lab/rivals"
)

// Hooks report on a training. They may be nil.
type Hooks struct {
	Progress func(share float64, what string)
	Point    func(Point)
}

// Random streams, apart from those of the agents and of exploration.
const (
	evaluationStream = 2 << 32
	finalStream      = 3 << 32
	pastStream       = 4 << 32
	labelStream      = 5 << 32
	svmStream        = 6 << 32
	randomStream     = 7 << 32
)

// trainer trains one rival: its agents, by service, learn in the same episodes.
type trainer struct {
	subject train.Scenario
	config  Config

	env, evaluation *env // to explore in, and to be evaluated in
	rival           rivals.Rival
	model           rivals.Model // whose weights the agents train
	agents          []rl.Agent   // by service; several may share one
	transferred     bool         // FIRM: each component has its own agent

	training   *rl.Training
	rng        *rl.RNG
	latest     Result // of the last evaluation
	report     Report
	progress   func(share float64, what string)
	lastReward []float64 // by service
}

// Run trains a rival on a scenario. The same seed gives the same model.
func Run(ctx context.Context, rival rivals.Name, subject train.Scenario, config Config, hooks Hooks) (*rivals.Model, *Report, error) {
	if err := config.Validate(); err != nil {
		return nil, nil, err
	}
	p := &trainer{
		subject: subject, config: config, progress: hooks.Progress, lastReward: make([]float64, len(subject.App.Services)),
		rng: rl.NewRNG(config.Seed, randomStream), report: Report{Rival: string(rival)},
	}
	if p.progress == nil {
		p.progress = func(float64, string) {}
	}
	p.training = rl.NewTrainingOf(p, config.Seed, rl.TrainingConfig{
		Steps: config.Steps, WholeEpisodes: true, EvaluateEvery: config.Every, EvenlySpaced: true, Episodes: config.Episodes,
	})
	if err := p.prepare(ctx, rival); err != nil {
		return nil, nil, err
	}
	err := p.training.Run(ctx, rl.Hooks{
		EveryPoint: func(at rl.Point) {
			point := Point{p.latest.Point(at), p.latest.CommonReward}
			p.report.Curve = append(p.report.Curve, point)
			if hooks.Point != nil {
				hooks.Point(point)
			}
		},
		AtEpisode: func(t *rl.Training) {
			p.progress(float64(t.Steps())/float64(config.Steps), fmt.Sprintf("reward %.3f", t.Best()))
		},
	})
	if err != nil {
		return nil, nil, err
	}
	return p.finish()
}

// step is an action on one service whose outcome is not yet known.
type step struct {
	service     int
	observation []float32
	action      rl.Action
}

// Explore implements rl.Trainee: the rival decides as its agents explore, and each
// agent learns from its services' steps.
func (p *trainer) Explore(e *rl.Episode) error {
	if err := p.transfer(); err != nil {
		return err
	}
	p.env.begin(e.Rand, train.NoCulprit)
	p.rival.Begin()
	p.rival.Explore(p.explore)
	defer p.rival.Explore(nil)
	clear(p.lastReward)
	var open []step
	for first := true; ; first = false {
		s := p.env.Situation()
		proposal, err := p.rival.Decide(p.env.Now(), s)
		if err != nil {
			proposal.Services = nil // nothing was measured: it holds
		}
		p.learn(e, s, open)
		if !first {
			e.Reward(p.own(s))
		}
		if p.env.Over() {
			break
		}
		open = open[:0]
		for _, t := range p.rival.Taken() {
			open = append(open, step{t.Service, slices.Clone(p.rival.Observed(t.Service)),
				rl.Action{Choice: t.Action.Choice, Values: slices.Clone(t.Action.Values)}})
		}
		p.env.act(proposal)
		e.Step()
	}
	p.report.Episodes = append(p.report.Episodes, e.Mean())
	return nil
}

// explore chooses an action as the agent of the service does, or at random: values grow
// with the number of updates, so that a table alone would repeat the action that it tried
// first.
func (p *trainer) explore(service int, observation []float32, action *rl.Action) {
	p.agents[service].Explore(observation, action)
	random := rl.Schedule{Shape: rl.Linear, From: p.config.Random, Steps: max(1, int(p.config.Until*float64(p.config.Steps)))}
	if p.rng.Float64() >= random.At(p.training.Steps()) {
		return
	}
	if spaces := p.rival.Spaces(); spaces.Discrete() {
		action.Choice = p.rng.IntN(spaces.Choices)
	}
	for i := range action.Values {
		action.Values[i] = 2*p.rng.Float32() - 1
	}
}

// learn trains the agents on the outcomes of the last actions. Where a metric is absent,
// the last values are used.
func (p *trainer) learn(e *rl.Episode, s loadline.Situation, open []step) {
	for _, o := range open {
		if reward, known := p.rival.Reward(s, o.service); known {
			p.lastReward[o.service] = reward
		}
		next := p.rival.Observed(o.service)
		if next == nil {
			next = o.observation
		}
		e.Learned(p.agents[o.service].Learn(rl.Transition{
			Observation: o.observation, Action: o.action, Next: next, Result: rl.Result{Reward: p.lastReward[o.service],
				Truncated: p.env.Over()},
		}))
		p.note(o)
	}
}

// own is the rival's own reward in a situation: the mean over services.
func (p *trainer) own(s loadline.Situation) float64 {
	sum, n := 0.0, 0.0
	for i := range s.App.Services {
		if reward, known := p.rival.Reward(s, i); known {
			sum += reward
			n++
		}
	}
	return sum / max(n, 1)
}

// Evaluate implements rl.Trainee by the rival's own reward.
func (p *trainer) Evaluate(uint64, rl.TrainingConfig) (float64, error) {
	p.latest = p.evaluate(evaluationStream, p.rival)
	return p.latest.Reward, nil
}

// Weights implements rl.Trainee: those of each service's agent.
func (p *trainer) Weights() [][]float32 {
	all := make([][]float32, len(p.agents))
	for i, a := range p.agents {
		all[i] = a.Weights()
	}
	return all
}

// evaluate runs a policy, without exploration, on the episodes of a stream.
func (p *trainer) evaluate(stream uint64, policy loadline.Policy) Result {
	var r Result
	steps := 0.0
	for e := range p.config.Episodes {
		p.evaluation.begin(rl.NewRNG(p.config.Seed, stream+uint64(e)).Rand, train.NoCulprit)
		p.rival.Begin()
		for !p.evaluation.Over() {
			p.evaluation.follow(policy)
			w := p.evaluation.score
			r.Add(p.own(p.evaluation.Situation()), w.QoS, w.CPU, w.Memory)
			r.CommonReward += w.Reward
			steps++
		}
	}
	return Result{r.Mean(steps), r.CommonReward / steps}
}

// noChange is a policy with the needs of another that changes nothing.
type noChange struct{ loadline.Policy }

// Decide implements loadline.Policy.
func (noChange) Decide(time.Time, loadline.Situation) (loadline.Proposal, error) {
	return loadline.Proposal{}, nil
}

// finish restores the best weights and evaluates the rival and the baseline on held-out
// episodes.
func (p *trainer) finish() (*rivals.Model, *Report, error) {
	p.training.AdoptBest()
	idle := p.evaluate(finalStream, noChange{p.rival})
	idle.Policy = train.NoChange
	trained := p.evaluate(finalStream, p.rival)
	trained.Policy = string(p.model.Rival)
	p.report.Results = []Result{idle, trained}
	m := p.model
	m.Training = modelfile.Training{Data: p.subject.Source, Samples: p.training.Steps(), Seed: p.config.Seed}
	on := fmt.Sprintf("%d held-out episodes", p.config.Episodes)
	m.Results = []modelfile.Result{
		{Name: "mean reward", On: on, Value: trained.Reward, Baseline: train.NoChange, Against: idle.Reward},
		{Name: "mean of DRPC's reward", On: on, Value: trained.CommonReward, Baseline: train.NoChange, Against: idle.CommonReward},
	}
	m.Table = rivals.Table{Values: slices.Clone(m.Table.Values), Tried: slices.Clone(m.Table.Tried)}
	m.Actors = slices.Clone(m.Actors)
	for i, net := range m.Actors {
		m.Actors[i] = net.Clone()
	}
	p.report.Parameters = m.Parameters()
	return &m, &p.report, nil
}
