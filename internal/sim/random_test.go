package sim

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

func TestSamplersHaveTheirMeanAndVariation(t *testing.T) {
	for name, c := range map[string]struct {
		d  loadline.Dist
		cv float64
	}{
		"constant":         {loadline.Dist{Mean: time.Millisecond}, 0},
		"lognormal, 0.5":   {loadline.Dist{Mean: time.Millisecond, CV: 0.5}, 0.5},
		"lognormal, 2":     {loadline.Dist{Mean: time.Millisecond, CV: 2}, 2},
		"exponential is 1": {loadline.Dist{Mean: time.Millisecond, CV: 7, Shape: loadline.Exponential}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewSampler(c.d)
			rng := Stream(1, StreamDemand, 0)
			n, sum, squares := 2_000_000.0, 0.0, 0.0
			for range int(n) {
				x := s.Draw(rng, 1) / 1e6
				sum += x
				squares += x * x
			}
			mean := sum / n
			cv := math.Sqrt(math.Max(0, squares/n-mean*mean)) / mean
			if math.Abs(mean-1) > 0.01 || math.Abs(cv-c.cv) > 0.05*math.Max(c.cv, 0.1) {
				t.Errorf("mean %v ms, CV %v; want 1 and %v", mean, cv, c.cv)
			}
		})
	}
}

func TestStreamsOfDifferentPurposesDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for _, seed := range []uint64{0, 1, 2} {
		for purpose := StreamArrivals; purpose <= StreamPhase; purpose++ {
			for index := range uint64(3) {
				v := Stream(seed, purpose, index).Uint64()
				if seen[v] {
					t.Fatalf("seed %d, purpose %d, index %d begins like another stream", seed, purpose, index)
				}
				seen[v] = true
			}
		}
	}
}
