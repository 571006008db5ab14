package gemm

// same panics unless all slices have the length of the first: the vector kernels rely on it.
func same(n int, lengths ...int) {
	for _, l := range lengths {
		if l != n {
			panic("gemm: slices of different lengths")
		}
	}
}

// Exp sets dst to e^x, to a relative 2e-7 in the range of normal numbers. All
// functions of this file may work in place.
func Exp(dst, x []float32) {
	same(len(dst), len(x))
	active.exp(dst, x)
}

// Sigmoid sets dst to 1/(1+e^-x), to a relative 3e-7 above -87.
func Sigmoid(dst, x []float32) {
	same(len(dst), len(x))
	active.sigmoid(dst, x)
}

// Tanh sets dst to tanh(x), to a relative 3e-7.
func Tanh(dst, x []float32) {
	same(len(dst), len(x))
	active.tanh(dst, x)
}

// ReLU sets dst to max(x, 0); NaN stays NaN.
func ReLU(dst, x []float32) {
	same(len(dst), len(x))
	active.relu(dst, x)
}

// ReLUGrad sets dx to dy where y, the value of the activation, is positive.
func ReLUGrad(dx, dy, y []float32) {
	same(len(dx), len(dy), len(y))
	active.reluGrad(dx, dy, y)
}

// TanhGrad sets dx to dy*(1-y*y), y being the value of tanh.
func TanhGrad(dx, dy, y []float32) {
	same(len(dx), len(dy), len(y))
	active.tanhGrad(dx, dy, y)
}

// SigmoidGrad sets dx to dy*y*(1-y), y being the value of the sigmoid.
func SigmoidGrad(dx, dy, y []float32) {
	same(len(dx), len(dy), len(y))
	active.sigmoidGrad(dx, dy, y)
}

// Axpy adds factor*x to y.
func Axpy(y []float32, factor float32, x []float32) {
	same(len(y), len(x))
	active.axpy(y, factor, x)
}

// Lerp moves y by the given share of the way to x.
func Lerp(y, x []float32, share float32) {
	same(len(y), len(x))
	active.lerp(y, x, share)
}

// Scale multiplies x by the factor.
func Scale(x []float32, factor float32) { active.scale(x, factor) }

// Dot is the sum of x*y, in single precision.
func Dot(x, y []float32) float32 {
	same(len(x), len(y))
	return active.dot(x, y)
}

// AdamStep are the constants of one update of Adam.
type AdamStep struct {
	Keep1, Keep2 float32 // decay of the two moments
	Rate         float32 // learning rate over the first moment's bias correction
	RootBias2    float32 // one over the root of the second moment's bias correction
	Epsilon      float32
	Decay        float32 // what is left of a parameter after weight decay; 1 for none
}

// Adam updates parameters p and moments m and v from gradients g in one pass. Values too small
// to move a parameter become 0: moments are never subnormal, which would be slow.
func Adam(p, g, m, v []float32, s AdamStep) {
	same(len(p), len(g), len(m), len(v))
	active.adam(p, g, m, v, s.Keep1, s.Keep2, s.Rate, s.RootBias2, s.Epsilon, s.Decay)
}
