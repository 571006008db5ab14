package rl

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/loadline/loadline/internal/nn"
)

var drpc = Spaces{Observation: 5, Dimensions: 3}

// teach gives a student the actions of a smooth teacher.
func teach(s *Clone, rng *rand.Rand, examples int) {
	state, action := make([]float32, 5), drpc.NewAction()
	for range examples {
		for i := range state {
			state[i] = rng.Float32()
		}
		teacher(state, &action)
		s.Remember(state, action)
	}
}

func teacher(state []float32, action *Action) {
	for i := range action.Values {
		action.Values[i] = float32(math.Tanh(2 * float64(state[i]-state[4])))
	}
}

func TestCloneImitates(t *testing.T) {
	config := DefaultClone()
	config.Rate, config.Decay = 3e-3, 0
	s, err := NewClone(nn.Student(), config, drpc, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s.Net().Size() != 643 {
		t.Errorf("%d parameters, want DRPC's 643", s.Net().Size())
	}
	rng := rand.New(rand.NewPCG(1, 1))
	teach(s, rng, 4_000)
	first := s.Update()
	for range 4_000 {
		s.Update()
	}
	state, want, got, sum := make([]float32, 5), drpc.NewAction(), drpc.NewAction(), 0.0
	for range 500 { // unseen states
		for i := range state {
			state[i] = rng.Float32()
		}
		teacher(state, &want)
		s.Decide(state, &got)
		for i := range want.Values {
			off := float64(want.Values[i] - got.Values[i])
			sum += off * off / 1_500
		}
	}
	if sum > 2e-3 {
		t.Errorf("mean square difference %.4f on new states (%.4f at first), want at most 0.002", sum, first)
	}
	if n := testing.AllocsPerRun(100, func() { s.Update() }); n != 0 {
		t.Errorf("%v allocations an update", n)
	}
}

func TestCloneResumes(t *testing.T) {
	build := func(seed uint64) *Clone {
		s, err := NewClone(nn.Student(), DefaultClone(), drpc, seed)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := build(1)
	teach(s, rand.New(rand.NewPCG(1, 1)), 300)
	for range 50 {
		s.Update()
	}
	resumed := build(2)
	if err := Restore(Save(s), resumed); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		s.Update()
		resumed.Update()
	}
	if !bytes.Equal(Save(s), Save(resumed)) {
		t.Error("the resumed student differs")
	}
}

func TestCloneRefusesWhatDoesNotFit(t *testing.T) {
	if (CloneConfig{}).Validate() == nil {
		t.Error("took an empty config")
	}
	for _, spaces := range []Spaces{{Observation: 4, Dimensions: 3}, {Observation: 5, Dimensions: 2}, {Observation: 5, Choices: 3}} {
		if _, err := NewClone(nn.Student(), DefaultClone(), spaces, 1); err == nil {
			t.Errorf("took %+v", spaces)
		}
	}
}
