package train

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/rl"
)

// ServiceEnvConfig configures the environment of an agent that scales one service at a time.
type ServiceEnvConfig struct {
	Problem   *formulation.Problem
	Scenarios []ServiceScenario
	Steps     int // of an episode

	ResizeRestarts bool    // resizing restarts the replica
	CPUNoise       float64 // relative deviation of CPU readings
	MetricsLoss    float64 // share of scrapes that are lost
	StartupFactor  float64 // on start-up times; 0 = 1

	Guards func() []loop.Guard // of each episode; nil = none
}

// ServiceEnv is an environment with one service. Each episode takes place in the arena
// of a random scenario, with a random initial number of replicas.
type ServiceEnv struct {
	config ServiceEnvConfig
	arenas []*Arena // by scenario

	arena            *Arena // of the episode
	scenario         *ServiceScenario
	proposal         loadline.Proposal
	features, latest []float32 // at present, and the last complete ones
}

// NewServiceEnv checks the scenarios.
func NewServiceEnv(config ServiceEnvConfig) (*ServiceEnv, error) {
	if len(config.Scenarios) == 0 {
		return nil, errors.New("train: there is no service to train on")
	}
	e := &ServiceEnv{config: config, proposal: loadline.Proposal{Services: make([]loadline.ServiceProposal, 1)}}
	needs := config.Problem.Needs()
	for _, s := range config.Scenarios {
		a, err := NewArena(ArenaConfig{
			Scenario: s.Scenario, Needs: needs, Steps: config.Steps, LookBack: max(needs.Window, 2*needs.Period),
			Splitter: loop.FixedSplit(formulation.NewTopology(s.App).Partial()), Noise: Noise{CPU: config.CPUNoise, Loss: config.MetricsLoss},
			ResizeRestarts: config.ResizeRestarts, StartupFactor: config.StartupFactor, Guards: config.Guards,
		})
		if err != nil {
			return nil, fmt.Errorf("service %s: %w", s.Service, err)
		}
		e.arenas = append(e.arenas, a)
	}
	return e, nil
}

// Spaces implements rl.Env.
func (e *ServiceEnv) Spaces() rl.Spaces { return e.config.Problem.Spaces() }

// Reset implements rl.Env. The service begins with 0.8 to 2.8 times the replicas that
// its load needs.
func (e *ServiceEnv) Reset(rng *rand.Rand, observation []float32) {
	at := rng.IntN(len(e.arenas))
	e.arena, e.scenario = e.arenas[at], &e.config.Scenarios[at]
	e.arena.begin(rng, func(service int) {
		s := &e.arena.app.Services[service]
		s.Replicas = replicasWithin(s, e.arena.demand(service, 0)/capacity(s)*(0.8+2*rng.Float64()))
		if e.config.Problem.Form().Name == "serverless-vertical" {
			s.Size = randomCPU(rng, s)
		}
	})
	e.see(observation)
}

// Step implements rl.Env. Where a guard changes the setting of an action, the action
// becomes the one that is nearest to what is applied.
func (e *ServiceEnv) Step(action *rl.Action, observation []float32) rl.Result {
	problem := e.config.Problem
	now, changed := e.propose(action)
	e.arena.Advance(e.arena.config.Needs.Period)
	e.arena.CountStep()
	reward := problem.Reward(e.arena.topology, e.arena.Situation(), 0, formulation.Spend{
		Replicas: float64(now.Replicas), CPU: now.Size.CPURequest, Memory: float64(now.Size.MemoryRequest),
		Changed: changed, Reference: e.scenario.Reference,
	})
	e.see(observation)
	return rl.Result{Reward: reward, Truncated: e.arena.Over()}
}

// propose makes a proposal of an action. It returns the service's allocation once the
// plan is applied, and whether that changes the number of replicas.
func (e *ServiceEnv) propose(action *rl.Action) (now loadline.Allocation, changed bool) {
	s := e.arena.Situation()
	e.proposal.Services[0].Setting = e.config.Problem.Setting(e.arena.topology, s, 0, action.Choice)
	decision := e.arena.Propose(e.proposal)
	now = s.InFlight[0]
	for _, p := range decision.Plan.Services {
		now, changed = now.With(p.Setting), p.Setting.Replicas.Set
	}
	if len(decision.Changed) > 0 {
		action.Choice = e.config.Problem.ChoiceOf(e.arena.topology, s, 0, now)
	}
	return now, changed
}

// see fills in the features. Where one is absent, the last complete ones are used: a
// policy in production leaves the service unchanged then.
func (e *ServiceEnv) see(observation []float32) {
	var absent string
	e.features, absent = e.config.Problem.Observe(e.arena.topology, e.arena.Situation(), 0, e.features[:0])
	if absent == "" {
		e.latest = append(e.latest[:0], e.features...)
	}
	clear(observation)
	copy(observation, e.latest)
}
