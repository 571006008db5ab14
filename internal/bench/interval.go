package bench

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadline/loadline/internal/result"
)

// tQuantile is the quantile of Student's t that bounds an interval of the given level.
func tQuantile(df int, level float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: float64(df)}.Quantile((1 + level) / 2)
}

// IntervalOf values: their mean and its 95 % confidence interval, by Student's t. NaN values
// are excluded. One value has a mean and no interval; none has neither.
func IntervalOf(values []float64) Interval { return IntervalAt(values, 0.95) }

// IntervalAt is IntervalOf at another level of confidence.
func IntervalAt(values []float64, level float64) Interval {
	var present []float64
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			present = append(present, v)
		}
	}
	n := float64(len(present))
	sum := 0.0
	for _, v := range present {
		sum += v
	}
	mean := sum / n
	squares := 0.0
	for _, v := range present {
		squares += (v - mean) * (v - mean)
	}
	half := math.NaN()
	if len(present) > 1 {
		half = tQuantile(len(present)-1, level) * math.Sqrt(squares/(n-1)/n)
	}
	return Interval{Mean: result.Number(mean), Low: result.Number(mean - half), High: result.Number(mean + half)}
}
