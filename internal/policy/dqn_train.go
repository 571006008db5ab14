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
	"github.com/loadline/loadline/internal/train"
)

// Episodes are an hour of quarter-minute decisions or four of minutes: long enough for a ramp,
// short enough for many.
const (
	episodeSteps = 240
	heldRequests = 20 // K: steps of an episode of ENV1
)

// evaluationsFor is how often a network is evaluated during training, and on how many
// episodes: the best weights are kept. With many networks each has few steps, and
// evaluating must not take longer than training.
func evaluationsFor(networks int) (times, episodes int) {
	if networks > 4 {
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
	places := train.ServiceScenarios(formulation.NewTopology(t.Scenario.App).With(t.Shares), t.Scenario.Load, t.Scenario.Duration)
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
		l := dqnTraining{
			app: t.Scenario.App, past: t.Past, variant: v, problem: problem, places: group, seed: t.Seed, shared: t.Shares != nil,
			steps: t.stepsOf(len(groups)), networks: len(groups), service: formulation.Every,
			progress: Part(t.report, float64(i)/float64(len(groups)), float64(i+1)/float64(len(groups))),
		}
		if problem.Form().PerService {
			l.service = group[0].Service
		}
		if t.From != nil {
			if l.from, err = networkOf(t.From, l.service); err != nil {
				return nil, err
			}
		}
		network, curve, err := l.run(ctx)
		if errors.Is(err, errNothingToLearn) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("service %s: %w", l.service, err)
		}
		model.Networks = append(model.Networks, network)
		trained.Curves = append(trained.Curves, curve)
		trained.Parameters = network.Net.Size()
	}
	if len(model.Networks) == 0 {
		return nil, errors.New("no service has a history that it could learn from")
	}
	return trained, nil
}

// leastSteps of training of one network of a candidate, however many there are.
const leastSteps = 4_000

// stepsOf one of several networks. Without a recorded history, methods are compared by equal steps.
func (t Task) stepsOf(networks int) int {
	steps := max(t.Steps/networks, 1)
	if t.Past == nil {
		return steps
	}
	return max(steps, leastSteps)
}

var errNothingToLearn = errors.New("nothing to learn")

// networkOf returns the network of a service; nil = the model has none.
func networkOf(m Model, service string) (*formulation.Network, error) {
	of, ok := m.(dqnModel)
	if !ok {
		return nil, fmt.Errorf("a model of %s has no weights to begin with", m.Method())
	}
	for i := range of.Networks {
		if of.Networks[i].Service == service {
			return &of.Networks[i], nil
		}
	}
	return nil, nil
}

// dqnTraining is the training of one network.
type dqnTraining struct {
	app      *loadline.App
	past     *Past // nil = none
	variant  DQNVariant
	problem  *formulation.Problem
	places   []train.ServiceScenario
	shared   bool // the SLA follows given parts of the SLO
	service  string
	seed     uint64
	steps    int
	networks int // of the model in total
	from     *formulation.Network
	progress func(float64)
}

func (l *dqnTraining) run(ctx context.Context) (formulation.Network, Curve, error) {
	env, longest, err := l.env()
	if err != nil {
		return formulation.Network{}, Curve{}, err
	}
	agent := l.variant.Agent
	agent.Explore.Steps = min(agent.Explore.Steps, l.steps/2)
	agent.WarmUp = min(agent.WarmUp, l.steps/8)
	c := train.NetworkConfig{
		Service: l.service, Agent: agent, Seed: l.seed, Steps: l.steps, Episode: longest, ScaleEpisodes: 16,
		From: l.from, Progress: l.progress,
	}
	c.Evaluations, c.Episodes = evaluationsFor(l.networks)
	if l.variant.Bootstrap && l.past != nil {
		c.Bootstrap = l.bootstrap
	}
	network, points, err := train.Network(ctx, env, c)
	if err != nil {
		return formulation.Network{}, Curve{}, err
	}
	return network, curveOf(l.service, points), nil
}

// env is the environment of the training, and the length of an episode.
func (l *dqnTraining) env() (rl.Env, int, error) {
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

func (l *dqnTraining) env1() (rl.Env, error) {
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

// bootstrap fills the replay buffer with the actions of the recorded autoscaler and
// trains on them before the first action.
func (l *dqnTraining) bootstrap(agent *rl.DQN, scales []formulation.Scale) {
	past := train.Demonstrations{
		Problem: l.problem, Topology: formulation.NewTopology(l.places[0].App), History: l.past.History, Service: l.service,
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

// bootstrapSteps is the maximum of history steps to learn from.
const bootstrapSteps = 20_000

// curveOf a training.
func curveOf(service string, points []rl.Point) Curve {
	c := Curve{Service: service}
	for _, p := range points {
		c.Points = append(c.Points, Point{
			Steps: p.Steps, Episodes: p.Episodes, Return: p.Return, Loss: p.Loss, Evaluation: p.Evaluation, CommonReward: math.NaN(),
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
