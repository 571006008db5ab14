package nn

import (
	"errors"
	"fmt"

	"github.com/loadline/loadline/internal/nn/gemm"
)

// Hessian-vector products by forward-over-reverse differentiation (Pearlmutter,
// 1994, "Fast exact multiplication by the Hessian"): every line of Forward and
// Backward is differentiated along a direction in parameter space. Two more
// passes give H*v exactly, at about twice the cost of a gradient.
//
//	out := ctx.Forward(batch, x)
//	loss.Mean(dOut, out, target)
//	ctx.Backward(dOut, nn.ParamGradients)
//	tOut, err := ctx.Tangent(v)
//	loss.MeanTangent(tdOut, out, target, tOut)
//	hv := ctx.HessianVector(tdOut)

// ErrNoSecondOrder: the network has a layer without tangents, a GRU.
var ErrNoSecondOrder = errors.New("nn: no second order through a GRU")

// Tangent is the derivative of the last Forward's output when the parameters
// move in the given direction. It follows Forward and Backward.
func (c *Context) Tangent(direction []float32) ([]float32, error) {
	if len(direction) != c.net.size {
		panic(fmt.Sprintf("nn: a direction of %d values for %d parameters", len(direction), c.net.size))
	}
	if c.want&ParamGradients == 0 {
		panic("nn: Tangent follows Forward and Backward with ParamGradients")
	}
	c.direction = direction
	for i := range c.values {
		c.values[i].tangentReached = false
	}
	for _, l := range c.net.layers {
		if _, recurrent := l.(*gru); recurrent {
			return nil, ErrNoSecondOrder
		}
		if l != nil {
			l.tangent(c)
		}
	}
	out := Node(len(c.values) - 1)
	if !c.values[out].tangentReached { // no parameters at all
		clear(c.newTangent(out).Data)
	}
	return c.values[out].ty, nil
}

// HessianVector is the Hessian of the loss times the direction given to Tangent. Its argument
// is the derivative, in that direction, of Backward's argument. The result is valid until the
// next call.
func (c *Context) HessianVector(tdOutput []float32) []float32 {
	out := len(c.values) - 1
	if len(tdOutput) != len(c.values[out].y) {
		panic(fmt.Sprintf("nn: tangent of %d values for %d outputs", len(tdOutput), len(c.values[out].y)))
	}
	c.want = ParamGradients
	clear(grow(&c.hessian, c.net.size))
	for i := range c.values {
		c.values[i].tdyReached = false
	}
	copy(grow(&c.values[out].tdy, len(tdOutput)), tdOutput)
	c.values[out].tdyReached = true
	for i := out; i >= 0; i-- {
		if c.net.layers[i] != nil && c.values[i].tdyReached && c.net.carries[ParamGradients][i] {
			c.net.layers[i].tangentBackward(c)
		}
	}
	return c.hessian
}

// ty is the tangent of a layer that has one.
func (c *Context) ty(n Node) gemm.Matrix { return c.matrix(c.values[n].ty, n) }

// newTangent is a layer's tangent, to be filled.
func (c *Context) newTangent(n Node) gemm.Matrix {
	v := &c.values[n]
	v.tangentReached = true
	return c.matrix(grow(&v.ty, len(v.y)), n)
}

// tdyOf is dyOf for tangents.
func (c *Context) tdyOf(n Node) (tdy gemm.Matrix, add bool) {
	v := &c.values[n]
	add, v.tdyReached = v.tdyReached, true
	return c.matrix(grow(&v.tdy, len(v.y)), n), add
}

// tangentBeforeActivation is the derivative of beforeActivation.
func (c *Context) tangentBeforeActivation(n Node, a Activation) gemm.Matrix {
	v := &c.values[n]
	grow(&v.tda, len(v.tdy))
	a.slope(v.tda, v.tdy, v.y)
	if a.curved() && v.tangentReached {
		a.bend(v.tda, v.dy, v.y, v.ty)
	}
	return c.matrix(v.tda, n)
}
