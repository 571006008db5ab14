package nn

import (
	"fmt"

	"github.com/loadline/loadline/internal/nn/gemm"
)

// Gradients selects what Backward computes; the values may be joined with |.
type Gradients int

// What Backward can compute.
const (
	ParamGradients Gradients = 1 << iota // for Context.Gradient
	InputGradients                       // for Context.InputGradient
)

// Context is one user's workspace over a Net: activations, gradients, scratch.
// It is for one goroutine.
type Context struct {
	net          *Net
	batch, items int
	want         Gradients
	graph        *Graph
	values       []value
	gradient     []float32
	scratch      []float32

	singles int      // number of consecutive batches of one
	steps   []func() // prepared steps for such a batch; see single.go

	direction, hessian []float32 // see tangent.go
}

// value is what a context keeps about one layer.
type value struct {
	y  []float32 // output of the layer
	dy []float32 // the loss's gradient with respect to y
	da []float32 // the same before the activation, where it is kept separately

	ty, tdy, tda []float32 // derivatives of y, dy and da along a direction

	reached, tangentReached, tdyReached bool // whether dy, ty and tdy are set

	kept [11][]float32 // values that the layer keeps from forward for backward
}

// layer is one kind of layer. Layers have no state of their own: it is all in the context, so
// that contexts share them.
type layer interface {
	forward(c *Context)
	backward(c *Context)
	tangent(c *Context)         // ty from the direction and the inputs' ty
	tangentBackward(c *Context) // Hessian's rows and the inputs' tdy
}

// NewContext makes a workspace. It allocates nothing until it is used.
func (n *Net) NewContext() *Context {
	return &Context{net: n, values: make([]value, len(n.layers))}
}

// SetGraph sets how the nodes of all samples are connected, from the next Forward on.
func (c *Context) SetGraph(g *Graph) { c.graph = g }

// line is the number of values in a cache line.
const line = 16

// grow makes the slice n values long, reusing its memory if there is enough. Memory is
// allocated in whole cache lines: the kernels' masked stores touch up to a vector beyond the
// end without writing there, which would delay its reader.
func grow(s *[]float32, n int) []float32 {
	if cap(*s) < n {
		*s = make([]float32, n, (n+line-1)/line*line)
	}
	*s = (*s)[:n]
	return *s
}

func (c *Context) rows(n Node) int {
	if c.net.axes[n] == perItem {
		return c.batch * c.items
	}
	return c.batch
}

func (c *Context) matrix(data []float32, n Node) gemm.Matrix {
	return gemm.View(data, c.rows(n), c.net.width(n))
}

// y is the output of a layer that has run.
func (c *Context) y(n Node) gemm.Matrix { return c.matrix(c.values[n].y, n) }

// newY is a layer's output, to be filled.
func (c *Context) newY(n Node) gemm.Matrix {
	return c.matrix(grow(&c.values[n].y, c.rows(n)*c.net.width(n)), n)
}

// Forward runs the network over a batch and returns its output, which is valid until the next
// Forward. The inputs are not copied: do not change them until Backward is done, and reuse
// their memory from call to call to avoid allocation.
func (c *Context) Forward(batch int, inputs ...[]float32) []float32 {
	c.want = 0 // no gradients of this batch yet
	if batch == 1 && c.single(inputs) {
		return c.values[len(c.values)-1].y
	}
	c.bind(batch, inputs)
	for _, l := range c.net.layers {
		if l != nil {
			l.forward(c)
		}
	}
	c.countSingles()
	return c.values[len(c.values)-1].y
}

// bind attaches the inputs and derives the number of items per sample.
func (c *Context) bind(batch int, inputs [][]float32) {
	if batch < 1 || len(inputs) != len(c.net.inputs) {
		panic(fmt.Sprintf("nn: %d inputs of a batch of %d, must be %d inputs of at least 1", len(inputs), batch, len(c.net.inputs)))
	}
	c.batch, c.items = batch, 0
	for i, n := range c.net.inputs {
		rows, width := batch, c.net.width(n)
		if c.net.axes[n] == perItem {
			items := len(inputs[i]) / (batch * width)
			if c.items > 0 && items != c.items {
				panic(fmt.Sprintf("nn: inputs have %d and %d items per sample", c.items, items))
			}
			c.items, rows = items, batch*items
		}
		if len(inputs[i]) == 0 || len(inputs[i]) != rows*width {
			panic(fmt.Sprintf("nn: input %d has %d values, must be %d rows of %d", i, len(inputs[i]), rows, width))
		}
		c.values[n].y = inputs[i]
	}
}

// Backward propagates the loss's gradient with respect to the output of the last Forward back
// through the network. Gradients replace those of the last call; only the requested ones are
// computed.
func (c *Context) Backward(dOutput []float32, want Gradients) {
	out := len(c.values) - 1
	if len(dOutput) != len(c.values[out].y) {
		panic(fmt.Sprintf("nn: gradient of %d values for %d outputs", len(dOutput), len(c.values[out].y)))
	}
	c.want = want
	if want&ParamGradients != 0 {
		grow(&c.gradient, c.net.size)
	}
	for i := range c.values {
		c.values[i].reached = false
	}
	copy(grow(&c.values[out].dy, len(dOutput)), dOutput)
	c.values[out].reached = true
	for i := out; i >= 0; i-- {
		if c.net.layers[i] != nil && c.values[i].reached && c.net.carries[want][i] {
			c.net.layers[i].backward(c)
		}
	}
}

// Gradient is the loss's gradient with respect to Net.Params, after Backward
// with ParamGradients.
func (c *Context) Gradient() []float32 { return c.gradient }

// InputGradient is the gradient with respect to an input, in the order Forward
// takes them, after Backward with InputGradients.
func (c *Context) InputGradient(input int) []float32 {
	return c.values[c.net.inputs[input]].dy
}

// carries reports whether gradients must flow back to a node.
func (c *Context) carries(n Node) bool { return c.net.carries[c.want][n] }

// dyOf is where a layer stores the gradient of one of its inputs. If another layer has stored
// one before, it must add.
func (c *Context) dyOf(n Node) (dy gemm.Matrix, add bool) {
	v := &c.values[n]
	add, v.reached = v.reached, true
	return c.matrix(grow(&v.dy, len(v.y)), n), add
}

// memory is scratch for n values, until the next call.
func (c *Context) memory(n int) []float32 { return grow(&c.scratch, n) }
