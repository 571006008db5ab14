package nn

import (
	"fmt"
	"math"

	"github.com/loadline/loadline/internal/nn/gemm"
)

// AdamConfig are the settings of Adam. Zero values mean the defaults in
// brackets, which are PyTorch's.
type AdamConfig struct {
	Rate    float32 // learning rate [1e-3]
	Keep1   float32 // decay of the gradients' mean [0.9]
	Keep2   float32 // decay of their squares' mean [0.999]
	Epsilon float32 // [1e-8]
	Decay   float32 // decoupled weight decay, which makes it AdamW [none]
}

func (c AdamConfig) withDefaults() AdamConfig {
	set := func(value *float32, standard float32) {
		if *value == 0 {
			*value = standard
		}
	}
	set(&c.Rate, 1e-3)
	set(&c.Keep1, 0.9)
	set(&c.Keep2, 0.999)
	set(&c.Epsilon, 1e-8)
	return c
}

// Adam is the optimiser of Kingma and Ba (2015), optionally with the decoupled weight decay of
// Loshchilov and Hutter (2019).
type Adam struct {
	config AdamConfig
	state  AdamState
}

// AdamState is the state that an interrupted training must save besides the weights.
type AdamState struct {
	Steps  int
	M1, M2 []float32 // means of gradients and of their squares
}

// NewAdam optimises that many parameters.
func NewAdam(size int, config AdamConfig) *Adam {
	return &Adam{config.withDefaults(), AdamState{M1: make([]float32, size), M2: make([]float32, size)}}
}

// SetRate changes the learning rate, for schedules.
func (a *Adam) SetRate(rate float32) { a.config.Rate = rate }

// State is the optimiser's state itself, not a copy.
func (a *Adam) State() AdamState { return a.state }

// Restore continues from a saved state.
func (a *Adam) Restore(s AdamState) error {
	if len(s.M1) != len(a.state.M1) || len(s.M2) != len(a.state.M2) || s.Steps < 0 {
		return fmt.Errorf("nn: Adam state after %d steps of %d and %d values, must be %d of each", s.Steps, len(s.M1), len(s.M2),
			len(a.state.M1))
	}
	a.state.Steps = s.Steps
	copy(a.state.M1, s.M1)
	copy(a.state.M2, s.M2)
	return nil
}

// Step moves the parameters against the gradient.
func (a *Adam) Step(params, gradient []float32) {
	a.state.Steps++
	steps, c := float64(a.state.Steps), a.config
	gemm.Adam(params, gradient, a.state.M1, a.state.M2, gemm.AdamStep{
		Keep1:     c.Keep1,
		Keep2:     c.Keep2,
		Rate:      float32(float64(c.Rate) / (1 - math.Pow(float64(c.Keep1), steps))),
		RootBias2: float32(1 / math.Sqrt(1-math.Pow(float64(c.Keep2), steps))),
		Epsilon:   c.Epsilon,
		Decay:     1 - c.Rate*c.Decay,
	})
}

// ClipNorm scales the gradient down to the given length if it is longer, and returns its
// original length. If that is not finite, nothing changes: the caller should skip the step.
func ClipNorm(gradient []float32, longest float32) float32 {
	norm := float32(math.Sqrt(float64(gemm.Dot(gradient, gradient))))
	if norm > longest && !math.IsInf(float64(norm), 0) {
		gemm.Scale(gradient, longest/norm)
	}
	return norm
}
