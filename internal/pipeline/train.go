package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/rl/dqn"
	"github.com/loadline/loadline/internal/train"
)

// Trained is a candidate and what became of it.
type Trained struct {
	Candidate Candidate
	Model     *formulation.Model
	Curves    []Curve
}

// Curve is how the learning of one brain went.
type Curve struct {
	Service string     `json:"service"`
	Points  []rl.Point `json:"points"`
}

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

// TrainAll trains candidates side by side and gives them in their order. Progress
// is told the share of all steps that are done; it may be nil.
func TrainAll(ctx context.Context, s *Subject, candidates []Candidate, workers int, progress func(share float64)) ([]*Trained, error) {
	trained := make([]*Trained, len(candidates))
	err := TrainEach(ctx, s, candidates, Each{Workers: workers, Progress: progress, Done: func(t *Trained) error {
		trained[slices.IndexFunc(candidates, func(c Candidate) bool { return c.Name == t.Candidate.Name })] = t
		return nil
	}})
	return trained, err
}

// Train trains one candidate, from another's weights if they are given.
func Train(ctx context.Context, s *Subject, c Candidate, from *formulation.Model, progress func(share float64)) (*Trained, error) {
	problem, err := c.Problem()
	if err != nil {
		return nil, fmt.Errorf("candidate %s: %w", c.Name, err)
	}
	places, err := s.places(c.Shares)
	if err != nil {
		return nil, err
	}
	groups := [][]train.ServiceScenario{places}
	if problem.Form().PerService {
		groups = groups[:0]
		for i := range places {
			groups = append(groups, places[i:i+1])
		}
	}
	t := &Trained{Candidate: c, Model: &formulation.Model{Problem: problem, Training: modelfile.Training{
		Data: s.Name, From: s.History.Start, To: s.History.At(s.History.Steps - 1), Samples: c.Steps, Seed: c.Seed,
	}}}
	for i, group := range groups {
		l := lesson{
			subject: s, candidate: c, problem: problem, places: group, seed: c.Seed,
			steps: max(c.Steps/len(groups), leastSteps), brains: len(groups), service: formulation.Every,
			progress: func(share float64) { progress((float64(i) + share) / float64(len(groups))) },
		}
		if problem.Form().PerService {
			l.service = group[0].Service
		}
		if from != nil {
			l.from = brainOf(from, l.service)
		}
		brain, curve, err := l.learn(ctx)
		if errors.Is(err, errNothingToLearn) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("candidate %s, service %s: %w", c.Name, l.service, err)
		}
		t.Model.Brains = append(t.Model.Brains, brain)
		t.Curves = append(t.Curves, curve)
	}
	if len(t.Model.Brains) == 0 {
		return nil, fmt.Errorf("candidate %s: no service has a history that it could learn from", c.Name)
	}
	return t, nil
}

// leastSteps that one brain is trained for, however many there are.
const leastSteps = 4_000

var errNothingToLearn = errors.New("nothing to learn")

func brainOf(m *formulation.Model, service string) *formulation.Brain {
	for i := range m.Brains {
		if m.Brains[i].Service == service {
			return &m.Brains[i]
		}
	}
	return nil
}

// lesson is the training of one brain.
type lesson struct {
	subject   *Subject
	candidate Candidate
	problem   *formulation.Problem
	places    []train.ServiceScenario
	service   string
	seed      uint64
	steps     int
	brains    int // that the candidate has in all
	from      *formulation.Brain
	progress  func(float64)
}

func (l *lesson) learn(ctx context.Context) (formulation.Brain, Curve, error) {
	env, longest, err := l.where()
	if err != nil {
		return formulation.Brain{}, Curve{}, err
	}
	agent := l.candidate.Agent
	agent.Explore.Steps = min(agent.Explore.Steps, l.steps/2)
	agent.WarmUp = min(agent.WarmUp, l.steps/8)
	c := train.NetworkConfig{
		Service: l.service, Agent: agent, Seed: l.seed, Steps: l.steps, Episode: longest, ScaleEpisodes: 16, From: l.from, Progress: l.progress,
	}
	c.Evaluations, c.Episodes = looks(l.brains)
	if l.candidate.Bootstrap {
		c.Bootstrap = l.bootstrap
	}
	brain, points, err := train.Network(ctx, env, c)
	return brain, Curve{l.service, points}, err
}

// where the brain learns, and how long an episode lasts.
func (l *lesson) where() (rl.Env, int, error) {
	if l.candidate.Linear {
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
	delays, known := l.subject.Delays[l.service]
	rows := l.subject.rows(l.service)
	if !known || len(rows) == 0 {
		return nil, errNothingToLearn
	}
	if l.candidate.Shares != nil {
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
		Problem: l.problem, Ground: formulation.NewGround(l.places[0].App), History: l.subject.History, Service: l.service,
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
		if known++; known > l.candidate.Agent.Batch {
			agent.Update()
		}
	})
}

// bootstrapSteps of the past at most are learned from.
const bootstrapSteps = 20_000

// shares adds up how far each candidate is.
type shares struct {
	mu       sync.Mutex
	each     []float64
	weight   []float64
	all      float64
	progress func(float64)
}

func newShares(candidates []Candidate, progress func(float64)) *shares {
	s := &shares{each: make([]float64, len(candidates)), progress: progress}
	for _, c := range candidates {
		s.weight = append(s.weight, float64(c.Steps))
		s.all += float64(c.Steps)
	}
	return s
}

// of gives one candidate's progress its place.
func (s *shares) of(i int) func(float64) {
	return func(share float64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.each[i] = share
		sum := 0.0
		for j, e := range s.each {
			sum += e * s.weight[j]
		}
		if s.progress != nil {
			s.progress(sum / s.all)
		}
	}
}
