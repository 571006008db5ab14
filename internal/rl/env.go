package rl

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Env is an environment. It is used by one goroutine, always Reset first. Errors occur only
// when it is made; steps cannot fail.
type Env interface {
	Spaces() Spaces

	// Reset begins an episode and fills in its first observation. All random numbers of the
	// episode come from rng, which is valid until the next Reset.
	Reset(rng *rand.Rand, observation []float32)

	// Step applies an action, and fills in the next observation. If a bound or a guard changes
	// the action, it sets action to what was applied: that is what must be learned from. The
	// values of a continuous action stay in their slice.
	Step(action *Action, observation []float32) Result
}

// Spaces describe the observations and actions of an environment.
type Spaces struct {
	Observation int // values of an observation
	Choices     int // of a discrete action space; 0 if it is continuous
	Dimensions  int // of a continuous action space; 0 if it is discrete
}

// Discrete reports whether an action is a choice.
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

// Action is an agent's action.
type Action struct {
	Choice int       // of a discrete space, from 0
	Values []float32 // of a continuous one, each from -1 to 1
}

// NewAction allocates an action.
func (s Spaces) NewAction() Action { return Action{Values: make([]float32, s.Dimensions)} }

// Result is the result of a step.
type Result struct {
	Reward     float64
	Terminated bool // the episode ended by its own rules
	Truncated  bool // it was cut off, for example by a time limit
}

// Transition is one step for learning. Its slices belong to the caller; copy what is kept.
type Transition struct {
	Observation []float32
	Action      Action // as applied
	Result
	Next []float32
}

// Ends reports whether the step was the last of its episode.
func (r Result) Ends() bool { return r.Terminated || r.Truncated }
