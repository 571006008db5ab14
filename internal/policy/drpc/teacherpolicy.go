package drpc

import (
	"fmt"

	"github.com/loadline/loadline/internal/nn"
)

// Kind of a teacher.
type Kind string

const (
	Continuous Kind = "td3"       // TD3, as the paper's
	Discrete   Kind = "branching" // one choice of three for every service and axis
)

// Kinds lists all kinds, the default first.
func Kinds() []Kind { return []Kind{Continuous, Discrete} }

// Choices of each branch of a discrete teacher: down, keep, up.
const Choices = 3

// TeacherPolicy decides by a teacher's network, without learning. It is for one
// goroutine.
type TeacherPolicy struct {
	Kind  Kind
	Shape Shape
	Net   *nn.Net

	rows int
	runs *nn.Context
}

// NewTeacherPolicy decides by a network for the services of the encoder's application.
func NewTeacherPolicy(kind Kind, shape Shape, net *nn.Net, encoder *Encoder) (*TeacherPolicy, error) {
	m := &TeacherPolicy{Kind: kind, Shape: shape, Net: net, rows: encoder.Parts(shape), runs: net.NewContext()}
	inputs := 0
	for _, l := range net.Design().Layers {
		if l.Kind == nn.KindInput {
			inputs += l.Width
		}
	}
	want := len(encoder.App.Services) * Axes
	if kind == Discrete {
		want *= Choices
	}
	if m.rows*inputs != encoder.Width(shape) || m.rows*net.Outputs() != want {
		return nil, fmt.Errorf("drpc: a teacher of %d rows of %d inputs and %d outputs cannot decide on %d values for %d services",
			m.rows, inputs, net.Outputs(), encoder.Width(shape), len(encoder.App.Services))
	}
	for range 2 { // a single row is prepared on its second use: rounding must not depend on how long it has been deciding
		m.runs.Forward(m.rows, make([]float32, encoder.Width(shape)))
	}
	return m, nil
}

// Decide fills in the actions, service by service.
func (m *TeacherPolicy) Decide(whole, actions []float32) {
	out := m.runs.Forward(m.rows, whole)
	if m.Kind == Continuous {
		copy(actions, out)
		return
	}
	for i := range actions {
		actions[i] = ValueOf(Best(out[i*Choices:][:Choices]))
	}
}

// Best returns the choice of the highest value; ties keep the allocation.
func Best(values []float32) int {
	best := 1
	for c, v := range values {
		if v > values[best] {
			best = c
		}
	}
	return best
}

// ValueOf a choice as an action: -1, 0 or 1.
func ValueOf(choice int) float32 { return float32(choice - 1) }

// ChoiceOf is the choice with the same effect as an action.
func ChoiceOf(action float32) int {
	switch {
	case action > DeadZone:
		return 2
	case action < -DeadZone:
		return 0
	}
	return 1
}
