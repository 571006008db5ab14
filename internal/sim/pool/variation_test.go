package pool

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestVariation: factors have the mean 1 and the asked-for coefficient of variation, and are
// correlated for minutes.
func TestVariation(t *testing.T) {
	for _, vary := range []float64{-1, 0, 0.2, 0.5} {
		var v Variation
		v.Begin(vary, rand.New(rand.NewPCG(1, 2)))
		const n = 200_000
		sum, square, next, last := 0.0, 0.0, 0.0, v.Factor
		for range n {
			v.Step(vary)
			sum += v.Factor
			square += v.Factor * v.Factor
			next += (v.Factor - 1) * (last - 1)
			last = v.Factor
		}
		mean := sum / n
		cv := math.Sqrt(max(square/n-mean*mean, 0)) / mean
		if math.Abs(mean-1) > 0.02 || math.Abs(cv-max(vary, 0)) > 0.02 {
			t.Errorf("vary %v: mean %.3f, coefficient of variation %.3f", vary, mean, cv)
		}
		if corr := next / n / (cv * cv); vary > 0 && math.Abs(corr-slowShare*slowKept) > 0.05 {
			t.Errorf("vary %v: correlation %.2f from one step to the next, want %.2f", vary, corr, slowShare*slowKept)
		}
	}
}
