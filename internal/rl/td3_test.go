package rl

import (
	"math"
	"strings"
	"testing"
)

var smallTD3 = Spaces{Observation: 1, Dimensions: 1}

func smallTD3Config(c TD3Config) TD3Config {
	c.Hidden, c.Batch, c.Replay, c.WarmUp, c.Discount = []int{16}, 16, 100, 1, 0.5
	c.ActorRate, c.CriticRate, c.Soft = 1e-3, 5e-3, 0.05
	return c
}

// TestCriticValues compares the critics with values computed by hand: a reward of 1 each step
// is worth 1 if the episode terminates with it, and 1/(1-gamma) if it is only cut off.
func TestCriticValues(t *testing.T) {
	for name, base := range map[string]TD3Config{"TD3": DefaultTD3(), "DDPG": DefaultDDPG()} {
		for _, end := range []Result{{Reward: 1, Terminated: true}, {Reward: 1, Truncated: true}} {
			agent, err := NewTD3(smallTD3Config(base), smallTD3, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, action := range []float32{-1, 0, 1} {
				agent.Remember(Transition{Observation: []float32{1}, Action: Action{Values: []float32{action}}, Result: end,
					Next: []float32{1}})
			}
			for range 3_000 {
				agent.Update()
			}
			want := 1.0
			if end.Truncated {
				want = 2
			}
			for i := range agent.critics {
				if q := agent.critics[i].Context.Forward(1, []float32{1}, []float32{0.5})[0]; math.Abs(float64(q)-want) > 0.05 {
					t.Errorf("%s: critic %d says %.3f after %+v, want %v", name, i, q, end, want)
				}
			}
		}
	}
}

func TestTargetActionsAreSmoothedWithinTheClip(t *testing.T) {
	c := smallTD3Config(DefaultTD3())
	c.Batch, c.Smoothing, c.Clip = 2_000, 0.2, 0.3
	agent, err := NewTD3(c, smallTD3, 1)
	if err != nil {
		t.Fatal(err)
	}
	agent.Remember(Transition{Observation: []float32{0}, Action: Action{Values: []float32{0}}, Next: []float32{0}})
	agent.replay.Draw(agent.batch, agent.rng)
	agent.setTargetActions()
	centre := float64(agent.actorTarget.context.Forward(1, []float32{0})[0])
	sum, farthest := 0.0, 0.0
	for _, a := range agent.actions {
		sum += float64(a) - centre
		farthest = max(farthest, math.Abs(float64(a)-centre))
	}
	if mean := sum / 2_000; math.Abs(mean) > 0.02 || math.Abs(farthest-0.3) > 1e-5 {
		t.Errorf("noise of mean %.3f and at most %.3f, want 0 and 0.3", mean, farthest)
	}
}

// TestCorrelatedNoise: a discrete Ornstein-Uhlenbeck process that keeps k of itself with
// noise sigma has the standard deviation sigma/sqrt(1-k^2) and the correlation k from step to
// step.
func TestCorrelatedNoise(t *testing.T) {
	c := smallTD3Config(DefaultDDPG())
	c.WarmUp, c.Noise = 0, 0.05
	agent, err := NewTD3(c, smallTD3, 1)
	if err != nil {
		t.Fatal(err)
	}
	action := smallTD3.NewAction()
	const n = 20_000
	squares, products, before := 0.0, 0.0, 0.0
	for range n {
		agent.Explore([]float32{0}, &action)
		now := float64(agent.noise[0])
		squares, products, before = squares+now*now, products+now*before, now
	}
	keep := 1 - c.Revert
	if got, want := math.Sqrt(squares/n), c.Noise/math.Sqrt(1-keep*keep); math.Abs(got/want-1) > 0.05 {
		t.Errorf("deviation %.4f, want %.4f", got, want)
	}
	if got := products / squares; math.Abs(got-keep) > 0.02 {
		t.Errorf("correlation %.3f, want %.3f", got, keep)
	}
	agent.Learn(Transition{Observation: []float32{0}, Action: action, Result: Result{Truncated: true}, Next: []float32{0}})
	if agent.noise[0] != 0 {
		t.Error("noise outlives the episode")
	}
}

func TestTD3ConfigNamesEveryFault(t *testing.T) {
	for _, c := range []TD3Config{DefaultTD3(), DefaultDDPG()} {
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
	}
	err := TD3Config{Hidden: []int{-1}, Critics: 3, Discount: -1, Noise: -1, Clip: math.NaN(), ActorRate: -1}.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"hidden", "critics is 3", "discount", "noise", "clip", "delay", "soft", "every", "batch",
		"actor-rate", "critic-rate"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if _, err := NewTD3(DefaultTD3(), Spaces{Observation: 1, Choices: 2}, 1); err == nil {
		t.Error("took a discrete action space")
	}
}
