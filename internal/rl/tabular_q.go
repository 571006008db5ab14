package rl

import (
	"slices"
)

// TabularQ is Q-learning (Watkins, 1989; Sutton and Barto, 2018, section 6.5).
//
// Deviations: a state is a cell of an observation's bins; a cut-off episode's last state has a
// value.
type TabularQ struct{ stateTable }

// NewTabularQ makes an agent with an empty table.
func NewTabularQ(config TabularConfig, spaces Spaces, seed uint64) (*TabularQ, error) {
	t, err := newStateTable(config, spaces, seed)
	if err != nil {
		return nil, err
	}
	return &TabularQ{t}, nil
}

// Learn makes one step of
//
//	Q(s, a) += alpha * (r + gamma * max_a' Q(s', a') - Q(s, a))    (eq. 6.8)
//
// and returns the squared error.
func (q *TabularQ) Learn(t Transition) (loss float64, updated bool) {
	q.steps++
	target := t.Reward
	if !t.Terminated {
		target += q.config.Discount * float64(slices.Max(q.row(q.state(t.Next))))
	}
	value := &q.row(q.state(t.Observation))[t.Action.Choice]
	delta := target - float64(*value)
	*value += float32(q.config.Rate * delta)
	return delta * delta, true
}

// Archive implements Agent.
func (q *TabularQ) Archive(a *Archive) { q.archive(a, "Q-learning") }
