package study

import (
	"math/rand/v2"

	"github.com/loadline/loadline/internal/rl"
)

// identitySteps is how long an episode of either identity is.
const identitySteps = 100

// Identity shows one of several signs at random and gives a reward of 1 for
// choosing the same. An agent that fails here learns nothing.
type Identity struct {
	rng          *rand.Rand
	signs, shown int
	steps        int
}

// NewIdentity has so many signs.
func NewIdentity(signs int) *Identity { return &Identity{signs: signs} }

// Spaces implements rl.Env.
func (e *Identity) Spaces() rl.Spaces { return rl.Spaces{Observation: e.signs, Choices: e.signs} }

// Reset implements rl.Env.
func (e *Identity) Reset(rng *rand.Rand, observation []float32) {
	e.rng, e.steps = rng, 0
	e.show(observation)
}

func (e *Identity) show(observation []float32) {
	e.shown = e.rng.IntN(e.signs)
	clear(observation)
	observation[e.shown] = 1
}

// Step implements rl.Env.
func (e *Identity) Step(action *rl.Action, observation []float32) rl.Result {
	var r rl.Result
	if action.Choice == e.shown {
		r.Reward = 1
	}
	e.steps++
	r.Truncated = e.steps == identitySteps
	e.show(observation)
	return r
}

// IdentityContinuous shows numbers between -1 and 1 and takes the mean square of
// what the action differs from them as a cost.
type IdentityContinuous struct {
	rng   *rand.Rand
	shown []float32
	steps int
}

// NewIdentityContinuous shows so many numbers.
func NewIdentityContinuous(numbers int) *IdentityContinuous {
	return &IdentityContinuous{shown: make([]float32, numbers)}
}

// Spaces implements rl.Env.
func (e *IdentityContinuous) Spaces() rl.Spaces {
	return rl.Spaces{Observation: len(e.shown), Dimensions: len(e.shown)}
}

// Reset implements rl.Env.
func (e *IdentityContinuous) Reset(rng *rand.Rand, observation []float32) {
	e.rng, e.steps = rng, 0
	e.show(observation)
}

func (e *IdentityContinuous) show(observation []float32) {
	for i := range e.shown {
		e.shown[i] = 2*e.rng.Float32() - 1
	}
	copy(observation, e.shown)
}

// Step implements rl.Env.
func (e *IdentityContinuous) Step(action *rl.Action, observation []float32) rl.Result {
	cost := 0.0
	for i, v := range e.shown {
		off := float64(action.Values[i] - v)
		cost += off * off / float64(len(e.shown))
	}
	e.steps++
	e.show(observation)
	return rl.Result{Reward: -cost, Truncated: e.steps == identitySteps}
}
