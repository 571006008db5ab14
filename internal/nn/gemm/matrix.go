package gemm

import (
	"fmt"
	"unsafe"
)

// Matrix is a view of float32 values in row order; rows are Stride elements apart.
type Matrix struct {
	Data               []float32
	Rows, Cols, Stride int
}

// View is a view of the data as rows of the given number of columns, without gaps.
func View(data []float32, rows, cols int) Matrix {
	return Matrix{Data: data, Rows: rows, Cols: cols, Stride: cols}
}

// Columns is the view of columns from (inclusive) to (exclusive).
func (m Matrix) Columns(from, to int) Matrix {
	return Matrix{Data: m.Data[from:], Rows: m.Rows, Cols: to - from, Stride: m.Stride}
}

// Slice is the view of rows from (inclusive) to (exclusive).
func (m Matrix) Slice(from, to int) Matrix {
	return Matrix{Data: m.Data[from*m.Stride:], Rows: to - from, Cols: m.Cols, Stride: m.Stride}
}

// fits reports whether every element is within the data.
func (m Matrix) fits() bool {
	if m.Rows <= 0 || m.Cols <= 0 {
		return m.Rows == 0 || m.Cols == 0
	}
	return m.Cols <= m.Stride && (m.Rows-1)*m.Stride+m.Cols <= len(m.Data)
}

// Finish configures a product. The zero value overwrites C with the bare product.
type Finish struct {
	Accumulate bool      // add to what C holds
	Bias       []float32 // add this row to every row of C; not together with Accumulate
	ReLU       bool      // then replace negative values by zero
}

// Modes of a product, as the kernels read them (gen/panel.go).
const (
	modeAccumulate = 1
	modeBias       = 2
	modeReLU       = 4
	modeTanh       = 8 // rows of up to narrow values only
)

// product is C = op(A)*B in the form the kernels take: A has a stride for each
// direction, so its transpose is only another pair of strides.
type product struct {
	c, a, b, bias          []float32
	m, n, k                int
	strideC, strideB       int
	rowStrideA, colStrideA int
	mode                   int
}

// Mul sets C to A*B, with the given Finish. C must not overlap A or B.
func Mul(c, a, b Matrix, f Finish) {
	if c.Rows != a.Rows || c.Cols != b.Cols || a.Cols != b.Rows {
		panic(fmt.Sprintf("gemm: %dx%d times %dx%d does not give %dx%d", a.Rows, a.Cols, b.Rows, b.Cols, c.Rows, c.Cols))
	}
	multiply(c, a, b, f, a.Cols, a.Stride, 1)
}

// MulTransA sets C to the transpose of A times B, with the given Finish. C must not overlap A
// or B.
func MulTransA(c, a, b Matrix, f Finish) {
	if c.Rows != a.Cols || c.Cols != b.Cols || a.Rows != b.Rows {
		panic(fmt.Sprintf("gemm: transposed %dx%d times %dx%d does not give %dx%d", a.Rows, a.Cols, b.Rows, b.Cols, c.Rows, c.Cols))
	}
	multiply(c, a, b, f, a.Rows, 1, a.Stride)
}

// narrow is the longest row on which kernels apply tanh themselves.
const narrow = 8

// Row is a product of one row, checked and resolved beforehand: Run only multiplies. A small
// layer takes about ten nanoseconds.
type Row struct {
	y, x, w, bias *float32
	k, n, mode    int
}

// NewRow sets y to the row x times W, whose rows are as long as y, plus the bias, and then
// optionally applies ReLU or tanh. Without a bias it adds to y.
func NewRow(y, x, w, bias []float32, relu, tanh bool) Row {
	if len(x)*len(y) != len(w) || len(w) == 0 || (bias != nil && len(bias) != len(y)) {
		panic("gemm: a row needs a row of W per value of x, and a bias per value of y")
	}
	r := Row{first(y), first(x), first(w), first(bias), len(x), len(y), modeBias}
	if bias == nil {
		r.mode = modeAccumulate
	}
	if relu {
		r.mode |= modeReLU
	}
	if tanh {
		r.mode |= modeTanh
	}
	return r
}

// Run multiplies the current values of the slices given to NewRow.
func (r *Row) Run() {
	active.row(r.y, r.x, r.w, r.bias, r.k, r.n, r.mode)
	if r.mode&modeTanh != 0 && r.n > narrow {
		y := unsafe.Slice(r.y, r.n)
		active.tanh(y, y)
	}
}

func first(s []float32) *float32 { return unsafe.SliceData(s) }

// A product A*Bᵀ is Transpose followed by Mul: one pass over B costs less than
// the reductions of a kernel of dot products, and the caller owns the memory.

func multiply(c, a, b Matrix, f Finish, k, rowStrideA, colStrideA int) {
	if !c.fits() || !a.fits() || !b.fits() {
		panic("gemm: a matrix reaches beyond its data")
	}
	if c.Rows == 0 || c.Cols == 0 {
		return
	}
	p := product{
		c: c.Data, a: a.Data, b: b.Data, bias: f.Bias,
		m: c.Rows, n: c.Cols, k: k,
		strideC: c.Stride, strideB: b.Stride, rowStrideA: rowStrideA, colStrideA: colStrideA,
	}
	if f.Accumulate {
		p.mode |= modeAccumulate
	}
	if f.Bias != nil {
		if f.Accumulate || len(f.Bias) != c.Cols {
			panic("gemm: a bias needs one value per column of C, and no accumulation")
		}
		p.mode |= modeBias
	}
	if f.ReLU {
		p.mode |= modeReLU
	}
	active.multiply(p)
}

var one = []float32{1}

// SumRows sets dst to the sum of A's rows, or adds it to dst: a bias's gradient.
func SumRows(dst []float32, a Matrix, accumulate bool) {
	if len(dst) != a.Cols || !a.fits() {
		panic("gemm: SumRows needs one sum per column")
	}
	if a.Cols == 0 {
		return
	}
	p := product{c: dst, a: one, b: a.Data, m: 1, n: a.Cols, k: a.Rows, strideC: a.Cols, strideB: a.Stride}
	if accumulate {
		p.mode = modeAccumulate
	}
	active.multiply(p)
}

// Transpose sets dst to the transpose of src. They must not overlap.
func Transpose(dst, src Matrix) {
	if dst.Rows != src.Cols || dst.Cols != src.Rows || !dst.fits() || !src.fits() {
		panic(fmt.Sprintf("gemm: the transpose of %dx%d does not give %dx%d", src.Rows, src.Cols, dst.Rows, dst.Cols))
	}
	active.transpose(dst, src)
}
