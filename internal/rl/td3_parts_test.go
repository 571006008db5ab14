package rl

import (
	"math"
	"testing"
)

// TestPartsShareOneReward: two parts, each worth its own observation, with one common reward.
// The critics must distinguish them.
func TestPartsShareOneReward(t *testing.T) {
	c := smallTD3Config(DefaultTD3())
	c.Parts, c.Discount, c.Replay = 2, 0, 1_000
	spaces := Spaces{Observation: 2, Dimensions: 2}
	agent, err := NewTD3(c, spaces, 1)
	if err != nil {
		t.Fatal(err)
	}
	rng := NewRNG(1, 1)
	for range 500 {
		o := []float32{rng.Float32(), rng.Float32()}
		r := 2*float64(o[0]) + 2*float64(o[1])
		agent.Remember(Transition{Observation: o, Action: Action{Values: []float32{0, 0}},
			Result: Result{Reward: r, Truncated: true}, Next: o})
	}
	for range 4_000 {
		agent.Update()
	}
	parts := agent.critics[0].Context.Forward(2, []float32{1, 0}, []float32{0, 0})
	whole := agent.parts.share * (parts[0] + parts[1])
	gap := agent.parts.share * (parts[0] - parts[1])
	if math.Abs(float64(whole)-2) > 0.1 || math.Abs(float64(gap)-2) > 0.2 {
		t.Errorf("the whole is worth %.3f, one part %.3f more than the other; want 2 and 2", whole, gap)
	}
}

func TestPartsMustDivide(t *testing.T) {
	c := smallTD3Config(DefaultTD3())
	c.Parts = 3
	if _, err := NewTD3(c, Spaces{Observation: 4, Dimensions: 3}, 1); err == nil {
		t.Error("four values were divided into three parts")
	}
}

// TestRestraintBringsActionsBack: if acting gains nothing, an actor with restraint does not
// act.
func TestRestraintBringsActionsBack(t *testing.T) {
	c := smallTD3Config(DefaultTD3())
	c.Restraint = 1
	agent, err := NewTD3(c, smallTD3, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []float32{-1, -0.5, 0, 0.5, 1} {
		agent.Remember(Transition{Observation: []float32{1}, Action: Action{Values: []float32{a}},
			Result: Result{Reward: 1, Terminated: true}, Next: []float32{1}})
	}
	for range 2_000 {
		agent.Update()
	}
	action := smallTD3.NewAction()
	if agent.Decide([]float32{1}, &action); math.Abs(float64(action.Values[0])) > 0.1 {
		t.Errorf("it does %v for nothing", action.Values[0])
	}
}
