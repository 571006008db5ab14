package study

import (
	"math/rand/v2"

	"github.com/loadline/loadline/internal/rl"
)

// identitySteps is the length of an episode of either identity.
const identitySteps = 100

// Identity shows one of several signs at random; choosing the same gives a reward of 1. An
// agent that fails here learns nothing.
type Identity struct {
	rng          *rand.Rand
	signs, shown int
	steps        int
}

// NewIdentity has the given number of signs.
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

// IdentityContinuous shows numbers between -1 and 1; the cost is the mean square of the
// action's deviation from them.
type IdentityContinuous struct {
	rng   *rand.Rand
	shown []float32
	steps int
}

// NewIdentityContinuous shows the given number of numbers.
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
