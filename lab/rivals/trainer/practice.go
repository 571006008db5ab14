package trainer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/lab/rivals"
)

// Hooks are what a practice tells. They may be nil.
type Hooks struct {
	Progress func(share float64, what string)
	Point    func(Point)
}

// Streams of chance, apart from those of the agents.
const (
	exploreStream    = 1 << 32
	evaluationStream = 2 << 32
	finalStream      = 3 << 32
	pastStream       = 4 << 32
	labelStream      = 5 << 32
	svmStream        = 6 << 32
	randomStream     = 7 << 32
)

// practice of one rival.
type practice struct {
	subject train.Scenario
	config  Config

	world, exam *world // to practise in, and to be examined in
	rival       rivals.Rival
	model       rivals.Model // with parts that the agents go on learning
	agents      []rl.Agent   // by service; several may share one
	transferred bool         // FIRM: each component has its own agent

	steps, episodes int
	evaluated       int         // steps at the last point
	best            [][]float32 // weights by service at the best evaluation
	bestReward      float64
	chance          *rl.Chance
	report          Report
	progress        func(share float64, what string)

	// Since the last point.
	rewards, losses  float64
	counted, updates int
	lastReward       []float64 // by service
}

// Run teaches a rival on a subject. The same seed gives the same model.
func Run(ctx context.Context, rival rivals.Name, subject train.Scenario, config Config, hooks Hooks) (*rivals.Model, *Report, error) {
	if err := config.Validate(); err != nil {
		return nil, nil, err
	}
	p := &practice{subject: subject, config: config, bestReward: math.Inf(-1), progress: hooks.Progress, lastReward: make([]float64, len(subject.App.Services))}
	if p.progress == nil {
		p.progress = func(float64, string) {}
	}
	p.chance = rl.NewChance(config.Seed, randomStream)
	p.report.Rival = string(rival)
	if err := p.prepare(ctx, rival); err != nil {
		return nil, nil, err
	}
	for p.episodes == 0 || p.steps < config.Steps {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if err := p.transfer(); err != nil {
			return nil, nil, err
		}
		p.episode()
		if p.steps-p.evaluated >= config.Every || p.steps >= config.Steps {
			p.evaluated = p.steps
			p.point(hooks.Point)
		}
		p.progress(float64(p.steps)/float64(config.Steps), fmt.Sprintf("reward %.3f", p.bestReward))
	}
	return p.graduate()
}

// step of one service that waits for what came of it.
type step struct {
	service     int
	observation []float32
	action      rl.Action
}

// episode lets the rival explore, and its agents learn.
func (p *practice) episode() {
	p.world.begin(rl.NewChance(p.config.Seed, exploreStream+uint64(p.episodes)).Rand, train.NoCulprit)
	p.rival.Begin()
	p.rival.Explore(p.explore)
	defer p.rival.Explore(nil)
	clear(p.lastReward)
	var open []step
	sum, steps := 0.0, 0
	for {
		s := p.world.Situation()
		proposal, err := p.rival.Decide(p.world.Now(), s)
		if err != nil {
			proposal.Services = nil // nothing was measured: it holds
		}
		p.learn(s, open)
		if steps > 0 {
			sum += p.own(s)
		}
		if p.world.Over() {
			break
		}
		open = open[:0]
		for _, t := range p.rival.Taken() {
			open = append(open, step{t.Service, slices.Clone(p.rival.Seen(t.Service)), rl.Action{Choice: t.Action.Choice, Values: slices.Clone(t.Action.Values)}})
		}
		p.world.act(proposal)
		p.steps++
		steps++
	}
	p.episodes++
	p.rewards += sum
	p.counted += steps
	p.report.Episodes = append(p.report.Episodes, sum/float64(steps))
}

// explore as the agent of a service does, or, at times, whatever comes: values grow
// with how often an action was tried, so that a table would keep to what it tried
// first.
func (p *practice) explore(service int, observation []float32, action *rl.Action) {
	p.agents[service].Explore(observation, action)
	random := rl.Schedule{Shape: rl.Linear, From: p.config.Random, Steps: max(1, int(p.config.Until*float64(p.config.Steps)))}
	if p.chance.Float64() >= random.At(p.steps) {
		return
	}
	if spaces := p.rival.Spaces(); spaces.Discrete() {
		action.Choice = p.chance.IntN(spaces.Choices)
	}
	for i := range action.Values {
		action.Values[i] = 2*p.chance.Float32() - 1
	}
}

// learn what came of the last actions. Where that was not measured, what was seen
// last stands.
func (p *practice) learn(s loadline.Situation, open []step) {
	for _, o := range open {
		if reward, known := p.rival.Reward(s, o.service); known {
			p.lastReward[o.service] = reward
		}
		next := p.rival.Seen(o.service)
		if next == nil {
			next = o.observation
		}
		loss, updated := p.agents[o.service].Learn(rl.Transition{
			Observation: o.observation, Action: o.action, Next: next, Result: rl.Result{Reward: p.lastReward[o.service], Truncated: p.world.Over()},
		})
		if updated {
			p.losses += loss
			p.updates++
		}
		p.note(o)
	}
}

// own is the rival's reward of a situation: the mean over services.
func (p *practice) own(s loadline.Situation) float64 {
	sum, n := 0.0, 0.0
	for i := range s.App.Services {
		if reward, known := p.rival.Reward(s, i); known {
			sum += reward
			n++
		}
	}
	return sum / max(n, 1)
}

// point evaluates, and keeps the weights if they are the best so far.
func (p *practice) point(tell func(Point)) {
	r := p.examine(evaluationStream, p.rival.Decide)
	point := Point{r.Point(p.steps, p.episodes, p.rewards/float64(max(p.counted, 1)), p.losses/float64(max(p.updates, 1))), r.Yardstick}
	p.rewards, p.counted, p.losses, p.updates = 0, 0, 0, 0
	p.report.Curve = append(p.report.Curve, point)
	if r.Reward > p.bestReward {
		p.bestReward = r.Reward
		p.best = p.best[:0]
		for _, a := range p.agents {
			p.best = append(p.best, slices.Clone(a.Weights()))
		}
	}
	if tell != nil {
		tell(point)
	}
}

// examine lets somebody decide without exploring, on the episodes of a stream.
func (p *practice) examine(stream uint64, decide func(time.Time, loadline.Situation) (loadline.Proposal, error)) Result {
	var r Result
	steps := 0.0
	for e := range p.config.Episodes {
		p.exam.begin(rl.NewChance(p.config.Seed, stream+uint64(e)).Rand, train.NoCulprit)
		p.rival.Begin()
		for !p.exam.Over() {
			proposal, err := decide(p.exam.Now(), p.exam.Situation())
			if err != nil {
				proposal.Services = nil
			}
			p.exam.act(proposal)
			w := p.exam.worth
			r.Add(p.own(p.exam.Situation()), w.QoS, w.CPU, w.Memory)
			r.Yardstick += w.Reward
			steps++
		}
	}
	return Result{r.Mean(steps), r.Yardstick / steps}
}

// graduate takes the best weights and examines the rival on episodes of their own.
func (p *practice) graduate() (*rivals.Model, *Report, error) {
	for i, a := range p.agents {
		copy(a.Weights(), p.best[i])
	}
	idle := p.examine(finalStream, func(time.Time, loadline.Situation) (loadline.Proposal, error) { return loadline.Proposal{}, nil })
	idle.Who = "nobody"
	taught := p.examine(finalStream, p.rival.Decide)
	taught.Who = string(p.model.Rival)
	p.report.Results = []Result{idle, taught}
	m := p.model
	m.Training = modelfile.Training{Data: p.subject.Source, Samples: p.steps, Seed: p.config.Seed}
	on := fmt.Sprintf("%d episodes of their own", p.config.Episodes)
	m.Results = []modelfile.Result{
		{Name: "mean reward", On: on, Value: taught.Reward, Baseline: "nobody", Against: idle.Reward},
		{Name: "mean of DRPC's reward", On: on, Value: taught.Yardstick, Baseline: "nobody", Against: idle.Yardstick},
	}
	m.Table = rivals.Table{Values: slices.Clone(m.Table.Values), Tried: slices.Clone(m.Table.Tried)}
	m.Actors = slices.Clone(m.Actors)
	for i, net := range m.Actors {
		m.Actors[i] = net.Clone()
	}
	p.report.Parameters = m.Parameters()
	return &m, &p.report, nil
}
