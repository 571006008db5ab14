package rivals

import (
	"fmt"
	"math"
)

// Levels are how many there are of each thing that is seen. What a tabular rival
// sees is the number of a level, from 0.
type Levels []int

// Edges are between the levels, for an agent that cuts observations into bins.
func (l Levels) Edges() [][]float32 {
	edges := make([][]float32, len(l))
	for i, n := range l {
		for level := 1; level < n; level++ {
			edges[i] = append(edges[i], float32(level))
		}
	}
	return edges
}

// States are as many as there are combinations.
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

// level of a value: how many edges it has reached.
func level(v float64, edges ...float64) float32 {
	n := 0
	for n < len(edges) && v >= edges[n] {
		n++
	}
	return float32(n)
}

// Table of action values. Tried says which were ever updated: the value of what was
// never tried says nothing, and where rewards are below 0 it would look best of all.
type Table struct {
	Values []float32
	Tried  []float32 // 1 = was tried; as numbers, since that is what a model file holds
}

// NewTable has tried nothing.
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

// Note that an action was tried.
func (t Table) Note(l Levels, seen []float32, choice int) {
	t.Tried[l.state(seen)*(len(t.Values)/l.States())+choice] = 1
}

// best action of those that were tried in the state. Where none was, it is that of
// the nearest state in which one was, by levels: a policy in an overload that it has
// never seen must not stand still. An empty table does the first, which must be to do
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

// bestOf a state; -1 = nothing was tried in it.
func (t Table) bestOf(state, choices int) int {
	best, from := -1, state*choices
	for c := range choices {
		if t.Tried[from+c] != 0 && (best < 0 || t.Values[from+c] > t.Values[from+best]) {
			best = c
		}
	}
	return best
}

// distance of a state from what is seen, in levels.
func (l Levels) distance(state int, seen []float32) int {
	sum := 0
	for i := len(l) - 1; i >= 0; i-- {
		d := state%l[i] - int(seen[i])
		sum += max(d, -d)
		state /= l[i]
	}
	return sum
}
