package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/loadline/loadline"
)

// Stream returns the random source of one purpose. Every purpose has its own, so that two runs
// with one seed have the same arrivals and demands even when their policies act differently.
func Stream(seed uint64, purpose, index uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed^0x9e3779b97f4a7c15, purpose<<32|index))
}

// TenantSeed is the seed of one of several applications on a cluster. Its requests are those of a
// run in which it is alone with this seed.
func TenantSeed(seed uint64, tenant int) uint64 { return seed + uint64(tenant)<<32 }

// TenantStreams are one stream of a purpose for each tenant, by service.
func TenantStreams(app *loadline.App, seed, purpose uint64) []*rand.Rand {
	streams := make([]*rand.Rand, 0, len(app.Services))
	for t, tenant := range app.TenantRanges() {
		stream := Stream(TenantSeed(seed, t), purpose, 0)
		for range tenant.Services {
			streams = append(streams, stream)
		}
	}
	return streams
}

// Purposes of random streams.
const (
	StreamArrivals uint64 = iota + 1
	StreamDemand
	StreamCalls
	StreamRouting
	StreamPods
	StreamMetrics
	StreamPolicy
	StreamPhase
	StreamNodes
	StreamNeighbours
	StreamClients
	StreamNeighbourUse
)

// Sampler draws from a loadline.Dist, in nanoseconds.
type Sampler struct {
	kind      int8
	mean      float64
	mu, sigma float64
}

const (
	sampleConstant int8 = iota
	sampleLognormal
	sampleExponential
)

// NewSampler prepares a distribution for drawing.
func NewSampler(d loadline.Dist) Sampler {
	mean := float64(d.Mean)
	switch {
	case d.Shape == loadline.Exponential:
		return Sampler{kind: sampleExponential, mean: mean}
	case d.CV == 0 || mean == 0:
		return Sampler{kind: sampleConstant, mean: mean}
	}
	s2 := math.Log1p(d.CV * d.CV)
	return Sampler{kind: sampleLognormal, mean: mean, mu: math.Log(mean) - s2/2, sigma: math.Sqrt(s2)}
}

// Draw returns one time in nanoseconds, times the factor.
func (s *Sampler) Draw(rng *rand.Rand, factor float64) float64 {
	switch s.kind {
	case sampleLognormal:
		return factor * math.Exp(s.mu+s.sigma*rng.NormFloat64())
	case sampleExponential:
		return factor * s.mean * rng.ExpFloat64()
	}
	return factor * s.mean
}

// Mean is the mean in nanoseconds.
func (s *Sampler) Mean() float64 { return s.mean }

// DrawTime returns one time.
func (s *Sampler) DrawTime(rng *rand.Rand, factor float64) time.Duration {
	return time.Duration(s.Draw(rng, factor))
}
