package gemm

// kernels is one complete set of implementations. The functions do not check their arguments;
// the exported wrappers do.
type kernels struct {
	name string

	multiply  func(p product)
	row       func(y, x, w, bias *float32, k, n, mode int)
	transpose func(dst, src Matrix)

	exp, sigmoid, tanh, relu        func(dst, x []float32)
	reluGrad, tanhGrad, sigmoidGrad func(dx, dy, y []float32)
	axpy                            func(y []float32, factor float32, x []float32)
	lerp                            func(y, x []float32, share float32)
	scale                           func(x []float32, factor float32)
	dot                             func(x, y []float32) float32
	adam                            func(p, g, m, v []float32, keep1, keep2, rate, rootBias2, epsilon, decay float32)
	normForward                     func(y, unit, inverse, x, scale, shift []float32, epsilon, floor float32)
	normBackward                    func(dx, dscale, dshift, dy, unit, inverse, scale []float32)
	gruForward                      func(h, reset, update, fresh, recurrent, previous []float32)
	gruBackward                     func(dreset, dupdate, dfresh, drecurrent, dh, reset, update, fresh, recurrent, previous []float32)
	fmaLoop                         func(rounds int)
}

// active is the set in use: the processor's own if there is one.
var active = choose(vectorKernels())

func choose(vector *kernels) *kernels {
	if vector != nil {
		return vector
	}
	return &portable
}

// Name says which kernels are in use: "avx2" or "portable".
func Name() string { return active.name }

// UsePortable switches to the portable kernels, or back to the processor's own, and returns a
// function that restores the previous ones. It is for tests and benchmarks, and must not run
// during a computation.
func UsePortable(on bool) (restore func()) {
	before := active
	if on {
		active = &portable
	} else {
		active = choose(vectorKernels())
	}
	return func() { active = before }
}
