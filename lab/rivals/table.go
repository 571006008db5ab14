package rivals

import (
	"fmt"
	"math"
)

// Levels is the number of levels of each input. The observation of a tabular rival
// consists of level numbers, from 0.
type Levels []int

// Edges are those between the levels, for an agent that discretises observations.
func (l Levels) Edges() [][]float32 {
	edges := make([][]float32, len(l))
	for i, n := range l {
		for level := 1; level < n; level++ {
			edges[i] = append(edges[i], float32(level))
		}
	}
	return edges
}

// States is the number of combinations.
func (l Levels) States() int {
	states := 1
	for _, n := range l {
		states *= n
	}
	return states
}

func (l Levels) state(seen []float32) int {
	state := 0
	for i, n := range l {
		state = state*n + int(seen[i])
	}
	return state
}

// level of a value: the number of edges that it has reached.
func level(v float64, edges ...float64) float32 {
	n := 0
	for n < len(edges) && v >= edges[n] {
		n++
	}
	return float32(n)
}

// Table of action values. Tried marks those that were updated: the initial value of an
// untried action would be the best one where rewards are negative.
type Table struct {
	Values []float32
	Tried  []float32 // 1 = tried; float32 because model files hold arrays of that type
}

// NewTable is a table without any tried action.
func NewTable(states, choices int) Table {
	return Table{Values: make([]float32, states*choices), Tried: make([]float32, states*choices)}
}

func (t Table) check(states, choices int) error {
	if n := states * choices; len(t.Values) != n || len(t.Tried) != n {
		return fmt.Errorf("its table has %d values and %d marks, must have %d states of %d actions; train it again", len(t.Values),
			len(t.Tried), states, choices)
	}
	return nil
}

// Note marks an action as tried.
func (t Table) Note(l Levels, seen []float32, choice int) {
	t.Tried[l.state(seen)*(len(t.Values)/l.States())+choice] = 1
}

// best is the best action among those that were tried in the state. If none was, it is
// that of the nearest state with a tried action: a policy must also act in an overload
// that did not occur in training. For an empty table it is the first action, which changes
// nothing.
func (t Table) best(l Levels, seen []float32) int {
	choices := len(t.Values) / l.States()
	if best := t.bestOf(l.state(seen), choices); best >= 0 {
		return best
	}
	found, least := 0, math.MaxInt
	for state := range l.States() {
		if away := l.distance(state, seen); away < least {
			if best := t.bestOf(state, choices); best >= 0 {
				found, least = best, away
			}
		}
	}
	return found
}

// bestOf is the best tried action of a state; -1 = none was tried.
func (t Table) bestOf(state, choices int) int {
	best, from := -1, state*choices
	for c := range choices {
		if t.Tried[from+c] != 0 && (best < 0 || t.Values[from+c] > t.Values[from+best]) {
			best = c
		}
	}
	return best
}

// second is the next best action that was tried in the state, and by how much less it is valued;
// -1 = there is none.
func (t Table) second(l Levels, seen []float32, best int) (choice int, less float32) {
	choices := len(t.Values) / l.States()
	from := l.state(seen) * choices
	choice = -1
	for c := range choices {
		if c != best && t.Tried[from+c] != 0 && (choice < 0 || t.Values[from+c] > t.Values[from+choice]) {
			choice = c
		}
	}
	if choice < 0 || t.Tried[from+best] == 0 {
		return -1, 0
	}
	return choice, t.Values[from+best] - t.Values[from+choice]
}

// distance of a state from the observation, in levels.
func (l Levels) distance(state int, seen []float32) int {
	sum := 0
	for i := len(l) - 1; i >= 0; i-- {
		d := state%l[i] - int(seen[i])
		sum += max(d, -d)
		state /= l[i]
	}
	return sum
}
