package papers

import (
	"context"
	"fmt"
	"time"

	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/rl/dqn"
	"github.com/loadline/loadline/internal/train"
)

// school is where one network learns: in the fluid engine, on services taken out
// of their application.
type school struct {
	problem  *formulation.Problem
	places   []train.ServiceScenario
	service  string // env.Every, or the one service that it is for
	agent    dqn.Config
	steps    int
	episode  int // steps
	seed     uint64
	restarts bool // a changed size restarts the replica
}

// where it learns, with features made comparable.
func (s school) where() (*train.ScaledEnv, error) {
	episode := s.episode
	for _, p := range s.places {
		episode = min(episode, int(p.Duration/(2*s.problem.Period)))
	}
	cluster, err := train.NewServiceEnv(train.ServiceEnvConfig{
		Problem: s.problem, Scenarios: s.places, Steps: episode, CPUNoise: 0.05, ResizeRestarts: s.restarts,
	})
	if err != nil {
		return nil, err
	}
	return &train.ScaledEnv{Env: cluster, Scales: train.MeasureScales(cluster, s.seed, 8, episode)}, nil
}

// learn trains a network and keeps the best that it met.
func (s school) learn(ctx context.Context) (formulation.Brain, error) {
	where, err := s.where()
	if err != nil {
		return formulation.Brain{}, err
	}
	agent, err := dqn.New(s.pace(), where.Spaces(), s.seed)
	if err != nil {
		return formulation.Brain{}, err
	}
	training := rl.NewTraining(where, agent, s.seed, rl.TrainingConfig{Steps: s.steps, EvaluateEvery: max(1, s.steps/5), Episodes: 4})
	if err := training.Run(ctx, rl.Hooks{}); err != nil {
		return formulation.Brain{}, err
	}
	training.AdoptBest()
	return formulation.Brain{Service: s.service, Scales: where.Scales, Net: agent.Net()}, nil
}

// pace is the agent with its exploration fitted to the steps that it has.
func (s school) pace() dqn.Config {
	c := s.agent
	c.Explore.Steps = s.steps / 2
	c.WarmUp = min(c.WarmUp, max(c.Batch, s.steps/8))
	return c
}

// learnEach trains one network for each place, for functions that have nothing to
// do with each other.
func (s school) learnEach(ctx context.Context) (*formulation.Model, error) {
	m := &formulation.Model{Problem: s.problem}
	for i := range s.places {
		one := s
		one.places, one.service = s.places[i:i+1], s.places[i].Service
		brain, err := one.learn(ctx)
		if err != nil {
			return nil, fmt.Errorf("service %s: %w", one.service, err)
		}
		m.Brains = append(m.Brains, brain)
	}
	return m, nil
}

// agents as the papers describe them, as far as they do.
func elasticAgent() dqn.Config {
	a := dqn.Default()
	a.Hidden, a.Double, a.Discount, a.Soft = []int{64, 64}, false, 0.94, 0.01
	a.Explore = rl.Schedule{Shape: rl.Linear, From: 1, To: 0.02, Steps: 1}
	return a
}

func serverlessAgent() dqn.Config {
	a := dqn.Default()
	a.Hidden, a.Double, a.Discount, a.Soft, a.Batch = []int{64, 64}, false, 0.95, 0.005, 32
	a.Explore = rl.Schedule{Shape: rl.Linear, From: 1, To: 0.02, Steps: 1}
	return a
}

const minute = time.Minute
