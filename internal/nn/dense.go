package nn

import (
	"math/rand/v2"

	"github.com/loadline/loadline/internal/nn/gemm"
)

// weighted is a layer with parameters.
type weighted interface {
	initialise(params []float32, init Init, rng *rand.Rand)
}

// dense is activation(x*W + b), where x is the concatenation of its inputs. Nothing is copied:
// each input is multiplied by its own rows of W.
type dense struct {
	node         Node
	width        int
	activation   Activation
	inputs       []denseInput
	weight, bias tensor
}

// denseInput is a layer that a dense one takes from, with its rows of W.
type denseInput struct {
	node       Node
	width      int
	start, end int // in the flat parameters
}

func (p *program) newDense(node Node, l Layer, name string) *dense {
	d := &dense{node: node, width: l.Width, activation: l.Activation}
	total, at := 0, p.size
	for _, from := range l.From {
		width := p.width(from)
		d.inputs = append(d.inputs, denseInput{from, width, at, at + width*l.Width})
		total, at = total+width, at+width*l.Width
	}
	d.weight = p.reserve(name+".weight", total, l.Width)
	d.bias = p.reserve(name+".bias", l.Width)
	return d
}

func (d *dense) initialise(params []float32, init Init, rng *rand.Rand) {
	init.dense(d.weight.of(params), d.bias.of(params), d.weight.shape[0], d.width, rng)
}

// rowsOf is the part of a flat slice like the parameters that holds one input's
// rows of W.
func (d *dense) rowsOf(flat []float32, in denseInput) gemm.Matrix {
	return gemm.View(flat[in.start:in.end], in.width, d.width)
}

func (d *dense) forward(c *Context) {
	y := c.newY(d.node)
	for i, in := range d.inputs {
		finish := gemm.Finish{Accumulate: i > 0, ReLU: d.activation == ReLU && i == len(d.inputs)-1}
		if i == 0 {
			finish.Bias = d.bias.of(c.net.params)
		}
		gemm.Mul(y, c.y(in.node), d.rowsOf(c.net.params, in), finish)
	}
	d.activation.activate(y.Data)
}

// single is forward on one row with all slices looked up beforehand: preparing a product takes
// longer than a small product.
func (d *dense) single(c *Context) func() {
	y, params := c.newY(d.node).Data, c.net.params
	rows := make([]gemm.Row, len(d.inputs))
	bias := d.bias.of(params)
	for i, in := range d.inputs {
		last := i == len(rows)-1
		rows[i] = gemm.NewRow(y, c.values[in.node].y, params[in.start:in.end], bias, last && d.activation == ReLU,
			last && d.activation == Tanh)
		bias = nil
	}
	if len(rows) == 1 && d.activation != Sigmoid {
		return rows[0].Run
	}
	return func() {
		for i := range rows {
			rows[i].Run()
		}
		if d.activation == Sigmoid {
			gemm.Sigmoid(y, y)
		}
	}
}

func (d *dense) backward(c *Context) {
	da := c.beforeActivation(d.node, d.activation)
	if c.want&ParamGradients != 0 {
		for _, in := range d.inputs {
			gemm.MulTransA(d.rowsOf(c.gradient, in), c.y(in.node), da, gemm.Finish{})
		}
		gemm.SumRows(d.bias.of(c.gradient), da, false)
	}
	for _, in := range d.inputs {
		if c.carries(in.node) {
			dx, add := c.dyOf(in.node)
			gemm.Mul(dx, da, c.transposed(d.rowsOf(c.net.params, in)), gemm.Finish{Accumulate: add})
		}
	}
}

// transposed is the transpose of m, in scratch memory.
func (c *Context) transposed(m gemm.Matrix) gemm.Matrix {
	if m.Cols == 1 && m.Stride == 1 {
		return gemm.View(m.Data[:m.Rows], 1, m.Rows)
	}
	t := gemm.View(c.memory(m.Rows*m.Cols), m.Cols, m.Rows)
	gemm.Transpose(t, m)
	return t
}

// tangent is the product rule along the direction: x'W + xW' + b'.
func (d *dense) tangent(c *Context) {
	ty := c.newTangent(d.node)
	for i, in := range d.inputs {
		finish := gemm.Finish{Accumulate: i > 0}
		if i == 0 {
			finish.Bias = d.bias.of(c.direction)
		}
		gemm.Mul(ty, c.y(in.node), d.rowsOf(c.direction, in), finish)
		if c.values[in.node].tangentReached {
			gemm.Mul(ty, c.ty(in.node), d.rowsOf(c.net.params, in), gemm.Finish{Accumulate: true})
		}
	}
	if d.activation != Identity {
		d.activation.slope(ty.Data, ty.Data, c.values[d.node].y)
	}
}

// tangentBackward is the product rule over each line of backward.
func (d *dense) tangentBackward(c *Context) {
	da, tda := c.da(d.node, d.activation), c.tangentBeforeActivation(d.node, d.activation)
	for _, in := range d.inputs {
		tdw := d.rowsOf(c.hessian, in)
		gemm.MulTransA(tdw, c.y(in.node), tda, gemm.Finish{})
		if c.values[in.node].tangentReached {
			gemm.MulTransA(tdw, c.ty(in.node), da, gemm.Finish{Accumulate: true})
		}
	}
	gemm.SumRows(d.bias.of(c.hessian), tda, false)
	for _, in := range d.inputs {
		if c.carries(in.node) {
			tdx, add := c.tdyOf(in.node)
			gemm.Mul(tdx, tda, c.transposed(d.rowsOf(c.net.params, in)), gemm.Finish{Accumulate: add})
			gemm.Mul(tdx, da, c.transposed(d.rowsOf(c.direction, in)), gemm.Finish{Accumulate: true})
		}
	}
}
