package policy

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/rl/dqn"
	"github.com/loadline/loadline/internal/train"
)

// Episodes are an hour of quarter-minute decisions or four of minutes: long enough
// to see a ramp, short enough to see many.
const (
	episodeSteps = 240
	heldRequests = 20 // K: steps of an episode of ENV1
)

// looks is how often a brain is looked at while it learns, and how many episodes
// each time: the best of them is kept. Where there are many brains each has few
// steps, and looking must not take longer than learning.
func looks(brains int) (times, episodes int) {
	if brains > 4 {
		return 3, 6
	}
	return 6, 20
}

// trainDQN trains the networks of a formulation: one that serves all services, or one
// for each.
func trainDQN(ctx context.Context, name string, t Task) (*Trained, error) {
	v, err := readDQNVariant(name, t.Settings)
	if err != nil {
		return nil, err
	}
	problem, err := v.problem(name, t.Shares)
	if err != nil {
		return nil, err
	}
	v.Agent.Rate *= t.Rate
	places := train.ServiceScenarios(formulation.NewGround(t.Scenario.App).With(t.Shares), t.Scenario.Load, t.Scenario.Duration)
	groups := [][]train.ServiceScenario{places}
	if problem.Form().PerService {
		groups = groups[:0]
		for i := range places {
			groups = append(groups, places[i:i+1])
		}
	}
	model := &formulation.Model{Problem: problem, Training: modelfile.Training{Data: t.Scenario.App.Name, Samples: t.Steps, Seed: t.Seed}}
	if t.Past != nil {
		model.Training.From, model.Training.To = t.Past.History.Start, t.Past.History.At(t.Past.History.Steps-1)
	}
	trained := &Trained{Model: dqnModel{model}}
	for i, group := range groups {
		l := lesson{
			app: t.Scenario.App, past: t.Past, variant: v, problem: problem, places: group, seed: t.Seed, shared: t.Shares != nil,
			steps: t.stepsOf(len(groups)), brains: len(groups), service: formulation.Every,
			progress: Part(t.tell, float64(i)/float64(len(groups)), float64(i+1)/float64(len(groups))),
		}
		if problem.Form().PerService {
			l.service = group[0].Service
		}
		if t.From != nil {
			if l.from, err = brainOf(t.From, l.service); err != nil {
				return nil, err
			}
		}
		brain, curve, err := l.learn(ctx)
		if errors.Is(err, errNothingToLearn) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("service %s: %w", l.service, err)
		}
		model.Brains = append(model.Brains, brain)
		trained.Curves = append(trained.Curves, curve)
		trained.Parameters = brain.Net.Size()
	}
	if len(model.Brains) == 0 {
		return nil, errors.New("no service has a history that it could learn from")
	}
	return trained, nil
}

// leastSteps that one brain of a candidate is trained for, however many there are.
const leastSteps = 4_000

// stepsOf one of several brains. Without a past, methods are compared by equal steps.
func (t Task) stepsOf(brains int) int {
	steps := max(t.Steps/brains, 1)
	if t.Past == nil {
		return steps
	}
	return max(steps, leastSteps)
}

var errNothingToLearn = errors.New("nothing to learn")

// brainOf a model that serves a service; nil = it has none.
func brainOf(m Model, service string) (*formulation.Brain, error) {
	of, ok := m.(dqnModel)
	if !ok {
		return nil, fmt.Errorf("a model of %s has no weights to begin with", m.Method())
	}
	for i := range of.Brains {
		if of.Brains[i].Service == service {
			return &of.Brains[i], nil
		}
	}
	return nil, nil
}

// lesson is the training of one brain.
type lesson struct {
	app      *loadline.App
	past     *Past // nil = none
	variant  DQNVariant
	problem  *formulation.Problem
	places   []train.ServiceScenario
	shared   bool // the SLA follows given parts of the SLO
	service  string
	seed     uint64
	steps    int
	brains   int // that the model has in all
	from     *formulation.Brain
	progress func(float64)
}

func (l *lesson) learn(ctx context.Context) (formulation.Brain, Curve, error) {
	env, longest, err := l.where()
	if err != nil {
		return formulation.Brain{}, Curve{}, err
	}
	agent := l.variant.Agent
	agent.Explore.Steps = min(agent.Explore.Steps, l.steps/2)
	agent.WarmUp = min(agent.WarmUp, l.steps/8)
	c := train.NetworkConfig{
		Service: l.service, Agent: agent, Seed: l.seed, Steps: l.steps, Episode: longest, ScaleEpisodes: 16,
		From: l.from, Progress: l.progress,
	}
	c.Evaluations, c.Episodes = looks(l.brains)
	if l.variant.Bootstrap && l.past != nil {
		c.Bootstrap = l.bootstrap
	}
	brain, points, err := train.Network(ctx, env, c)
	if err != nil {
		return formulation.Brain{}, Curve{}, err
	}
	return brain, curveOf(l.service, points), nil
}

// where the brain learns, and how long an episode lasts.
func (l *lesson) where() (rl.Env, int, error) {
	if l.variant.Linear && l.past != nil {
		e, err := l.env1()
		return e, heldRequests, err
	}
	steps := train.EpisodeWithin(l.places, l.problem, episodeSteps)
	e, err := train.NewServiceEnv(train.ServiceEnvConfig{
		Problem: l.problem, Scenarios: l.places, Steps: steps, CPUNoise: 0.05,
	})
	return e, steps, err
}

func (l *lesson) env1() (rl.Env, error) {
	delays, known := l.past.Delays[l.service]
	rows := l.past.rows(l.app, l.service)
	if !known || len(rows) == 0 {
		return nil, errNothingToLearn
	}
	if l.shared {
		delays.SLA = l.places[0].App.Kinds[0].SLO.Latency.Seconds()
	}
	bounds := l.places[0].App.Services[0].Bounds
	return train.NewENV1(train.ENV1Config{
		Rows: rows, Delays: delays, MinReplicas: max(bounds.MinReplicas, 1), MaxReplicas: bounds.MaxReplicas, Steps: heldRequests,
		Weight: l.problem.Params["weight"], Penalty: l.problem.Params["penalty"],
	})
}

// bootstrap fills the agent's memory with what the autoscaler in charge did, and
// lets it learn from that before it ever acts.
func (l *lesson) bootstrap(agent *dqn.Agent, scales []formulation.Scale) {
	past := train.Demonstrations{
		Problem: l.problem, Ground: formulation.NewGround(l.places[0].App), History: l.past.History, Service: l.service,
		Reference: l.places[0].Reference,
	}
	seen, next := make([]float32, len(scales)), make([]float32, len(scales))
	known := 0
	past.Each(func(t rl.Transition) {
		if known >= bootstrapSteps {
			return
		}
		copy(seen, t.Observation)
		copy(next, t.Next)
		formulation.Apply(scales, seen)
		formulation.Apply(scales, next)
		t.Observation, t.Next = seen, next
		agent.Remember(t)
		if known++; known > l.variant.Agent.Batch {
			agent.Update()
		}
	})
}

// bootstrapSteps of the past at most are learned from.
const bootstrapSteps = 20_000

// curveOf a training.
func curveOf(service string, points []rl.Point) Curve {
	c := Curve{Service: service}
	for _, p := range points {
		c.Points = append(c.Points, Point{
			Steps: p.Steps, Episodes: p.Episodes, Return: p.Return, Loss: p.Loss, Evaluation: p.Evaluation, Yardstick: math.NaN(),
		})
	}
	return c
}

// rows of a service's history, as Scaling-Ops' ENV1 draws them.
func (p *Past) rows(app *loadline.App, service string) []train.HistoryRow {
	h := p.History.Service(service)
	if h == nil {
		return nil
	}
	var rows []train.HistoryRow
	for i := range p.History.Steps {
		cpu, ok1 := h.Series[history.CPU].Get(i)
		rate, ok2 := h.Series[history.Rate].Get(i)
		ready, ok3 := h.Series[history.Ready].Get(i)
		if !ok3 {
			ready, ok3 = h.Series[history.Desired].Get(i)
		}
		request, ok4 := h.Series[history.CPURequest].Get(i)
		if !ok4 {
			request = app.Services[app.ServiceIndex(service)].Size.CPURequest
		}
		if ok1 && ok2 && ok3 && ready >= 1 && request > 0 {
			rows = append(rows, train.HistoryRow{CPU: cpu / (ready * request), Requests: rate, Replicas: math.Round(ready)})
		}
	}
	return rows
}
