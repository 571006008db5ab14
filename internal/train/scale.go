package train

import (
	"math"
	"math/rand/v2"

	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/rl"
)

// ScaledEnv normalises the observations of an environment.
type ScaledEnv struct {
	rl.Env
	Scales []formulation.Scale
}

// Reset implements rl.Env.
func (s *ScaledEnv) Reset(rng *rand.Rand, observation []float32) {
	s.Env.Reset(rng, observation)
	formulation.Apply(s.Scales, observation)
}

// Step implements rl.Env.
func (s *ScaledEnv) Step(action *rl.Action, observation []float32) rl.Result {
	r := s.Env.Step(action, observation)
	formulation.Apply(s.Scales, observation)
	return r
}

// scaleStream is the random stream of MeasureScales, apart from those of training and evaluation.
const scaleStream = 3 << 32

// MeasureScales measures the scales of an environment's features with random actions. A
// constant feature has a spread of 1.
func MeasureScales(e rl.Env, seed uint64, episodes, longest int) []formulation.Scale {
	spaces := e.Spaces()
	observation, action := make([]float32, spaces.Observation), spaces.NewAction()
	sum, square := make([]float64, spaces.Observation), make([]float64, spaces.Observation)
	n := 0.0
	note := func() {
		n++
		for i, v := range observation {
			sum[i] += float64(v)
			square[i] += float64(v) * float64(v)
		}
	}
	for i := range episodes {
		rng := rl.NewRNG(seed, scaleStream+uint64(i))
		e.Reset(rng.Rand, observation)
		note()
		for range longest {
			action.Choice = rng.IntN(spaces.Choices)
			r := e.Step(&action, observation)
			note()
			if r.Ends() {
				break
			}
		}
	}
	scales := make([]formulation.Scale, spaces.Observation)
	for i := range scales {
		mean := sum[i] / n
		spread := math.Sqrt(max(0, square[i]/n-mean*mean))
		if spread < 1e-6 {
			spread = 1
		}
		scales[i] = formulation.Scale{Mean: mean, Spread: spread}
	}
	return scales
}
