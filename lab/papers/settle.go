package papers

import (
	"math"
	"slices"
)

// SettlesAfter is the number of values before a series has settled: from there on nine of ten
// are within the tolerance of the median of the last third. A series that keeps moving settles
// after all of it. NaN counts as moving.
func SettlesAfter(values []float64, within func(value, level float64) bool) int {
	if len(values) == 0 {
		return 0
	}
	level := median(values[len(values)-max(1, len(values)/3):])
	if math.IsNaN(level) {
		return len(values)
	}
	inside, best := 0, len(values)
	latest := len(values) - max(1, len(values)/3) // less than the last third is chance
	for i := len(values) - 1; i >= 0; i-- {
		ok := within(values[i], level)
		if ok {
			inside++
		}
		if ok && i <= latest && float64(inside) >= 0.9*float64(len(values)-i) {
			best = i
		}
	}
	return best
}

// Ratio is a tolerance relative to the level.
func Ratio(share float64) func(value, level float64) bool {
	return func(value, level float64) bool { return math.Abs(value-level) <= share*math.Abs(level) }
}

// Apart is a tolerance in the values' own unit.
func Apart(by float64) func(value, level float64) bool {
	return func(value, level float64) bool { return math.Abs(value-level) <= by }
}

// ConvergedAfter is the number of steps after which a learning curve, smoothed by the median of
// three neighbours, has first covered nine tenths of the way from its start to its final level,
// the mean of its last quarter. NaN = the curve is too short, or nothing was learned: the final
// level is no better than the start.
func ConvergedAfter(steps, evaluations []float64, start float64) float64 {
	n := len(evaluations)
	if n < 4 {
		return math.NaN()
	}
	final := mean(evaluations[n-n/4:])
	if !(final > start) {
		return math.NaN()
	}
	for i := range evaluations {
		if median(evaluations[max(0, i-1):min(n, i+2)]) >= final-0.1*(final-start) {
			return steps[i]
		}
	}
	return math.NaN()
}

// RankCorrelation is Spearman's: 1 if both series have the same order, -1 if reversed. Equal
// values share their rank. NaN if one of them is constant.
func RankCorrelation(a, b []float64) float64 {
	x, y := ranks(a), ranks(b)
	mx, my := mean(x), mean(y)
	var xy, xx, yy float64
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
	}
	return xy / math.Sqrt(xx*yy)
}

func ranks(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		less, same := 0, 0
		for _, w := range values {
			switch {
			case w < v:
				less++
			case w == v:
				same++
			}
		}
		out[i] = float64(less) + float64(same+1)/2
	}
	return out
}

func median(values []float64) float64 {
	var known []float64
	for _, v := range values {
		if !math.IsNaN(v) {
			known = append(known, v)
		}
	}
	if len(known) == 0 {
		return math.NaN()
	}
	slices.Sort(known)
	n := len(known)
	return (known[(n-1)/2] + known[n/2]) / 2
}
