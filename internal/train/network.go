package train

import (
	"context"

	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/rl"
)

// NetworkConfig is how one network is trained in an environment of a formulation.
type NetworkConfig struct {
	Service       string // of the network: formulation.Every, or the one that it is for
	Agent         rl.DQNConfig
	Seed          uint64
	Steps         int
	Episode       int // longest one, in steps
	ScaleEpisodes int // random ones that the features' scales are measured in
	Evaluations   int // over the whole training
	Episodes      int // of an evaluation

	From      *formulation.Network // whose weights and scales it begins with; nil = none
	Bootstrap func(*rl.DQN, []formulation.Scale)
	Progress  func(share float64)
}

// Network trains one network and keeps the best weights that it had.
func Network(ctx context.Context, env rl.Env, c NetworkConfig) (formulation.Network, []rl.Point, error) {
	var scales []formulation.Scale
	if c.From != nil {
		scales = c.From.Scales // the weights only mean something with them
	} else {
		scales = MeasureScales(env, c.Seed, c.ScaleEpisodes, c.Episode)
	}
	scaled := &ScaledEnv{Env: env, Scales: scales}
	agent, err := rl.NewDQN(c.Agent, scaled.Spaces(), c.Seed)
	if err != nil {
		return formulation.Network{}, nil, err
	}
	if c.From != nil {
		if err := agent.Adopt(c.From.Net); err != nil {
			return formulation.Network{}, nil, err
		}
	}
	if c.Bootstrap != nil {
		c.Bootstrap(agent, scales)
	}
	progress := c.Progress
	if progress == nil {
		progress = func(float64) {}
	}
	training := rl.NewTraining(scaled, agent, c.Seed, rl.TrainingConfig{
		Steps: c.Steps, EvaluateEvery: max(c.Steps/c.Evaluations, 1), Episodes: c.Episodes,
	})
	err = training.Run(ctx, rl.Hooks{Progress: func(p rl.Progress) { progress(float64(p.Steps) / float64(p.Of)) }})
	if err != nil {
		return formulation.Network{}, nil, err
	}
	training.AdoptBest()
	progress(1)
	return formulation.Network{Service: c.Service, Scales: scales, Net: agent.Net()}, training.Curve(), nil
}

// EpisodeWithin is the length of episodes that loads allow: at most half of each.
func EpisodeWithin(scenarios []ServiceScenario, problem *formulation.Problem, steps int) int {
	for _, s := range scenarios {
		steps = min(steps, int(s.Duration/(2*problem.Period)))
	}
	return steps
}
