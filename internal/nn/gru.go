package nn

import (
	"math"
	"math/rand/v2"

	"github.com/loadline/loadline/internal/nn/gemm"
)

// gru is a gated recurrent unit (Cho et al., 2014) with PyTorch's gates:
//
//	r = sigmoid(x*Wxr + bxr + h*Whr + bhr)
//	z = sigmoid(x*Wxz + bxz + h*Whz + bhz)
//	n = tanh(x*Wxn + bxn + r*(h*Whn + bhn))
//	h = (1-z)*n + z*h
//
// The weights of the three gates are side by side, r z n; the sums of each gate are a separate
// block, so that the cell is one pass over memory.
type gru struct {
	node, from               Node
	hidden                   int
	inputWeight, inputBias   tensor
	hiddenWeight, hiddenBias tensor
}

const gates = 3

// Contents of value.kept by index: the gates r, z, n over all steps, the recurrent part of n,
// the gradients of all four, and temporaries.
const (
	gruGates      = 0
	gruRecurrent  = gates
	gruGradients  = gates + 1
	gruState      = 2*gates + 2 // zeros before the first step; then dh
	gruBias       = 2*gates + 3
	gruTransposed = 2*gates + 4
)

func (p *program) newGRU(node Node, l Layer, name string) *gru {
	inputs, hidden := p.width(l.From[0]), l.Width
	return &gru{
		node: node, from: l.From[0], hidden: hidden,
		inputWeight:  p.reserve(name+".input.weight", inputs, gates*hidden),
		hiddenWeight: p.reserve(name+".hidden.weight", hidden, gates*hidden),
		inputBias:    p.reserve(name+".input.bias", gates*hidden),
		hiddenBias:   p.reserve(name+".hidden.bias", gates*hidden),
	}
}

// initialise is PyTorch's, regardless of the dense layers' initialisation: uniform within
// 1/sqrt(hidden).
func (g *gru) initialise(params []float32, _ Init, rng *rand.Rand) {
	for _, t := range []tensor{g.inputWeight, g.hiddenWeight, g.inputBias, g.hiddenBias} {
		uniform(t.of(params), 1/math.Sqrt(float64(g.hidden)), rng)
	}
}

// gate is the part of a tensor of three gates that belongs to one of them.
func (g *gru) gate(t tensor, flat []float32, gate int) gemm.Matrix {
	if len(t.shape) == 1 {
		return gemm.View(t.of(flat), 1, gates*g.hidden).Columns(gate*g.hidden, (gate+1)*g.hidden)
	}
	return gemm.View(t.of(flat), t.shape[0], t.shape[1]).Columns(gate*g.hidden, (gate+1)*g.hidden)
}

// step is the rows of one time step of a block over all steps.
func (g *gru) step(c *Context, block []float32, t int) []float32 {
	size := c.batch * g.hidden
	return block[t*size : (t+1)*size]
}

func (g *gru) forward(c *Context) {
	h, v, params := c.newY(g.node), &c.values[g.node], c.net.params
	// Both biases of r and z are added at once.
	bias := grow(&v.kept[gruBias], gates*g.hidden)
	copy(bias, g.inputBias.of(params))
	gemm.Axpy(bias[:2*g.hidden], 1, g.hiddenBias.of(params)[:2*g.hidden])
	// The inputs' part of all steps is one product per gate.
	for gate := range gates {
		sums := c.matrix(grow(&v.kept[gruGates+gate], len(h.Data)), g.node)
		gemm.Mul(sums, c.y(g.from), g.gate(g.inputWeight, params, gate), gemm.Finish{Bias: bias[gate*g.hidden:][:g.hidden]})
	}
	recurrentBias := g.gate(g.hiddenBias, params, gates-1).Data[:g.hidden]
	recurrent := grow(&v.kept[gruRecurrent], len(h.Data))
	previous := grow(&v.kept[gruState], c.batch*g.hidden)
	clear(previous)
	for t := range c.items {
		at := func(block []float32) gemm.Matrix { return gemm.View(g.step(c, block, t), c.batch, g.hidden) }
		before := gemm.View(previous, c.batch, g.hidden)
		for gate := range gates - 1 {
			if t > 0 { // the state before the first step is zero
				gemm.Mul(at(v.kept[gate]), before, g.gate(g.hiddenWeight, params, gate), gemm.Finish{Accumulate: true})
			}
		}
		gemm.Mul(at(recurrent), before, g.gate(g.hiddenWeight, params, gates-1), gemm.Finish{Bias: recurrentBias})
		gemm.GRUForward(at(h.Data).Data, at(v.kept[0]).Data, at(v.kept[1]).Data, at(v.kept[2]).Data, at(recurrent).Data, previous)
		previous = at(h.Data).Data
	}
}

// backward is back-propagation through time: the gates' gradients step by step, then the
// weights' from all steps together.
func (g *gru) backward(c *Context) {
	v := &c.values[g.node]
	size := c.batch * g.hidden
	for i := range gates + 1 {
		grow(&v.kept[gruGradients+i], len(v.y))
	}
	d := v.kept[gruGradients:]
	state := grow(&v.kept[gruState], 2*size)
	zeros, dh := state[:size], state[size:]
	clear(zeros)
	clear(dh)
	back := g.transposedHidden(c)
	for t := c.items - 1; t >= 0; t-- {
		at := func(block []float32) []float32 { return g.step(c, block, t) }
		gemm.Axpy(dh, 1, at(v.dy))
		previous := zeros
		if t > 0 {
			previous = g.step(c, v.y, t-1)
		}
		gemm.GRUBackward(at(d[0]), at(d[1]), at(d[2]), at(d[3]), dh,
			at(v.kept[0]), at(v.kept[1]), at(v.kept[2]), at(v.kept[gruRecurrent]), previous)
		if t == 0 {
			break // the zero state's gradient is not needed
		}
		for gate := range gates {
			gemm.Mul(gemm.View(dh, c.batch, g.hidden), gemm.View(at(d[recurrentSum(gate)]), c.batch, g.hidden), back[gate],
				gemm.Finish{Accumulate: true})
		}
	}
	if c.want&ParamGradients != 0 {
		g.weightGradients(c, d)
	}
	if c.carries(g.from) {
		dx, add := c.dyOf(g.from)
		for gate := range gates {
			wt := c.transposed(g.gate(g.inputWeight, c.net.params, gate))
			gemm.Mul(dx, c.matrix(d[gate], g.node), wt, gemm.Finish{Accumulate: add || gate > 0})
		}
	}
}

// recurrentSum is the index of the gradient of a gate's recurrent sum: for the
// gate n that sum is scaled by r and has a gradient of its own.
func recurrentSum(gate int) int {
	if gate == gates-1 {
		return gates
	}
	return gate
}

func (g *gru) transposedHidden(c *Context) (out [gates]gemm.Matrix) {
	size := g.hidden * g.hidden
	memory := grow(&c.values[g.node].kept[gruTransposed], gates*size)
	for gate := range gates {
		out[gate] = gemm.View(memory[gate*size:][:size], g.hidden, g.hidden)
		gemm.Transpose(out[gate], g.gate(g.hiddenWeight, c.net.params, gate))
	}
	return out
}

func (g *gru) weightGradients(c *Context, d [][]float32) {
	h, block := c.values[g.node].y, c.batch*g.hidden
	later := c.batch * (c.items - 1)
	for gate := range gates {
		own, recurrent := c.matrix(d[gate], g.node), d[recurrentSum(gate)]
		gemm.MulTransA(g.gate(g.inputWeight, c.gradient, gate), c.y(g.from), own, gemm.Finish{})
		gemm.SumRows(g.gate(g.inputBias, c.gradient, gate).Data[:g.hidden], own, false)
		// Step t uses the state of step t-1; the first used zeros.
		gemm.MulTransA(g.gate(g.hiddenWeight, c.gradient, gate),
			gemm.View(h, later, g.hidden), gemm.View(recurrent[block:], later, g.hidden), gemm.Finish{})
		gemm.SumRows(g.gate(g.hiddenBias, c.gradient, gate).Data[:g.hidden], c.matrix(recurrent, g.node), false)
	}
}

func (g *gru) tangent(*Context)         {} // Tangent rejects networks with a GRU
func (g *gru) tangentBackward(*Context) {}
