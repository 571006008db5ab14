package bench

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestIntervalByHand(t *testing.T) {
	// Standard deviation sqrt(2.5), standard error sqrt(0.5), t of 4 degrees 2.776445.
	i := IntervalOf([]float64{1, 2, 3, 4, 5})
	near(t, "mean", float64(i.Mean), 3, 1e-12)
	near(t, "low", float64(i.Low), 3-2.776445*math.Sqrt(0.5), 1e-6)
	near(t, "high", float64(i.High), 3+2.776445*math.Sqrt(0.5), 1e-6)
}

func TestIntervalOfFewValues(t *testing.T) {
	one := IntervalOf([]float64{7, math.NaN()})
	if float64(one.Mean) != 7 || !math.IsNaN(float64(one.Low)) || !math.IsNaN(float64(one.High)) {
		t.Errorf("one value has a mean and no interval, got %+v", one)
	}
	if n := IntervalOf(nil); !math.IsNaN(float64(n.Mean)) {
		t.Errorf("no value has no mean, got %+v", n)
	}
	if same := IntervalOf([]float64{2, 2, 2}); same.Low != 2 || same.High != 2 {
		t.Errorf("equal values have an interval of no width, got %+v", same)
	}
}

func TestStudentsT(t *testing.T) {
	for df, want := range map[int]float64{1: 12.706205, 30: 2.042272, 31: 2.039513, 40: 2.021075, 100: 1.983972, 1000: 1.962339} {
		near(t, "t", tQuantile(df, 0.95), want, 1e-4)
	}
}
