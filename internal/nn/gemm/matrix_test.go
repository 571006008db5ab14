package gemm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomMatrix has a stride that may exceed its columns.
func randomMatrix(rng *rand.Rand, rows, cols int) (Matrix, guarded) {
	stride := cols + rng.IntN(3)
	g := newGuarded(rng, (rows-1)*stride+cols)
	return Matrix{Data: g.values, Rows: rows, Cols: cols, Stride: stride}, g
}

func (m Matrix) at(i, j int) float64 { return float64(m.Data[i*m.Stride+j]) }

// checkProduct compares one product with sums in float64, element by element.
func checkProduct(t *testing.T, rng *rand.Rand, m, n, k int, transposed bool) {
	t.Helper()
	c, guard := randomMatrix(rng, m, n)
	b, _ := randomMatrix(rng, k, n)
	a, _ := randomMatrix(rng, m, k)
	if transposed {
		a, _ = randomMatrix(rng, k, m)
	}
	f := Finish{ReLU: rng.IntN(2) == 0}
	switch rng.IntN(3) {
	case 0:
		f.Accumulate = true
	case 1:
		f.Bias = randoms(rng, n)
	}
	before := slices.Clone(c.Data)
	if transposed {
		MulTransA(c, a, b, f)
	} else {
		Mul(c, a, b, f)
	}
	guard.intact(t)
	for i := range m {
		for j := range n {
			want := 0.0
			if f.Accumulate {
				want = float64(before[i*c.Stride+j])
			}
			if f.Bias != nil {
				want = float64(f.Bias[j])
			}
			size := 1 + math.Abs(want) // of the terms: what rounding is relative to
			for l := range k {
				term := b.at(l, j)
				if transposed {
					term *= a.at(l, i)
				} else {
					term *= a.at(i, l)
				}
				want += term
				size += math.Abs(term)
			}
			if f.ReLU {
				want = max(want, 0)
			}
			if got := c.at(i, j); !(math.Abs(got-want) <= 1e-6*size) {
				t.Fatalf("%dx%dx%d transposed=%v %+v at %d,%d: got %v, want %v", m, n, k, transposed, f, i, j, got, want)
			}
		}
		for j := n; j < c.Stride && i < m-1; j++ {
			if c.Data[i*c.Stride+j] != before[i*c.Stride+j] {
				t.Fatalf("%dx%dx%d: wrote between the rows", m, n, k)
			}
		}
	}
}

func TestProductsMatchNaiveSums(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		rng := newRand(1)
		for range 800 {
			checkProduct(t, rng, 1+rng.IntN(40), 1+rng.IntN(40), 1+rng.IntN(40), rng.IntN(2) == 0)
		}
		// The last two are large enough to be packed, and to be cut in k.
		for _, size := range [][3]int{{64, 64, 64}, {256, 64, 8}, {257, 3, 64}, {64, 1, 64}, {1, 64, 64}, {1, 200, 70}, {9, 17, 1},
			{64, 250, 270}, {65, 130, 530}} {
			checkProduct(t, rng, size[0], size[1], size[2], false)
			checkProduct(t, rng, size[0], size[1], size[2], true)
		}
	})
}

func TestRowsAreProductsOfOneRow(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		rng := newRand(8)
		for range 500 {
			k, n, relu, tanh := 1+rng.IntN(40), 1+rng.IntN(150), rng.IntN(2) == 0, rng.IntN(2) == 0
			if tanh {
				n = 1 + rng.IntN(12)
			}
			x, w, bias, y := randoms(rng, k), randoms(rng, k*n), randoms(rng, n), newGuarded(rng, n)
			want := slices.Clone(y.values)
			f := Finish{Accumulate: true, ReLU: relu}
			if rng.IntN(2) == 0 {
				f = Finish{Bias: bias, ReLU: relu}
			}
			Mul(View(want, 1, n), View(x, 1, k), View(w, k, n), f)
			if tanh {
				Tanh(want, want)
			}
			row := NewRow(y.values, x, w, f.Bias, relu, tanh)
			row.Run()
			y.intact(t)
			if !slices.Equal(y.values, want) {
				t.Fatalf("%d by %d: got %v, want %v", k, n, y.values, want)
			}
		}
	})
}

func TestProductOverNothingIsTheBias(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		for _, rows := range []int{1, 5, 64} {
			c := View(randoms(newRand(2), rows*7), rows, 7)
			Mul(c, View(nil, rows, 0), View(nil, 0, 7), Finish{Bias: []float32{1, 2, 3, 4, 5, 6, 7}})
			for i := range c.Data {
				agree(t, "bias", c.Data[i], float64(i%7+1), 0)
			}
			wide := View(randoms(newRand(2), rows*200), rows, 200)
			MulTransA(wide, View(nil, 0, rows), View(nil, 0, 200), Finish{})
			for _, v := range wide.Data {
				agree(t, "zero", v, 0, 0)
			}
		}
	})
}

func TestReLUKeepsNaN(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		for _, rows := range []int{1, 6} {
			a, b, c := View(make([]float32, rows), rows, 1), View([]float32{float32(math.NaN()), -1}, 1,
				2), View(make([]float32, 2*rows), rows, 2)
			for i := range a.Data {
				a.Data[i] = 1
			}
			Mul(c, a, b, Finish{ReLU: true})
			if !math.IsNaN(c.at(rows-1, 0)) || c.at(rows-1, 1) != 0 {
				t.Fatalf("%d rows: got %v", rows, c.Data)
			}
		}
	})
}

func TestTransposeAndRowSumsMatchNaiveLoops(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		rng := newRand(3)
		for range 600 {
			rows, cols := 1+rng.IntN(40), 1+rng.IntN(140)
			src, _ := randomMatrix(rng, rows, cols)
			dst, guard := randomMatrix(rng, cols, rows)
			Transpose(dst, src)
			guard.intact(t)
			sums := newGuarded(rng, cols)
			accumulate := rng.IntN(2) == 0
			before := slices.Clone(sums.values)
			SumRows(sums.values, src, accumulate)
			sums.intact(t)
			for j := range cols {
				want := 0.0
				if accumulate {
					want = float64(before[j])
				}
				for i := range rows {
					want += src.at(i, j)
					agree(t, "transpose", float32(dst.at(j, i)), src.at(i, j), 0)
				}
				agree(t, "sum of rows", sums.values[j], want, 1e-5)
			}
		}
	})
}

func TestProductsRefuseShapesThatDoNotFit(t *testing.T) {
	good := View(make([]float32, 12), 3, 4)
	cases := map[string]func(){
		"inner sizes differ": func() { Mul(View(make([]float32, 9), 3, 3), good, View(make([]float32, 9), 3, 3), Finish{}) },
		"result too small":   func() { Mul(View(make([]float32, 8), 3, 3), good, View(make([]float32, 12), 4, 3), Finish{}) },
		"bias of the wrong length": func() {
			Mul(View(make([]float32, 9), 3, 3), good, View(make([]float32, 12), 4, 3), Finish{Bias: make([]float32, 2)})
		},
		"vectors differ": func() { Axpy(make([]float32, 3), 1, make([]float32, 4)) },
	}
	for name, call := range cases {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Fatal("accepted")
				}
			}()
			call()
		})
	}
}

func TestSameInputsGiveSameBytes(t *testing.T) {
	onBothKernels(t, func(t *testing.T) {
		run := func() []float32 {
			rng := newRand(9)
			a, b, c := View(randoms(rng, 50*33), 50, 33), View(randoms(rng, 33*29), 33, 29), View(make([]float32, 50*29), 50, 29)
			Mul(c, a, b, Finish{})
			Tanh(c.Data, c.Data)
			return c.Data
		}
		if !slices.Equal(run(), run()) {
			t.Fatal("two runs differ")
		}
	})
}
