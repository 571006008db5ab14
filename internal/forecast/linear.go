package forecast

import (
	"context"
	"math"
)

// linear extrapolates the least-squares line through the latest bins. Missing samples are left
// out of it; it needs two. It learns nothing from history.
type linear struct {
	task  Task
	past  []float64 // ring
	at    int       // position of the next sample
	count int
}

// NewLinear is the line through the given number of bins, at least two. It is not among Names:
// it forecasts a few bins ahead, for rules that extrapolate.
func NewLinear(task Task, bins int) Model {
	return &linear{task: task, past: make([]float64, max(bins, 2))}
}

func (m *linear) Name() string { return "linear" }

func (m *linear) Fit(context.Context, Frame) error { return nil }

func (m *linear) Forget() { m.at, m.count = 0, 0 }

func (m *linear) Observe(_ int64, row []float64) {
	m.past[m.at] = row[0]
	m.at = (m.at + 1) % len(m.past)
	m.count = min(m.count+1, len(m.past))
}

func (m *linear) Predict(out [][]float64) error {
	var n, sumX, sumY, sumXX, sumXY float64
	for i := range m.count { // x is 0 at the latest bin, and negative before it
		y := m.past[(m.at-1-i+2*len(m.past))%len(m.past)]
		if math.IsNaN(y) {
			continue
		}
		x := -float64(i)
		n, sumX, sumY, sumXX, sumXY = n+1, sumX+x, sumY+y, sumXX+x*x, sumXY+x*y
	}
	if n < 2 {
		return ErrNoData
	}
	slope := (n*sumXY - sumX*sumY) / (n*sumXX - sumX*sumX)
	level := (sumY - slope*sumX) / n
	for h, steps := range m.task.Horizons {
		fill(out[h], level+slope*float64(steps))
	}
	return nil
}
