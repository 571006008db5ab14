package rl

import (
	"fmt"
)

// SARSA is SARSA(lambda) with a table (Rummery and Niranjan, 1994; Sutton and
// Barto, 1998, figure 7.11).
//
// Deviations:
//   - A state is a cell of an observation's bins.
//   - Which action follows is known only when it has been applied, so an update
//     happens one step later, with the action that truly followed. That is the
//     order of the figure: a' is chosen before the values change.
//   - A cut-off episode's last state has a value: that of an action drawn as
//     exploration would.
//   - Traces below 1/1000 are dropped, so that an update costs as much as there
//     are traces, and not as much as there are states.
type SARSA struct {
	stateTable
	traces []float32 // e(s, a), as the values
	traced []int     // indices of the traces that are not 0
	open   bool      // a step waits for the next action
	place  int       // of its state and action
	reward float64   // its reward
}

const leastTrace = 1e-3

// NewSARSA makes an agent with an empty table.
func NewSARSA(config TabularConfig, spaces Spaces, seed uint64) (*SARSA, error) {
	t, err := newStateTable(config, spaces, seed)
	if err != nil {
		return nil, err
	}
	return &SARSA{stateTable: t, traces: make([]float32, len(t.values)), traced: make([]int, 0, len(t.values))}, nil
}

// Learn closes the previous step, now that the next action is known, and opens this one; at the
// end of an episode it closes this one too. It returns the mean squared error of the steps it
// closed.
func (s *SARSA) Learn(t Transition) (loss float64, updated bool) {
	s.steps++
	place := s.state(t.Observation)*s.choices + t.Action.Choice
	closed := 0
	if s.open {
		loss += s.close(float64(s.values[place]))
		closed++
	}
	s.open, s.place, s.reward = true, place, t.Reward
	if t.Ends() {
		following := 0.0
		if !t.Terminated {
			next := s.state(t.Next)
			following = float64(s.row(next)[s.explore(next)])
		}
		loss += s.close(following)
		closed++
		s.forget()
	}
	return loss / float64(max(closed, 1)), closed > 0
}

// close updates all that led to the open step, given the value of the following one:
//
//	delta = r + gamma * Q(s', a') - Q(s, a)
//	e(s, a) += 1, or = 1
//	for all s, a:  Q(s, a) += alpha * delta * e(s, a);  e(s, a) *= gamma * lambda
func (s *SARSA) close(following float64) (squared float64) {
	delta := s.reward + s.config.Discount*following - float64(s.values[s.place])
	if s.traces[s.place] == 0 {
		s.traced = append(s.traced, s.place)
	}
	if s.config.Traces == Accumulating {
		s.traces[s.place]++
	} else {
		s.traces[s.place] = 1
	}
	step, fade := float32(s.config.Rate*delta), float32(s.config.Discount*s.config.Lambda)
	kept := s.traced[:0]
	for _, place := range s.traced {
		s.values[place] += step * s.traces[place]
		if s.traces[place] *= fade; s.traces[place] < leastTrace {
			s.traces[place] = 0
		} else {
			kept = append(kept, place)
		}
	}
	s.traced, s.open = kept, false
	return delta * delta
}

// forget resets all traces at the end of an episode.
func (s *SARSA) forget() {
	for _, place := range s.traced {
		s.traces[place] = 0
	}
	s.traced = s.traced[:0]
}

// Archive implements Agent. At the end of an episode nothing is open and
// nothing traced, but a state may be saved at any time.
func (s *SARSA) Archive(a *Archive) {
	s.archive(a, "SARSA")
	a.Bool(&s.open)
	a.Int(&s.place)
	a.Float(&s.reward)
	a.Floats(s.traces)
	if s.place < 0 || s.place >= len(s.values) {
		a.Fail(fmt.Errorf("tabular: the saved state is at place %d of %d", s.place, len(s.values)))
		s.open, s.place = false, 0
	}
	if a.Restoring() {
		// Each place is updated on its own, so their order does not matter.
		s.traced = s.traced[:0]
		for place, trace := range s.traces {
			if trace != 0 {
				s.traced = append(s.traced, place)
			}
		}
	}
}
