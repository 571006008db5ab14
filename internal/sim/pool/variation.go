package pool

import (
	"math"
	"math/rand/v2"
	"time"
)

// Variation is how the CPU that neighbours want on one node varies around its mean: a log-normal
// factor with a slow part, which decays, and a fast part, which is drawn anew at each step. The
// times and shares are those of production machines (docs/cluster.md).
type Variation struct {
	Factor float64 // mean 1

	rng  *rand.Rand
	slow float64 // standard normal
}

const (
	// VariationStep is the time between two factors.
	VariationStep = 10 * time.Second

	slowDecay = 140 * time.Second // in which the slow part loses all but 1/e
	slowShare = 0.78              // of the variance
)

var slowKept = math.Exp(-VariationStep.Seconds() / slowDecay.Seconds())

// Begin draws the first factor. vary is the coefficient of variation; 0 or less = none.
func (v *Variation) Begin(vary float64, rng *rand.Rand) {
	if v.Factor = 1; vary <= 0 {
		return
	}
	v.rng, v.slow = rng, rng.NormFloat64()
	v.draw(vary)
}

// Step draws the next factor.
func (v *Variation) Step(vary float64) {
	if vary <= 0 {
		return
	}
	v.slow = slowKept*v.slow + math.Sqrt(1-slowKept*slowKept)*v.rng.NormFloat64()
	v.draw(vary)
}

func (v *Variation) draw(vary float64) {
	x := math.Sqrt(slowShare)*v.slow + math.Sqrt(1-slowShare)*v.rng.NormFloat64()
	square := math.Log1p(vary * vary)
	v.Factor = math.Exp(math.Sqrt(square)*x - square/2)
}
