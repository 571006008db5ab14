package forecast

import (
	"fmt"
	"math"
)

// windows is history prepared for training.
type windows struct {
	tape     tape
	outcomes [][]float64 // samples as measured, by bin; NaN = missing
	ends     []int       // bins at which a window ends
}

// cut fits the scaling on history and lists its windows.
func (m *GRU) cut(history Frame) (windows, error) {
	m.scale = fitScaling(history.Rows, m.series, m.task.Horizons)
	w := windows{outcomes: history.Rows, tape: tape{before: m.scale.Mean}}
	for i, row := range history.Rows {
		w.tape.add(history.ordinal(i), row)
		if i+1 >= m.config.Window && !math.IsNaN(row[0]) && i+m.task.Horizons[0] < history.Bins() {
			w.ends = append(w.ends, i)
		}
	}
	if train, held := m.parts(w, 0); len(train) < m.config.Batch || len(held) == 0 {
		return w, fmt.Errorf("needs at least %d windows of %d steps to train on and one to stop by, got %d and %d: %w",
			m.config.Batch, m.config.Window, len(train), len(held), ErrNoData)
	}
	return w, nil
}

// parts are the windows that a member trains on and those for its early stopping. The first
// member holds out the latest part of history, the second the part before it, and so on: every
// part is held out by one member and trained on by the others, including the latest, which is
// most like the future. No outcome is in both.
func (m *GRU) parts(w windows, member int) (train, held []int) {
	bins := len(w.outcomes)
	size := max(1, int(float64(bins)*m.config.HoldBack))
	to := bins - member%max(1, bins/size)*size
	from, longest := to-size, m.task.longest()
	for _, i := range w.ends {
		switch {
		case i+longest < from || i >= to:
			train = append(train, i)
		case i >= from && (i+longest < to || to == bins):
			held = append(held, i)
		}
	}
	return train, held
}
