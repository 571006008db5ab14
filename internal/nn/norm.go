package nn

import (
	"math"
	"math/rand/v2"

	"github.com/loadline/loadline/internal/nn/gemm"
)

// normEpsilon is PyTorch's default.
const normEpsilon = 1e-5

// Contents of value.kept by index.
const (
	normUnit        = iota // rows of mean 0 and variance 1
	normInverse            // one over each row's deviation
	normUnitTangent        // derivative of normUnit
	normGradient           // dx, where it must be added to another's
)

// norm is layer normalisation (Ba, Kiros and Hinton, 2016) with an activation.
type norm struct {
	node, from   Node
	activation   Activation
	scale, shift tensor
}

func (p *program) newNorm(node Node, l Layer, name string) *norm {
	return &norm{
		node: node, from: l.From[0], activation: l.Activation,
		scale: p.reserve(name+".scale", l.Width),
		shift: p.reserve(name+".shift", l.Width),
	}
}

func (l *norm) initialise(params []float32, _ Init, _ *rand.Rand) {
	for i := range l.scale.of(params) {
		l.scale.of(params)[i] = 1
	}
	clear(l.shift.of(params))
}

func (l *norm) forward(c *Context) {
	y, v := c.newY(l.node), &c.values[l.node]
	grow(&v.kept[normUnit], len(y.Data))
	grow(&v.kept[normInverse], y.Rows)
	l.normalise(c.values[l.from].y, v, l.scale.of(c.net.params), l.shift.of(c.net.params))
}

// single is forward on one row with all slices looked up beforehand.
func (l *norm) single(c *Context) func() {
	l.forward(c)
	x, v, scale, shift := c.values[l.from].y, &c.values[l.node], l.scale.of(c.net.params), l.shift.of(c.net.params)
	return func() { l.normalise(x, v, scale, shift) }
}

func (l *norm) normalise(x []float32, v *value, scale, shift []float32) {
	floor := float32(math.Inf(-1))
	if l.activation == ReLU {
		floor = 0
	}
	gemm.NormForward(v.y, v.kept[normUnit], v.kept[normInverse], x, scale, shift, normEpsilon, floor)
	l.activation.activate(v.y)
}

func (l *norm) backward(c *Context) {
	da, v := c.beforeActivation(l.node, l.activation), &c.values[l.node]
	// The kernel always computes the weights' gradients; unwanted ones go to scratch memory.
	dscale, dshift := c.memory(2 * da.Cols)[:da.Cols], c.scratch[da.Cols:2*da.Cols]
	if c.want&ParamGradients != 0 {
		dscale, dshift = l.scale.of(c.gradient), l.shift.of(c.gradient)
	}
	clear(dscale)
	clear(dshift)
	dx, add := c.dyOf(l.from)
	into := dx.Data
	if add {
		into = grow(&v.kept[normGradient], len(dx.Data))
	}
	gemm.NormBackward(into, dscale, dshift, da.Data, v.kept[normUnit], v.kept[normInverse], l.scale.of(c.net.params))
	if add {
		gemm.Axpy(dx.Data, 1, into)
	}
}
