package papers

import (
	"math"
	"testing"
)

func TestSettlesAfter(t *testing.T) {
	nan := math.NaN()
	for name, row := range map[string]struct {
		values []float64
		within func(value, level float64) bool
		want   int
	}{
		"what never moved has settled at once":        {[]float64{2, 2, 2, 2, 2, 2}, Apart(0.1), 0},
		"a ramp settles where it reaches its level":   {[]float64{0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4}, Apart(0.5), 4},
		"one step beyond the tolerance is forgiven":   {[]float64{0, 4, 4, 4, 9, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, Apart(0.5), 1},
		"what moves to the end settles after all":     {[]float64{1, 9, 1, 9, 1, 9, 1, 9, 1, 9}, Apart(0.5), 10},
		"a ratio is of the level":                     {[]float64{10, 13, 100, 110, 95, 100, 100, 104, 100}, Ratio(0.1), 2},
		"what is not measured has not settled":        {[]float64{nan, nan, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, Apart(0.5), 2},
		"nothing measured at the end is no level":     {[]float64{1, 1, 1, 1, nan, nan}, Apart(0.5), 6},
		"an empty series has nothing to settle after": {nil, Apart(1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := SettlesAfter(row.values, row.within); got != row.want {
				t.Errorf("settles after %d, want %d", got, row.want)
			}
		})
	}
}

func TestConvergedAfter(t *testing.T) {
	steps := []float64{10, 20, 30, 40, 50, 60, 70, 80}
	for name, row := range map[string]struct {
		evaluations []float64
		start, want float64
	}{
		"when nine tenths of the way are made":     {[]float64{-100, -60, -12, -9, -8, -8, -8, -8}, -100, 30},
		"a single lucky evaluation does not count": {[]float64{-100, -8, -100, -90, -9, -8, -8, -8}, -100, 50},
		"nothing learned has not converged":        {[]float64{-10, -11, -12, -12, -12, -13, -14, -15}, -10, math.NaN()},
		"three points are no curve":                {[]float64{-3, -2, -1}, -3, math.NaN()},
	} {
		t.Run(name, func(t *testing.T) {
			got := ConvergedAfter(steps, row.evaluations, row.start)
			if got != row.want && !(math.IsNaN(got) && math.IsNaN(row.want)) {
				t.Errorf("converged after %v, want %v", got, row.want)
			}
		})
	}
}

func TestRankCorrelation(t *testing.T) {
	for name, row := range map[string]struct {
		a, b []float64
		want float64
	}{
		"the same order":             {[]float64{1, 2, 3, 10}, []float64{5, 6, 7, 8}, 1},
		"the reverse":                {[]float64{1, 2, 3}, []float64{9, 5, 1}, -1},
		"ties share their rank":      {[]float64{1, 1, 2, 2}, []float64{3, 3, 4, 4}, 1},
		"by hand":                    {[]float64{1, 2, 3, 4}, []float64{2, 1, 4, 3}, 0.6},
		"a constant ranks with none": {[]float64{1, 1, 1}, []float64{1, 2, 3}, math.NaN()},
	} {
		t.Run(name, func(t *testing.T) {
			got := RankCorrelation(row.a, row.b)
			if math.Abs(got-row.want) > 1e-12 || math.IsNaN(got) != math.IsNaN(row.want) {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}

func TestSketch(t *testing.T) {
	nan := math.NaN()
	if got := sketch([][]float64{{nan, nan, 100, 100, 10, 10, 1, 1}, {nan, nan, 100, 100, 10, 10, 1, 1}}, 4); got != " █▅▁" {
		t.Errorf("%q", got)
	}
}
