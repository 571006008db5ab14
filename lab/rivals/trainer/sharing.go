package trainer

import (
	"github.com/loadline/loadline/internal/rl"
)

// sharing is SARSA(lambda) for one of several services that share a table: each has
// traces of its own, since what one service did did not lead to where another is.
type sharing struct {
	*rl.SARSA
	values []float32 // of all
}

// Explore implements rl.Agent.
func (s sharing) Explore(observation []float32, action *rl.Action) {
	copy(s.SARSA.Weights(), s.values)
	s.SARSA.Explore(observation, action)
}

// Learn implements rl.Agent.
func (s sharing) Learn(t rl.Transition) (loss float64, updated bool) {
	copy(s.SARSA.Weights(), s.values)
	loss, updated = s.SARSA.Learn(t)
	copy(s.values, s.SARSA.Weights())
	return loss, updated
}

// Weights implements rl.Agent.
func (s sharing) Weights() []float32 { return s.values }
