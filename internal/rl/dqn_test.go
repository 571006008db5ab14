package rl

import (
	"math"
	"strings"
	"testing"
)

var small = Spaces{Observation: 2, Choices: 2}

func smallConfig() DQNConfig {
	c := DefaultDQN()
	c.Hidden, c.WarmUp, c.Replay, c.Batch, c.Discount, c.Rate, c.Soft = []int{16}, 1, 100, 16, 0.5, 5e-3, 0.05
	return c
}

func learned(t *testing.T, c DQNConfig, story []Transition) *DQN {
	agent, err := NewDQN(c, small, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range story {
		agent.Remember(step)
	}
	for range 3_000 {
		agent.Update()
	}
	return agent
}

// TestDQNValues compares learned values with values computed by hand: from state A both actions
// lead to B, from B only action 1 is rewarded.
func TestDQNValues(t *testing.T) {
	a, b := []float32{1, 0}, []float32{0, 1}
	step := func(from []float32, choice int, reward float64, to []float32, terminated, truncated bool) Transition {
		return Transition{Observation: from, Action: Action{Choice: choice},
			Result: Result{Reward: reward, Terminated: terminated, Truncated: truncated}, Next: to}
	}
	for name, row := range map[string]struct {
		story  []Transition
		change func(*DQNConfig)
		want   [2][2]float64 // Q of A and of B
	}{
		"what terminates has no value after it": {
			[]Transition{step(a, 0, 0, b, false, false), step(b, 1, 1, a, true, false), step(a, 1, 0, b, false, false),
				step(b, 0, 0, a, true, false)},
			func(*DQNConfig) {}, [2][2]float64{{0.5, 0.5}, {0, 1}},
		},
		// In a loop, Q(B, 1) = 1 + 0.5*Q(A), Q(A) = 0.5*Q(B, 1).
		"what is cut off has": {
			[]Transition{step(a, 0, 0, b, false, false), step(b, 1, 1, a, false, true), step(a, 1, 0, b, false, false),
				step(b, 0, 0, a, false, true)},
			func(*DQNConfig) {}, [2][2]float64{{2.0 / 3, 2.0 / 3}, {1.0 / 3, 4.0 / 3}},
		},
		"copies and squared errors come to the same": {
			[]Transition{step(a, 0, 0, b, false, false), step(b, 1, 1, a, false, true), step(a, 1, 0, b, false, false),
				step(b, 0, 0, a, false, true)},
			func(c *DQNConfig) { c.Soft, c.Copy, c.Huber, c.Double, c.Dueling = 0, 20, 0, false, true }, [2][2]float64{{2.0 / 3, 2.0 / 3},
				{1.0 / 3, 4.0 / 3}},
		},
		// Over two steps, the rewards after each action count, good or bad.
		"returns of two steps span them": {
			[]Transition{step(a, 0, 0, b, false, false), step(b, 1, 1, a, true, false), step(a, 1, 0, b, false, false),
				step(b, 0, 0, a, true, false)},
			func(c *DQNConfig) { c.Steps = 2 }, [2][2]float64{{0.5, 0}, {0, 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := smallConfig()
			row.change(&config)
			agent := learned(t, config, row.story)
			for s, state := range [][]float32{a, b} {
				for choice, q := range agent.acting.Outputs(state) {
					if math.Abs(float64(q)-row.want[s][choice]) > 0.02 {
						t.Errorf("Q(%c, %d) = %.3f, want %.3f", "AB"[s], choice, q, row.want[s][choice])
					}
				}
			}
		})
	}
}

func TestDQNAdoptsAnother(t *testing.T) {
	first, err := NewDQN(smallConfig(), small, 1)
	if err != nil {
		t.Fatal(err)
	}
	second, err := NewDQN(smallConfig(), small, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Adopt(first.Net()); err != nil {
		t.Fatal(err)
	}
	for i, w := range first.Weights() {
		if second.Weights()[i] != w || second.target.Params()[i] != w {
			t.Fatalf("weight %d differs", i)
		}
	}
	c := smallConfig()
	c.Hidden = []int{17}
	other, err := NewDQN(c, small, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Adopt(other.Net()); err == nil {
		t.Error("took the weights of another design")
	}
}

func TestDQNConfigNamesEveryFault(t *testing.T) {
	if err := DefaultDQN().Validate(); err != nil {
		t.Fatal(err)
	}
	c := DQNConfig{Hidden: []int{0}, Discount: 2, Rate: math.NaN(), Soft: 1, Copy: 5, Huber: -1, Priority: Priority{Exponent: 3}}
	err := c.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"hidden", "discount", "rate is NaN", "copy is 5 and soft 1", "huber", "priority is 3", "explore",
		"batch is 0", "every", "updates", "replay is 0", "steps is 0"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if _, err := NewDQN(DefaultDQN(), Spaces{Observation: 1, Dimensions: 1}, 1); err == nil {
		t.Error("took a continuous action space")
	}
}

func TestDQNSettingsReadWhatTheyWrite(t *testing.T) {
	c := DefaultDQN()
	c.Hidden, c.Steps, c.Double, c.Rate = []int{400, 300}, 3, false, 2.5e-4
	var d DQNConfig
	for i, s := range c.Settings() {
		if err := d.Settings()[i].Set(s.String()); err != nil {
			t.Errorf("%s: %v", s.Key, err)
		}
	}
	if got, want := Describe(d.Settings()), Describe(c.Settings()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for i, bad := range []string{"64xx", "maybe", "2", "both", "x"} {
		if err := d.Settings()[i].Set(bad); err == nil {
			t.Errorf("%s=%s: no error", d.Settings()[i].Key, bad)
		}
	}
}
