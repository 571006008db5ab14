package validate

import (
	"errors"
	"math"
	"slices"
)

// ErrNoData means that the measured data was not found.
var ErrNoData = errors.New("no validation data")

// Errors are the distances of predictions from measurements. An error is
// |predicted/measured - 1|, as a share.
type Errors struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	// Bias is the median of predicted/measured - 1: positive if the predictions are too high.
	Bias float64 `json:"bias"`
}

// pairs collects predictions and measurements.
type pairs struct{ predicted, measured []float64 }

func (p *pairs) add(predicted, measured float64) {
	if math.IsNaN(predicted) || math.IsNaN(measured) || measured <= 0 {
		return // nothing ended: no ratio
	}
	p.predicted = append(p.predicted, predicted)
	p.measured = append(p.measured, measured)
}

func (p *pairs) errors() Errors {
	off := make([]float64, len(p.measured))
	size := make([]float64, len(p.measured))
	for i, m := range p.measured {
		off[i] = p.predicted[i]/m - 1
		size[i] = math.Abs(off[i])
	}
	return Errors{N: len(off), Median: quantile(size, 0.5), P90: quantile(size, 0.9), Bias: quantile(off, 0.5)}
}

// quantile of unsorted values, by linear interpolation; 0 for none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	at := q * float64(len(v)-1)
	lo := int(at)
	if lo == len(v)-1 {
		return v[lo]
	}
	return v[lo] + (at-float64(lo))*(v[lo+1]-v[lo])
}

func median(values []float64) float64 { return quantile(values, 0.5) }

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
