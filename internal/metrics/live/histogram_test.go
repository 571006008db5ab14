package live

import (
	"math"
	"math/rand/v2"
	"testing"
)

var inf = math.Inf(1)

func TestQuantileAndShare(t *testing.T) {
	h := histogram{{0.1, 60}, {0.2, 90}, {0.4, 90}, {0.8, 98}, {inf, 100}}
	for name, row := range map[string]struct{ q, want float64 }{
		"in the first bucket":        {0.3, 0.05},
		"at a bound":                 {0.6, 0.1},
		"in the second":              {0.75, 0.15},
		"at the end of an empty one": {0.9, 0.2},
		"after an empty one":         {0.94, 0.6},
		"above the last bound":       {0.99, 0.8},
	} {
		if got, known := h.quantile(row.q); !known || math.Abs(got-row.want) > 1e-9 {
			t.Errorf("%s: %v (%v), want %v", name, got, known, row.want)
		}
	}
	for name, row := range map[string]struct{ seconds, want float64 }{
		"nothing":              {0, 0},
		"half a bucket":        {0.05, 30},
		"exactly at a bound":   {0.2, 90},
		"within an empty one":  {0.3, 90},
		"above the last bound": {5, 98},
	} {
		if got := h.within(row.seconds); math.Abs(got-row.want) > 1e-9 {
			t.Errorf("within %s: %v, want %v", name, got, row.want)
		}
	}
	for name, h := range map[string]histogram{"nothing": nil, "no requests": {{0.1, 0}, {inf, 0}}, "no finite bound": {{inf, 5}}} {
		if got, known := h.quantile(0.5); known {
			t.Errorf("%s has a median: %v", name, got)
		}
	}
}

func TestTidy(t *testing.T) {
	for name, row := range map[string]struct{ given, want histogram }{
		"in any order":            {histogram{{inf, 5}, {0.1, 2}}, histogram{{0.1, 2}, {inf, 5}}},
		"a bound twice":           {histogram{{0.1, 1}, {inf, 5}, {0.1, 2}}, histogram{{0.1, 3}, {inf, 5}}},
		"falling is raised":       {histogram{{0.1, 3}, {0.2, 2.9}, {inf, 5}}, histogram{{0.1, 3}, {0.2, 3}, {inf, 5}}},
		"without an infinite one": {histogram{{0.1, 3}, {0.2, 4}}, nil},
	} {
		got := row.given.tidy()
		if len(got) != len(row.want) {
			t.Errorf("%s: %v", name, got)
			continue
		}
		for i := range got {
			if got[i] != row.want[i] {
				t.Errorf("%s: %v, want %v", name, got, row.want)
			}
		}
	}
}

func TestPlus(t *testing.T) {
	a, b := histogram{{0.1, 1}, {0.2, 2}, {inf, 4}}, histogram{{0.2, 3}, {inf, 3}}
	if got := a.plus(b); len(got) != 2 || got[0] != (bucket{0.2, 5}) || got[1] != (bucket{inf, 7}) {
		t.Errorf("%v", got)
	}
	var none histogram
	if got := none.plus(a).plus(nil); len(got) != 3 || got.total() != 4 {
		t.Errorf("with nothing: %v", got)
	}
}

// TestShareUndoesQuantile on random histograms, wherever the quantile lies within
// the bounds.
func TestShareUndoesQuantile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var h histogram
		bound, count := 0.0, 0.0
		for range 1 + rng.IntN(10) {
			bound += 0.01 + rng.Float64()
			count += rng.Float64()
			h = append(h, bucket{bound, count})
		}
		h = append(h, bucket{inf, count + rng.Float64()})
		q := rng.Float64() * count / h.total()
		seconds, known := h.quantile(q)
		if got := h.within(seconds) / h.total(); !known || math.Abs(got-q) > 1e-9 {
			t.Fatalf("%v: quantile %v is %v, within which are %v", h, q, seconds, got)
		}
	}
}

func TestOverSLO(t *testing.T) {
	all := histogram{{0.1, 80}, {0.2, 90}, {inf, 100}}
	for name, row := range map[string]struct {
		failed histogram
		errors float64
		want   float64
	}{
		"nothing fails":                  {nil, 0, 0.2},
		"failures that are slow":         {histogram{{0.1, 0}, {0.2, 0}, {inf, 10}}, 10, 0.2},
		"failures that are quick":        {histogram{{0.1, 10}, {0.2, 10}, {inf, 10}}, 10, 0.3},
		"failures that are not told":     {nil, 10, 0.3},
		"failures that are told in part": {histogram{{0.1, 0}, {0.2, 0}, {inf, 5}}, 10, 0.25},
		"everything fails":               {nil, 100, 1},
		"more fail than there are":       {nil, 1000, 1},
	} {
		if got := overSLO(all, row.failed, row.errors, 0.1); math.Abs(got-row.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}
