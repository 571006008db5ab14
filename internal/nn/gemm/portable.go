package gemm

import (
	"math"
	"runtime"
	"unsafe"
)

// portable is the definition of every kernel.
var portable = kernels{
	name:         "portable",
	multiply:     multiplyPortable,
	row:          rowPortable,
	transpose:    transposePortable,
	exp:          expPortable,
	sigmoid:      sigmoidPortable,
	tanh:         tanhPortable,
	relu:         reluPortable,
	reluGrad:     reluGradPortable,
	tanhGrad:     tanhGradPortable,
	sigmoidGrad:  sigmoidGradPortable,
	axpy:         axpyPortable,
	lerp:         lerpPortable,
	scale:        scalePortable,
	dot:          dotPortable,
	adam:         adamPortable,
	normForward:  normForwardPortable,
	normBackward: normBackwardPortable,
	gruForward:   gruForwardPortable,
	gruBackward:  gruBackwardPortable,
	fmaLoop:      fmaLoopPortable,
}

// multiplyPortable goes along the rows of B and C, so that the inner loop reads
// memory in order, and takes four rows of B at a time to store C less often.
func multiplyPortable(p product) {
	for i := range p.m {
		c := p.c[i*p.strideC:][:p.n]
		switch {
		case p.mode&modeBias != 0:
			copy(c, p.bias)
		case p.mode&modeAccumulate == 0:
			clear(c)
		}
		a := func(l int) float32 { return p.a[i*p.rowStrideA+l*p.colStrideA] }
		row := func(l int) []float32 { return p.b[l*p.strideB:][:len(c)] }
		l := 0
		for ; l+4 <= p.k; l += 4 {
			a0, a1, a2, a3 := a(l), a(l+1), a(l+2), a(l+3)
			b0, b1, b2, b3 := row(l), row(l+1), row(l+2), row(l+3)
			for j := range c {
				c[j] += a0*b0[j] + a1*b1[j] + a2*b2[j] + a3*b3[j]
			}
		}
		for ; l < p.k; l++ {
			axpyPortable(c, a(l), row(l))
		}
		if p.mode&modeReLU != 0 {
			reluPortable(c, c)
		}
	}
}

func rowPortable(y, x, w, bias *float32, k, n, mode int) {
	p := product{
		c: unsafe.Slice(y, n), a: unsafe.Slice(x, k), b: unsafe.Slice(w, k*n),
		m: 1, n: n, k: k, strideC: n, strideB: n, rowStrideA: k, colStrideA: 1, mode: mode,
	}
	if bias != nil {
		p.bias = unsafe.Slice(bias, n)
	}
	multiplyPortable(p)
	if mode&modeTanh != 0 && n <= narrow {
		tanhPortable(p.c, p.c)
	}
}

func transposePortable(dst, src Matrix) {
	for i := range src.Rows {
		for j, v := range src.Data[i*src.Stride:][:src.Cols] {
			dst.Data[j*dst.Stride+i] = v
		}
	}
}

func expPortable(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Exp(float64(v)))
	}
}

func sigmoidPortable(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
}

func tanhPortable(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Tanh(float64(v)))
	}
}

func reluPortable(dst, x []float32) {
	for i, v := range x {
		dst[i] = max(v, 0)
	}
}

func reluGradPortable(dx, dy, y []float32) {
	for i, v := range y {
		if v > 0 {
			dx[i] = dy[i]
		} else {
			dx[i] = 0
		}
	}
}

func tanhGradPortable(dx, dy, y []float32) {
	for i, v := range y {
		dx[i] = dy[i] * (1 - v*v)
	}
}

func sigmoidGradPortable(dx, dy, y []float32) {
	for i, v := range y {
		dx[i] = dy[i] * (v - v*v)
	}
}

func axpyPortable(y []float32, factor float32, x []float32) {
	for i, v := range x {
		y[i] += factor * v
	}
}

func lerpPortable(y, x []float32, share float32) {
	for i, v := range x {
		y[i] += share * (v - y[i])
	}
}

func scalePortable(x []float32, factor float32) {
	for i := range x {
		x[i] *= factor
	}
}

func dotPortable(x, y []float32) float32 {
	var sum float32
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// Where a unit is dead, the means of its gradients decay until they are subnormal, which
// processors handle by microcode: such a step takes tens of times as long. Adam drops them
// earlier, when they no longer move a weight, and gradients whose squares would be subnormal.
// gen/ has the same constants.
const (
	fadedGradient = 1e-18 // its square stays above the smallest normal number, 1.2e-38
	fadedMean     = 1e-30 // so does its product with a learning rate
	fadedSquares  = 1e-35 // whose root is far below Adam's epsilon
)

// unfaded is x, or 0 where its size is below least; NaN stays NaN.
func unfaded(x, least float32) float32 {
	if x < least && x > -least {
		return 0
	}
	return x
}

// adamPortable is algorithm 1 of Kingma and Ba (2015), with both bias
// corrections folded into the constants, after the decoupled decay of
// Loshchilov and Hutter (2019).
func adamPortable(p, g, m, v []float32, keep1, keep2, rate, rootBias2, epsilon, decay float32) {
	for i, gradient := range g {
		gradient = unfaded(gradient, fadedGradient)
		m[i] = unfaded(keep1*m[i]+(1-keep1)*gradient, fadedMean)
		v[i] = unfaded(keep2*v[i]+(1-keep2)*gradient*gradient, fadedSquares)
		root := float32(math.Sqrt(float64(v[i])))*rootBias2 + epsilon
		p[i] = decay*p[i] - rate*m[i]/root
	}
}

// fmaLoopPortable does the floating-point operations of the vector kernel's
// round one by one, on four chains.
func fmaLoopPortable(rounds int) {
	a, b, c, d := float32(1), float32(1), float32(1), float32(1)
	for range rounds * 48 * 8 / 4 {
		a, b, c, d = a*0.5+1, b*0.5+1, c*0.5+1, d*0.5+1
	}
	runtime.KeepAlive(a + b + c + d) // prevents the compiler from dropping the loop
}
