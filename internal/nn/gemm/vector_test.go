package gemm

import (
	"math"
	"slices"
	"testing"
)

// TestExponentialsAreAccurate compares each function over its range with math in float64 and
// checks the documented relative errors.
func TestExponentialsAreAccurate(t *testing.T) {
	cases := []struct {
		name      string
		f         func(dst, x []float32)
		want      func(x float64) float64
		low, high float64
		relative  float64
	}{
		{"exp", Exp, math.Exp, -87, 88.7, 2e-7},
		{"sigmoid", Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, -86, 100, 3e-7},
		{"tanh", Tanh, math.Tanh, -20, 20, 3e-7},
		{"tanh near zero", Tanh, math.Tanh, -0.7, 0.7, 3e-7},
	}
	onBothKernels(t, func(t *testing.T) {
		for _, c := range cases {
			const n = 200_003
			x, y := make([]float32, n), make([]float32, n)
			for i := range x {
				x[i] = float32(c.low + (c.high-c.low)*float64(i)/(n-1))
			}
			c.f(y, x)
			worst := 0.0
			for i := range x {
				want := c.want(float64(x[i]))
				if e := math.Abs(float64(y[i])-want) / math.Abs(want); e > worst {
					worst = e
				}
			}
			t.Logf("%s: worst relative error %.2g", c.name, worst)
			if !(worst <= c.relative) {
				t.Errorf("%s: relative error %.3g exceeds %.3g", c.name, worst, c.relative)
			}
		}
	})
}

func TestExponentialsAtTheExtremes(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	x := []float32{float32(inf), float32(-inf), float32(nan), 0, 1000, -1000, float32(math.Copysign(0, -1)), 1e-30, -100}
	onBothKernels(t, func(t *testing.T) {
		for _, c := range []struct {
			name string
			f    func(dst, x []float32)
			want []float64
		}{
			{"exp", Exp, []float64{inf, 0, nan, 1, inf, 0, 1, 1, 3.7835e-44}},
			{"sigmoid", Sigmoid, []float64{1, 0, nan, 0.5, 1, 0, 0.5, 0.5, 0}},
			{"tanh", Tanh, []float64{1, -1, nan, 0, 1, -1, 0, 1e-30, -1}},
		} {
			y := make([]float32, len(x))
			c.f(y, x)
			for i := range x {
				if c.want[i] == inf && y[i] == float32(inf) {
					continue
				}
				agree(t, c.name, y[i], c.want[i], 1e-7)
			}
		}
	})
}

// TestKernelsAgree runs every elementwise kernel in both versions on all
// lengths up to 70.
func TestKernelsAgree(t *testing.T) {
	cases := map[string]func(s [][]float32){
		"exp":         func(s [][]float32) { Exp(s[0], s[1]) },
		"sigmoid":     func(s [][]float32) { Sigmoid(s[0], s[1]) },
		"tanh":        func(s [][]float32) { Tanh(s[0], s[1]) },
		"relu":        func(s [][]float32) { ReLU(s[0], s[1]) },
		"reluGrad":    func(s [][]float32) { ReLUGrad(s[0], s[1], s[2]) },
		"tanhGrad":    func(s [][]float32) { TanhGrad(s[0], s[1], s[2]) },
		"sigmoidGrad": func(s [][]float32) { SigmoidGrad(s[0], s[1], s[2]) },
		"axpy":        func(s [][]float32) { Axpy(s[0], 0.3, s[1]) },
		"lerp":        func(s [][]float32) { Lerp(s[0], s[1], 0.005) },
		"scale":       func(s [][]float32) { Scale(s[0], -1.5) },
		"dot": func(s [][]float32) {
			if len(s[0]) > 0 {
				s[0][0] = Dot(s[1], s[2])
			}
		},
		"adam": func(s [][]float32) {
			for i := range s[3] {
				s[3][i] = s[3][i] * s[3][i] // second moments are not negative
			}
			Adam(s[0], s[1], s[2], s[3], AdamStep{Keep1: 0.9, Keep2: 0.999, Rate: 1e-2, RootBias2: 3, Epsilon: 1e-8, Decay: 0.99})
		},
		"gruForward": func(s [][]float32) { GRUForward(s[0], s[1], s[2], s[3], s[4], s[5]) },
		"gruBackward": func(s [][]float32) {
			GRUBackward(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9])
		},
		"norm": func(s [][]float32) {
			inverse := make([]float32, 1)
			NormForward(s[0], s[1], inverse, s[2], s[3], s[4], 1e-5, -0.5)
			NormBackward(s[5], s[6], s[7], s[8], s[1], inverse, s[3])
		},
	}
	for name, call := range cases {
		t.Run(name, func(t *testing.T) {
			for n := range 71 {
				results := map[bool][][]float32{}
				for _, plain := range []bool{true, false} {
					restore := UsePortable(plain)
					rng := newRand(uint64(n))
					var guards []guarded
					var s [][]float32
					for range 10 {
						g := newGuarded(rng, n)
						guards, s = append(guards, g), append(s, g.values)
					}
					call(s)
					restore()
					for _, g := range guards {
						g.intact(t)
					}
					results[plain] = s
				}
				for i := range results[true] {
					for j, want := range results[true][i] {
						agree(t, name, results[false][i][j], float64(want), 1e-5)
					}
				}
			}
		})
	}
}

// TestAdamLeavesNoSubnormals lets moments decay for thousands of steps, with zero gradients and
// with ones too small to square.
func TestAdamLeavesNoSubnormals(t *testing.T) {
	const n, smallest = 37, 0x1p-126
	subnormal := func(x float32) bool { return x != 0 && x < smallest && x > -smallest }
	onBothKernels(t, func(t *testing.T) {
		for _, size := range []float32{0, 1e-45, 1e-30, 1e-22, 3e-19, 2e-18} {
			rng := newRand(7)
			p, g, m, v := randoms(rng, n), make([]float32, n), randoms(rng, n), make([]float32, n)
			for i := range g {
				g[i] = size * float32(1-2*(i%2))
				v[i] = m[i] * m[i] * 1e-30
			}
			for step := range 20_000 {
				Adam(p, g, m, v, AdamStep{Keep1: 0.9, Keep2: 0.999, Rate: 1e-3, RootBias2: 1, Epsilon: 1e-8, Decay: 1})
				if slices.ContainsFunc(m, subnormal) || slices.ContainsFunc(v, subnormal) {
					t.Fatalf("gradients of %g, step %d: moments %v and %v", size, step, m, v)
				}
			}
			if size == 0 && (slices.Max(m) != 0 || slices.Min(m) != 0 || slices.Max(v) != 0) {
				t.Errorf("moments have not faded to 0: %v and %v", m, v)
			}
		}
	})
}

func TestAdamKeepsWhatIsNotANumber(t *testing.T) {
	nan := float32(math.NaN())
	onBothKernels(t, func(t *testing.T) {
		p, g, m, v := []float32{1}, []float32{nan}, []float32{0}, []float32{0}
		Adam(p, g, m, v, AdamStep{Keep1: 0.9, Keep2: 0.999, Rate: 1e-3, RootBias2: 1, Epsilon: 1e-8, Decay: 1})
		if p[0] == p[0] || m[0] == m[0] || v[0] == v[0] {
			t.Errorf("a gradient that is no number gave %v, %v, %v", p, m, v)
		}
	})
}

func TestNormOfSeveralRowsIsRowByRow(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		const rows, width = 5, 20
		rng := newRand(4)
		x, scale, shift := randoms(rng, rows*width), randoms(rng, width), randoms(rng, width)
		y, unit, inverse := make([]float32, rows*width), make([]float32, rows*width), make([]float32, rows)
		NormForward(y, unit, inverse, x, scale, shift, 1e-5, 0)
		for r := range rows {
			mean, square := 0.0, 0.0
			for _, v := range x[r*width:][:width] {
				mean += float64(v) / width
				square += float64(v) * float64(v) / width
			}
			deviation := math.Sqrt(square - mean*mean + 1e-5)
			for j, v := range x[r*width:][:width] {
				want := max(0, float64(scale[j])*(float64(v)-mean)/deviation+float64(shift[j]))
				agree(t, "norm", y[r*width+j], want, 1e-5)
			}
		}
	})
}

func TestNothingAllocates(t *testing.T) {
	rng := newRand(5)
	a, b, c := View(randoms(rng, 64*200), 64, 200), View(randoms(rng, 200*200), 200, 200), View(make([]float32, 64*200), 64, 200)
	onBothKernels(t, func(t *testing.T) {
		allocations := testing.AllocsPerRun(5, func() {
			Mul(c, a, b, Finish{ReLU: true})
			Transpose(View(c.Data, 200, 64), a)
			Tanh(c.Data, a.Data)
			SumRows(b.Data[:200], a, false)
		})
		if allocations > 0 {
			t.Fatalf("%v allocations", allocations)
		}
	})
}

func TestInPlaceEqualsOutOfPlace(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		x := randoms(newRand(6), 37)
		for _, f := range []func(dst, x []float32){Exp, Sigmoid, Tanh, ReLU} {
			apart, inPlace := make([]float32, len(x)), slices.Clone(x)
			f(apart, x)
			f(inPlace, inPlace)
			if !slices.Equal(apart, inPlace) {
				t.Fatal("in place differs")
			}
		}
	})
}
