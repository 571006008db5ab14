package nn

import (
	"fmt"
	"slices"

	"github.com/loadline/loadline/internal/nn/gemm"
)

// Activation is applied to a layer's sums. In text, such as a model file's, it
// is a word.
type Activation uint8

// The activations.
const (
	Identity Activation = iota
	ReLU
	Tanh
	Sigmoid
)

var activationNames = []string{"identity", "relu", "tanh", "sigmoid"}

func (a Activation) known() bool { return int(a) < len(activationNames) }

func (a Activation) String() string {
	if !a.known() {
		return fmt.Sprintf("activation %d", uint8(a))
	}
	return activationNames[a]
}

// MarshalText writes the activation's name.
func (a Activation) MarshalText() ([]byte, error) {
	if !a.known() {
		return nil, fmt.Errorf("nn: no activation has the number %d", uint8(a))
	}
	return []byte(a.String()), nil
}

// UnmarshalText reads the activation's name.
func (a *Activation) UnmarshalText(text []byte) error {
	i := slices.Index(activationNames, string(text))
	if i < 0 {
		return fmt.Errorf("nn: activation is %q, must be one of %q", text, activationNames)
	}
	*a = Activation(i)
	return nil
}

// activate applies the activation in place. ReLU is excluded: the kernels before it apply it
// while they store.
func (a Activation) activate(y []float32) {
	switch a {
	case Tanh:
		gemm.Tanh(y, y)
	case Sigmoid:
		gemm.Sigmoid(y, y)
	}
}

// slope sets out to in times the activation's derivative where its value is y.
func (a Activation) slope(out, in, y []float32) {
	switch a {
	case ReLU:
		gemm.ReLUGrad(out, in, y)
	case Tanh:
		gemm.TanhGrad(out, in, y)
	case Sigmoid:
		gemm.SigmoidGrad(out, in, y)
	default:
		copy(out, in)
	}
}

// curved reports whether the activation has a second derivative. If so, its gradients before
// and after are kept separately, because tangents need both.
func (a Activation) curved() bool { return a == Tanh || a == Sigmoid }

// bend adds dy times the derivative of the slope, when y moves by ty.
func (a Activation) bend(out, dy, y, ty []float32) {
	switch a {
	case Tanh:
		for i, v := range y {
			out[i] -= 2 * v * ty[i] * dy[i]
		}
	case Sigmoid:
		for i, v := range y {
			out[i] += (1 - 2*v) * ty[i] * dy[i]
		}
	}
}

// beforeActivation finds da from dy.
func (c *Context) beforeActivation(n Node, a Activation) gemm.Matrix {
	v := &c.values[n]
	switch {
	case a == Identity:
		return c.matrix(v.dy, n)
	case a.curved():
		grow(&v.da, len(v.dy))
		a.slope(v.da, v.dy, v.y)
		return c.matrix(v.da, n)
	default:
		a.slope(v.dy, v.dy, v.y)
		return c.matrix(v.dy, n)
	}
}

// da is what beforeActivation found.
func (c *Context) da(n Node, a Activation) gemm.Matrix {
	if a.curved() {
		return c.matrix(c.values[n].da, n)
	}
	return c.matrix(c.values[n].dy, n)
}
