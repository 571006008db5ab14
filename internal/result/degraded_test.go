package result

import (
	"math"
	"testing"
)

// TestDegradedDecides: dropped calls count, and results from before they were counted are judged by
// what they have.
func TestDegradedDecides(t *testing.T) {
	for name, c := range map[string]struct {
		over, degraded, want Number
		met                  bool
	}{
		"nothing dropped":        {0.004, 0.004, 0.004, true},
		"dropped beyond the SLO": {0.004, 0.02, 0.02, false},
		"an older result":        {0.02, 0, 0.02, false},
		"no requests":            {Number(math.NaN()), Number(math.NaN()), Number(math.NaN()), false},
	} {
		r := Result{OverSLORatio: c.over, DegradedRatio: c.degraded}
		got := r.Degraded()
		if same := got == c.want || math.IsNaN(float64(got)) && math.IsNaN(float64(c.want)); !same || r.SLOMet() != c.met {
			t.Errorf("%s: %v, met %v; want %v, %v", name, got, r.SLOMet(), c.want, c.met)
		}
	}
}
