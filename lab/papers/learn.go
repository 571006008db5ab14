package papers

import (
	"context"
	"fmt"
	"time"

	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/train"
)

// learning is the training of one network in the fluid engine, on services extracted from their
// application.
type learning struct {
	problem   *formulation.Problem
	scenarios []train.ServiceScenario
	service   string // formulation.Every, or the one service that it is for
	agent     rl.DQNConfig
	steps     int
	episode   int // steps
	seed      uint64
	restarts  bool // a changed size restarts the replica
}

// An experiment trains dozens of networks, so it measures scales and evaluates on fewer
// episodes than loadline train does.
const (
	scaleEpisodes      = 8
	evaluations        = 5
	evaluationEpisodes = 4
)

func (l learning) env() (*train.ServiceEnv, int, error) {
	episode := train.EpisodeWithin(l.scenarios, l.problem, l.episode)
	env, err := train.NewServiceEnv(train.ServiceEnvConfig{
		Problem: l.problem, Scenarios: l.scenarios, Steps: episode, CPUNoise: 0.05, ResizeRestarts: l.restarts,
	})
	return env, episode, err
}

// scaled is the environment with normalised features.
func (l learning) scaled() (*train.ScaledEnv, error) {
	env, episode, err := l.env()
	if err != nil {
		return nil, err
	}
	return &train.ScaledEnv{Env: env, Scales: train.MeasureScales(env, l.seed, scaleEpisodes, episode)}, nil
}

// learn trains a network and keeps the best weights.
func (l learning) learn(ctx context.Context) (formulation.Network, error) {
	env, episode, err := l.env()
	if err != nil {
		return formulation.Network{}, err
	}
	network, _, err := train.Network(ctx, env, train.NetworkConfig{
		Service: l.service, Agent: l.paced(), Seed: l.seed, Steps: l.steps, Episode: episode,
		ScaleEpisodes: scaleEpisodes, Evaluations: evaluations, Episodes: evaluationEpisodes,
	})
	return network, err
}

// paced is the agent with its exploration spread over half of the experiment's steps.
func (l learning) paced() rl.DQNConfig {
	c := l.agent
	c.Explore.Steps = l.steps / 2
	c.WarmUp = min(c.WarmUp, max(c.Batch, l.steps/8))
	return c
}

// learnEach trains one network for each scenario, for independent functions.
func (l learning) learnEach(ctx context.Context) (*formulation.Model, error) {
	m := &formulation.Model{Problem: l.problem}
	for i := range l.scenarios {
		one := l
		one.scenarios, one.service = l.scenarios[i:i+1], l.scenarios[i].Service
		network, err := one.learn(ctx)
		if err != nil {
			return nil, fmt.Errorf("service %s: %w", one.service, err)
		}
		m.Networks = append(m.Networks, network)
	}
	return m, nil
}

// elasticAgent is the paper's agent.
func elasticAgent() rl.DQNConfig { return train.AgentOf("elastic-dqn") }

// serverlessAgent is the paper's agent with a smaller network and smaller batches: the
// experiments train one for each function, arm and seed, some of them live, for a few thousand
// steps each.
func serverlessAgent() rl.DQNConfig {
	a := train.AgentOf("serverless-horizontal")
	a.Hidden, a.Batch = []int{64, 64}, 32
	return a
}

const minute = time.Minute
