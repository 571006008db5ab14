package fluid

import (
	"math"
	"math/rand/v2"
)

// poisson draws a count: by inversion when the mean is small, from the normal approximation
// when it is large.
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
