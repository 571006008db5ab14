package rl_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/lab/study"
)

// subject is an agent under the contract of all agents.
type subject struct {
	name  string
	new   func(spaces rl.Spaces, seed uint64) (rl.Agent, error)
	steps int // in which it learns identity
}

func subjects() []subject {
	return []subject{
		{"DQN", newDQN(func(*rl.DQNConfig) {}), 2_000},
		{"DQN with every option", newDQN(func(c *rl.DQNConfig) {
			c.Dueling, c.Norm, c.Steps, c.Huber, c.Longest = true, true, 3, 0, 0
			c.Soft, c.Copy, c.Priority.Exponent, c.Decay = 0, 50, 0.6, 1e-4
			c.Discount = 0.5 // rewards of three steps are noise here
		}), 3_000},
		{"TD3", newTD3(rl.DefaultTD3(), func(*rl.TD3Config) {}), 3_000},
		{"TD3 with layer normalisation", newTD3(rl.DefaultTD3(), func(c *rl.TD3Config) {
			c.Norm, c.Every, c.Updates, c.Longest = true, 2, 2,
				1
		}), 3_000},
		{"DDPG", newTD3(rl.DefaultDDPG(), func(c *rl.TD3Config) { c.Soft, c.ActorRate = 0.005, 1e-3 }), 4_000},
		{"Q-learning", newTable(func(c rl.TabularConfig, s rl.Spaces, seed uint64) (rl.Agent, error) {
			return rl.NewTabularQ(c, s, seed)
		},
			""), 4_000},
		{"SARSA with replacing traces", newTable(newSARSA, rl.Replacing), 4_000},
		{"SARSA with accumulating traces", newTable(newSARSA, rl.Accumulating), 4_000},
	}
}

func newDQN(change func(*rl.DQNConfig)) func(rl.Spaces, uint64) (rl.Agent, error) {
	return func(s rl.Spaces, seed uint64) (rl.Agent, error) {
		c := rl.DefaultDQN()
		c.Hidden, c.WarmUp, c.Replay, c.Batch, c.Discount = []int{16, 16}, 200, 1_000, 32, 0.9
		c.Explore = rl.Schedule{Shape: rl.Exponential, From: 1, To: 0.05, Steps: 300}
		change(&c)
		return rl.NewDQN(c, s, seed)
	}
}

func newTD3(c rl.TD3Config, change func(*rl.TD3Config)) func(rl.Spaces, uint64) (rl.Agent, error) {
	return func(s rl.Spaces, seed uint64) (rl.Agent, error) {
		c.Hidden, c.WarmUp, c.Replay, c.Batch, c.Discount = []int{32, 32}, 500, 2_000, 64, 0.5
		c.ActorRate, c.CriticRate = 1e-3, 1e-3
		change(&c)
		return rl.NewTD3(c, s, seed)
	}
}

func newSARSA(c rl.TabularConfig, s rl.Spaces, seed uint64) (rl.Agent, error) {
	return rl.NewSARSA(c, s, seed)
}

func newTable(build func(rl.TabularConfig, rl.Spaces, uint64) (rl.Agent, error), traces rl.Traces) func(rl.Spaces, uint64) (rl.Agent,
	error) {
	return func(s rl.Spaces, seed uint64) (rl.Agent, error) {
		if !s.Discrete() {
			return nil, fmt.Errorf("needs choices")
		}
		c := rl.DefaultTabular()
		c.Edges, c.Rate, c.Discount, c.Lambda = rl.EvenEdges(s.Observation, 2, 0, 1), 0.1, 0.5, 0.3
		if traces != "" {
			c.Traces = traces
		}
		return build(c, s, seed)
	}
}

// identity is the task that fits the agent's actions.
func (s subject) identity(t testing.TB, seed uint64) (rl.Env, rl.Agent) {
	for _, env := range []rl.Env{study.NewIdentity(4), study.NewIdentityContinuous(2)} {
		if agent, err := s.new(env.Spaces(), seed); err == nil {
			return env, agent
		}
	}
	t.Fatal("fits neither identity")
	return nil, nil
}

func train(t testing.TB, env rl.Env, agent rl.Agent, config rl.TrainingConfig) *rl.Training {
	training := rl.NewTraining(env, agent, 7, config)
	if err := training.Run(context.Background(), rl.Hooks{}); err != nil {
		t.Fatal(err)
	}
	return training
}

func TestAgents(t *testing.T) {
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Run("learns to choose what it is shown", s.learnsIdentity)
			t.Run("same seed gives the same weights", s.isDeterministic)
			t.Run("watching does not change the outcome", s.isUndisturbedByEvaluation)
			t.Run("a checkpoint ends where the unbroken run ends", s.resumes)
			t.Run("learns without allocating", s.doesNotAllocate)
			t.Run("refuses damaged and foreign states", s.refusesBadStates)
		})
	}
}

func (s subject) learnsIdentity(t *testing.T) {
	env, agent := s.identity(t, 1)
	train(t, env, agent, rl.TrainingConfig{Steps: s.steps})
	want := 99.0
	if !env.Spaces().Discrete() {
		want = -1 // a mean square error of 0.01
	}
	if got := rl.Evaluate(env, agent, 1, 10, 0).Mean(); got < want {
		t.Errorf("mean return %.2f, want at least %.2f", got, want)
	}
}

func (s subject) isDeterministic(t *testing.T) {
	weights := func(seed uint64) []float32 {
		env, agent := s.identity(t, seed)
		train(t, env, agent, rl.TrainingConfig{Steps: 900})
		return slices.Clone(agent.Weights())
	}
	first := weights(3)
	if !slices.Equal(first, weights(3)) {
		t.Error("two runs of one seed differ")
	}
	if slices.Equal(first, weights(4)) {
		t.Error("two seeds give the same weights")
	}
}

func (s subject) isUndisturbedByEvaluation(t *testing.T) {
	env, plain := s.identity(t, 3)
	train(t, env, plain, rl.TrainingConfig{Steps: 900})
	env, watched := s.identity(t, 3)
	train(t, env, watched, rl.TrainingConfig{Steps: 900, EvaluateEvery: 100, Episodes: 2})
	if !slices.Equal(plain.Weights(), watched.Weights()) {
		t.Error("weights differ")
	}
}

func (s subject) resumes(t *testing.T) {
	config := rl.TrainingConfig{Steps: 1_200, EvaluateEvery: 200, Episodes: 2}
	env, unbroken := s.identity(t, 5)
	want := train(t, env, unbroken, config).Save()

	env, first := s.identity(t, 5)
	half := rl.NewTraining(env, first, 7, config)
	ctx, cancel := context.WithCancel(context.Background())
	err := half.Run(ctx, rl.Hooks{AtEpisode: func(t *rl.Training) {
		if t.Steps() >= config.Steps/2 {
			cancel()
		}
	}})
	if err == nil || half.Steps() >= config.Steps {
		t.Fatalf("not interrupted: %v after %d steps", err, half.Steps())
	}
	saved := half.Save()

	env, second := s.identity(t, 99) // everything that the seed determined is in the checkpoint
	rest := rl.NewTraining(env, second, 98, config)
	if err := rest.Restore(saved); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(rest.Save(), saved) {
		t.Error("restoring and saving changes the state")
	}
	if err := rest.Run(context.Background(), rl.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(rest.Save(), want) {
		t.Error("the resumed run ended otherwise")
	}
	if len(rest.Curve()) != 6 {
		t.Errorf("the curve has %d points, want 6", len(rest.Curve()))
	}
}

func (s subject) doesNotAllocate(t *testing.T) {
	env, agent := s.identity(t, 1)
	train(t, env, agent, rl.TrainingConfig{Steps: 1_000})
	spaces := env.Spaces()
	action, observation, next := spaces.NewAction(), make([]float32, spaces.Observation), make([]float32, spaces.Observation)
	env.Reset(rand.New(rand.NewPCG(1, 2)), observation)
	steps := 0
	allocations := testing.AllocsPerRun(100, func() {
		agent.Explore(observation, &action)
		result := env.Step(&action, next)
		steps++
		result.Truncated = steps%20 == 0
		agent.Learn(rl.Transition{Observation: observation, Action: action, Result: result, Next: next})
		observation, next = next, observation
	})
	if allocations != 0 {
		t.Errorf("%v allocations a step", allocations)
	}
}

func (s subject) refusesBadStates(t *testing.T) {
	env, agent := s.identity(t, 1)
	train(t, env, agent, rl.TrainingConfig{Steps: 900})
	saved := rl.Save(agent)
	before := slices.Clone(agent.Weights())
	flipped := slices.Clone(saved)
	flipped[len(flipped)/2] ^= 1
	for name, bad := range map[string][]byte{
		"nothing": nil, "torn": saved[:len(saved)-9], "damaged": flipped, "foreign": []byte(strings.Repeat("PK", 100)),
	} {
		if err := rl.Restore(bad, agent); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if !slices.Equal(before, agent.Weights()) {
		t.Error("a refused state changed the weights")
	}
	for _, other := range subjects() {
		if other.name == s.name {
			continue
		}
		_, stranger := other.identity(t, 1)
		if err := rl.Restore(saved, stranger); err == nil {
			t.Errorf("%s took a state of %s", other.name, s.name)
		}
	}
}
