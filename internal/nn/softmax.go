package nn

import "github.com/loadline/loadline/internal/nn/gemm"

// softmax turns rows into probabilities.
type softmax struct{ node, from Node }

func (s *softmax) forward(c *Context) {
	x, y := c.y(s.from), c.newY(s.node)
	for r := range y.Rows {
		in, out := x.Data[r*y.Cols:][:y.Cols], y.Data[r*y.Cols:][:y.Cols]
		// Without the largest value, e^x would overflow.
		largest := in[0]
		for _, v := range in {
			largest = max(largest, v)
		}
		for j, v := range in {
			out[j] = v - largest
		}
		gemm.Exp(out, out)
		gemm.Scale(out, 1/(meanOf(out)*float32(len(out))))
	}
}

// jacobian sets out to y*(in - sum(y*in)), row by row, or adds it. The Jacobian
// is symmetric, so it serves both directions.
func (s *softmax) jacobian(c *Context, out, in gemm.Matrix, add bool) {
	for r := range out.Rows {
		row := r * out.Cols
		y, from := c.values[s.node].y[row:][:out.Cols], in.Data[row:][:out.Cols]
		sum := meanProduct(y, from) * float32(out.Cols)
		for j, v := range from {
			d := y[j] * (v - sum)
			if add {
				d += out.Data[row+j]
			}
			out.Data[row+j] = d
		}
	}
}

func (s *softmax) backward(c *Context) {
	dx, add := c.dyOf(s.from)
	s.jacobian(c, dx, c.matrix(c.values[s.node].dy, s.node), add)
}

func (s *softmax) tangent(c *Context) {
	if c.values[s.from].tangentReached {
		s.jacobian(c, c.newTangent(s.node), c.ty(s.from), false)
	}
}

// tangentBackward adds to the Jacobian of dy' the effect of the Jacobian's own change on dy:
// y'*(dy - sum(y*dy)) - y*sum(y'*dy).
func (s *softmax) tangentBackward(c *Context) {
	tdx, add := c.tdyOf(s.from)
	s.jacobian(c, tdx, c.matrix(c.values[s.node].tdy, s.node), add)
	v := &c.values[s.node]
	if !v.tangentReached {
		return
	}
	for r := range tdx.Rows {
		row, width := r*tdx.Cols, float32(tdx.Cols)
		y, ty, dy := v.y[row:][:tdx.Cols], v.ty[row:][:tdx.Cols], v.dy[row:][:tdx.Cols]
		sum, change := meanProduct(y, dy)*width, meanProduct(ty, dy)*width
		for j := range y {
			tdx.Data[row+j] += ty[j]*(dy[j]-sum) - y[j]*change
		}
	}
}
