package fluid

import (
	"math"
	"math/rand/v2"

	"github.com/loadline/loadline/internal/sim/fluid/surface"
)

var (
	nan     = math.NaN()
	depth50 = -math.Log(0.5)
	depth90 = -math.Log(0.1)
	depth95 = -math.Log(0.05)
	depth99 = -math.Log(0.01)
)

// edgeDepth is the depth of an edge between parts; the last one, at infinity,
// is put where half of the last part lies beyond.
func edgeDepth(k int) float64 {
	return -math.Log(max(1-surface.Edges[k], 1e-12))
}

// poisson draws a count: by inversion when it is small, and from the normal
// that it approaches when it is large.
func poisson(rng *rand.Rand, mean float64) float64 {
	if mean > 30 {
		return max(math.Round(mean+math.Sqrt(mean)*rng.NormFloat64()), 0)
	}
	limit, n := math.Exp(-mean), 0.0
	for p := rng.Float64(); p > limit; p *= rng.Float64() {
		n++
	}
	return n
}
