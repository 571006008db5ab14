package rl_test

import (
	"context"
	"flag"
	"testing"

	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/lab/study"
)

var seeds = flag.Int("seeds", 1, "how many seeds must solve CartPole and Pendulum")

// solve trains until an evaluation is good enough or the steps are done, takes the best policy,
// and evaluates it on 20 separate episodes. It chooses by 40: with fewer, policies would pass
// that fail from a rare start.
func solve(t *testing.T, env rl.Env, agent rl.Agent, seed uint64, steps int, goodEnough float64) (mean float64, used int) {
	training := rl.NewTraining(env, agent, seed, rl.TrainingConfig{Steps: steps, EvaluateEvery: 1_000, Episodes: 40,
		GoodEnough: &goodEnough})
	if err := training.Run(context.Background(), rl.Hooks{}); err != nil {
		t.Fatal(err)
	}
	training.AdoptBest()
	return rl.Evaluate(env, agent, seed+1_000, 20, 0).Mean(), training.Steps()
}

func TestDQNSolvesCartPole(t *testing.T) {
	for seed := range uint64(*seeds) {
		env, config := study.NewCartPole(), rl.DefaultDQN()
		config.Steps = 3
		agent, err := rl.NewDQN(config, env.Spaces(), seed+1)
		if err != nil {
			t.Fatal(err)
		}
		mean, steps := solve(t, env, agent, seed+1, 60_000, 500)
		t.Logf("seed %d: mean return %.1f after %d steps", seed+1, mean, steps)
		if mean < 475 {
			t.Errorf("seed %d: mean return %.1f, want at least 475", seed+1, mean)
		}
	}
}

func TestTD3SolvesPendulum(t *testing.T) {
	for seed := range uint64(*seeds) {
		env, config := study.NewPendulum(), rl.DefaultTD3()
		config.ActorRate, config.CriticRate, config.Batch, config.Soft = 1e-3, 1e-3, 64, 0.01
		agent, err := rl.NewTD3(config, env.Spaces(), seed+1)
		if err != nil {
			t.Fatal(err)
		}
		mean, steps := solve(t, env, agent, seed+1, 10_000, -100)
		t.Logf("seed %d: mean return %.1f after %d steps", seed+1, mean, steps)
		if mean < -200 {
			t.Errorf("seed %d: mean return %.1f, want at least -200", seed+1, mean)
		}
	}
}
