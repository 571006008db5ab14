package forecast

import (
	"context"
	"math"
)

// persistence forecasts the last present sample.
type persistence struct{ last float64 }

func (p *persistence) Name() string { return "persistence" }

func (p *persistence) Fit(context.Context, Frame) error { return nil }

func (p *persistence) Forget() { p.last = math.NaN() }

func (p *persistence) Observe(_ int64, row []float64) {
	if !math.IsNaN(row[0]) {
		p.last = row[0]
	}
}

func (p *persistence) Predict(out [][]float64) error {
	if math.IsNaN(p.last) {
		return ErrNoData
	}
	for h := range out {
		fill(out[h], p.last)
	}
	return nil
}

func fill(values []float64, v float64) {
	for i := range values {
		values[i] = v
	}
}
