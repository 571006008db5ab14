package rl

import "fmt"

// window holds the last transitions of an episode while the following rewards are added up:
// n-step returns (Sutton and Barto, 2018, eq. 7.1). It expects the transitions of one episode
// in sequence.
type window struct {
	layout   layout
	discount float32
	rows     []float32 // a ring of as many rows as a return spans
	first    int
	count    int
}

func (w *window) row(i int) []float32 {
	capacity := len(w.rows) / w.layout.width
	return w.rows[(w.first+i)%capacity*w.layout.width:][:w.layout.width]
}

// add opens a row and adds the reward to all open ones.
func (w *window) add(t Transition, discrete bool) {
	row := w.row(w.count)
	w.count++
	copy(row, t.Observation)
	if discrete {
		row[w.layout.action] = float32(t.Action.Choice)
	} else {
		copy(row[w.layout.action:w.layout.reward], t.Action.Values)
	}
	row[w.layout.reward], row[w.layout.discount] = 0, 1
	for i := range w.count {
		open := w.row(i)
		open[w.layout.reward] += open[w.layout.discount] * float32(t.Reward)
		open[w.layout.discount] *= w.discount
	}
}

// ripe closes and returns the oldest row, if it has all its steps or the episode ended with t;
// else nil. The rows of a cut-off episode keep the discount; those of a terminated one do not.
func (w *window) ripe(t Transition, steps int) []float32 {
	if w.count == 0 || (w.count < steps && !t.Ends()) {
		return nil
	}
	row := w.row(0)
	copy(row[w.layout.next:], t.Next)
	if t.Terminated {
		row[w.layout.discount] = 0
	}
	w.first = (w.first + 1) % (len(w.rows) / w.layout.width)
	w.count--
	return row
}

func (w *window) archive(a *Archive) {
	a.Int(&w.first)
	a.Int(&w.count)
	a.Floats(w.rows)
	if capacity := len(w.rows) / w.layout.width; w.count < 0 || w.count >= max(capacity, 1) || w.first < 0 || w.first >= capacity {
		a.Fail(fmt.Errorf("rl: the saved state has %d open returns, must be fewer than %d", w.count, capacity))
	}
}
