package rl

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Env is something to act in. It is used by one goroutine, always Reset first.
// What can fail, fails when an environment is made; from then on it goes on.
type Env interface {
	Spaces() Spaces

	// Reset begins an episode and fills in its first observation. All random numbers of
	// the episode comes from rng, which stays valid until the next Reset.
	Reset(rng *rand.Rand, observation []float32)

	// Step acts, and fills in what is seen then. If a bound or a guard lets
	// something else happen than the action asked for, it changes action to
	// what was applied: that is what must be learned from. The values of a
	// continuous action stay in the slice they came in.
	Step(action *Action, observation []float32) Result
}

// Spaces say what an environment shows and what it takes.
type Spaces struct {
	Observation int // values of an observation
	Choices     int // of a discrete action space; 0 if it is continuous
	Dimensions  int // of a continuous action space; 0 if it is discrete
}

// Discrete says whether an action is a choice.
func (s Spaces) Discrete() bool { return s.Choices > 0 }

// Validate reports every fault at once.
func (s Spaces) Validate() error {
	var faults []error
	if s.Observation < 1 {
		faults = append(faults, fmt.Errorf("rl: an observation of %d values, must be at least 1", s.Observation))
	}
	if s.Choices < 0 || s.Dimensions < 0 || (s.Choices > 0) == (s.Dimensions > 0) {
		faults = append(faults, fmt.Errorf("rl: actions of %d choices and %d dimensions, must be one or the other", s.Choices,
			s.Dimensions))
	}
	return errors.Join(faults...)
}

// Action is what an agent does.
type Action struct {
	Choice int       // of a discrete space, from 0
	Values []float32 // of a continuous one, each from -1 to 1
}

// NewAction makes room for an action.
func (s Spaces) NewAction() Action { return Action{Values: make([]float32, s.Dimensions)} }

// Result is what a step gave.
type Result struct {
	Reward     float64
	Terminated bool // the episode is over by its own rules: nothing comes after
	Truncated  bool // it was cut off, by a time limit for instance: there would have been more
}

// Transition is one step as an agent learns from it. Its slices belong to the
// caller, which copies what it keeps.
type Transition struct {
	Observation []float32
	Action      Action // as applied
	Result
	Next []float32
}

// Ends says whether the step was the last of its episode.
func (r Result) Ends() bool { return r.Terminated || r.Truncated }
