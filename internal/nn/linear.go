package nn

import (
	"fmt"

	"github.com/loadline/loadline/internal/nn/gemm"
)

// linearMap is a map without weights, linear in its input. Being linear, it is
// its own tangent, and its adjoint serves both backward passes.
type linearMap interface {
	apply(c *Context, y, x gemm.Matrix)
	// adjoint sets dx to the transposed map of dy, or adds it.
	adjoint(c *Context, dx, dy gemm.Matrix, add bool)
}

type linear struct {
	linearMap
	node, from Node
}

func (l *linear) forward(c *Context) { l.apply(c, c.newY(l.node), c.y(l.from)) }

func (l *linear) backward(c *Context) {
	dy := c.matrix(c.values[l.node].dy, l.node)
	dx, add := c.dyOf(l.from)
	l.adjoint(c, dx, dy, add)
}

func (l *linear) tangent(c *Context) {
	if c.values[l.from].tangentReached {
		l.apply(c, c.newTangent(l.node), c.ty(l.from))
	}
}

func (l *linear) tangentBackward(c *Context) {
	tdx, add := c.tdyOf(l.from)
	l.adjoint(c, tdx, c.matrix(c.values[l.node].tdy, l.node), add)
}

// last takes the last item's rows.
type last struct{}

func (last) apply(c *Context, y, x gemm.Matrix) {
	copy(y.Data, x.Data[(c.items-1)*c.batch*x.Cols:])
}

func (last) adjoint(c *Context, dx, dy gemm.Matrix, add bool) {
	if !add {
		clear(dx.Data)
	}
	gemm.Axpy(dx.Data[(c.items-1)*c.batch*dx.Cols:], 1, dy.Data)
}

// spread repeats the samples' rows for every item.
type spread struct{}

func (spread) apply(c *Context, y, x gemm.Matrix) {
	for item := range c.items {
		copy(y.Data[item*len(x.Data):], x.Data)
	}
}

func (spread) adjoint(c *Context, dx, dy gemm.Matrix, add bool) {
	gemm.SumRows(dx.Data, gemm.View(dy.Data, c.items, len(dx.Data)), add)
}

// neighbours mixes node features by the normalised adjacency. With one row per node, a whole
// batch is one product.
type neighbours struct{}

func (neighbours) apply(c *Context, y, x gemm.Matrix) {
	a, wide := c.adjacency(), c.batch*x.Cols
	gemm.Mul(gemm.View(y.Data, a.Rows, wide), a, gemm.View(x.Data, a.Rows, wide), gemm.Finish{})
}

func (neighbours) adjoint(c *Context, dx, dy gemm.Matrix, add bool) {
	a, wide := c.adjacency(), c.batch*dx.Cols
	gemm.MulTransA(gemm.View(dx.Data, a.Rows, wide), a, gemm.View(dy.Data, a.Rows, wide), gemm.Finish{Accumulate: add})
}

func (c *Context) adjacency() gemm.Matrix {
	if c.graph == nil || c.graph.nodes != c.items {
		panic(fmt.Sprintf("nn: samples have %d nodes, but SetGraph gave no graph of that size", c.items))
	}
	return gemm.View(c.graph.weights, c.items, c.items)
}

// dueling is Q = V + A - mean(A).
type dueling struct{}

func (dueling) apply(_ *Context, y, x gemm.Matrix) {
	for r := range y.Rows {
		q, in := y.Data[r*y.Cols:][:y.Cols], x.Data[r*x.Cols:][:x.Cols]
		var sum float32
		for _, advantage := range in[1:] {
			sum += advantage
		}
		base := in[0] - sum/float32(len(q))
		for j := range q {
			q[j] = base + in[1+j]
		}
	}
}

func (dueling) adjoint(_ *Context, dx, dy gemm.Matrix, add bool) {
	if !add {
		clear(dx.Data)
	}
	for r := range dy.Rows {
		dq, din := dy.Data[r*dy.Cols:][:dy.Cols], dx.Data[r*dx.Cols:][:dx.Cols]
		var sum float32
		for _, d := range dq {
			sum += d
		}
		din[0] += sum
		for j, d := range dq {
			din[1+j] += d - sum/float32(len(dq))
		}
	}
}
