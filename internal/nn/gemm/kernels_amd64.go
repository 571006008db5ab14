//go:build amd64 && !purego

package gemm

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var avx2 = kernels{
	name:         "avx2",
	multiply:     multiplyAVX2,
	row:          rowVector,
	transpose:    transposeAVX2,
	exp:          expVector,
	sigmoid:      sigmoidVector,
	tanh:         tanhVector,
	relu:         reluVector,
	reluGrad:     reluGradient,
	tanhGrad:     tanhGradient,
	sigmoidGrad:  sigmoidGradient,
	axpy:         axpyVector,
	lerp:         lerpVector,
	scale:        scaleVector,
	dot:          dotVector,
	adam:         adamVector,
	normForward:  normForwardRows,
	normBackward: normBackwardRows,
	gruForward:   gruForwardCells,
	gruBackward:  gruBackwardCells,
	fmaLoop:      fmaLoop,
}

func vectorKernels() *kernels {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return &avx2
	}
	return nil
}

const (
	panelWidth = 16
	vectorLen  = 8
	tileRows   = 6
	// packDepth rows of a panel of B make 16 KiB: they stay in the first-level cache beside the
	// rows of A that are streamed.
	packDepth = 256
)

// multiplyAVX2 picks the kernel by shape.
func multiplyAVX2(p product) {
	switch {
	case p.k == 0: // no multiplication, and no memory to point at
		multiplyPortable(p)
	case p.m == 1:
		vectorMatrix(first(p.c), first(p.a), first(p.b), first(p.bias), p.k, p.n, p.colStrideA, p.strideB, p.mode)
	case p.n == 1 && p.strideC == 1 && p.rowStrideA == 1 && p.mode&^modeAccumulate == 0:
		// A column of C from Aᵀ is a row from A.
		vectorMatrix(first(p.c), first(p.b), first(p.a), nil, p.k, p.m, p.strideB, p.colStrideA, p.mode)
	case p.n == 1 && p.strideC == 1 && p.strideB == 1 && p.colStrideA == 1 && p.mode&modeAccumulate == 0:
		multiplyColumn(p)
	case worthPacking(p):
		multiplyPacked(p)
	default:
		multiplyPanels(p)
	}
}

// multiplyPanels computes C panel by panel, reading B in place.
func multiplyPanels(p product) {
	for j := 0; j < p.n; j += panelWidth {
		var bias *float32
		if p.bias != nil {
			bias = &p.bias[j]
		}
		p.panel(first(p.c[j:]), first(p.a), first(p.b[j:]), bias, p.k, min(panelWidth, p.n-j), p.strideB, p.mode)
	}
}

// worthPacking: rows of B that are far apart compete for few cache sets. Copying a panel into
// contiguous lines pays if enough tiles use it and if B is large; or if A is read across its
// rows too, because then both compete. Found by measuring products of 32 to 256 rows.
func worthPacking(p product) bool {
	acrossA := p.colStrideA > 1
	return p.m >= 64 && p.k >= panelWidth && p.strideB >= 128 && (acrossA || p.k*p.n > 1<<16)
}

// multiplyPacked copies each panel of B into contiguous lines first, and divides k so that the
// copy stays in the first-level cache.
func multiplyPacked(p product) {
	var packed [packDepth * panelWidth]float32
	blocks := (p.k + packDepth - 1) / packDepth
	for block := range blocks {
		from, to := block*p.k/blocks, (block+1)*p.k/blocks
		mode := p.mode
		if block > 0 {
			mode = mode&^modeBias | modeAccumulate
		}
		if block < blocks-1 {
			mode &^= modeReLU
		}
		for j := 0; j < p.n; j += panelWidth {
			width := min(panelWidth, p.n-j)
			pack(packed[:(to-from)*panelWidth], p.b[from*p.strideB+j:], p.strideB, width)
			var bias *float32
			if p.bias != nil {
				bias = &p.bias[j]
			}
			p.panel(first(p.c[j:]), first(p.a[from*p.colStrideA:]), &packed[0], bias, to-from, width, panelWidth, mode)
		}
	}
}

// pack copies rows of a panel. Whole rows are copied as arrays, which the
// compiler turns into four moves.
func pack(packed, b []float32, strideB, width int) {
	for i := 0; i < len(packed); i += panelWidth {
		if width == panelWidth {
			*(*[panelWidth]float32)(packed[i:]) = *(*[panelWidth]float32)(b)
		} else {
			copy(packed[i:i+panelWidth], b[:width])
		}
		b = b[min(strideB, len(b)):]
	}
}

// panel computes one strip of columns of C in as few tiles as keep the multipliers busy: up to
// four rows take the same time, so seven rows are better divided into 4+3 than 6+1.
func (p *product) panel(c, a, b, bias *float32, k, width, strideB, mode int) {
	row := 0
	tiles := func(rows, count int) {
		if count == 0 {
			return
		}
		at, from := offset(c, row*p.strideC), offset(a, row*p.rowStrideA)
		switch {
		case width == panelWidth:
			panel16(at, from, b, bias, k, count, rows, 0, p.strideC, p.rowStrideA, p.colStrideA, strideB, mode)
		case width > vectorLen:
			panelPartial16(at, from, b, bias, k, count, rows, width-vectorLen, p.strideC, p.rowStrideA, p.colStrideA, strideB, mode)
		default:
			panel8(at, from, b, bias, k, count, rows, width, p.strideC, p.rowStrideA, p.colStrideA, strideB, mode)
		}
		row += rows * count
	}
	full, rest := p.m/tileRows, p.m%tileRows
	if full > 0 && (rest == 1 || rest == 2) {
		tiles(tileRows, full-1)
		tiles(4, 1)
		tiles(rest+2, 1)
		return
	}
	tiles(tileRows, full)
	if rest > 0 {
		tiles(rest, 1)
	}
}

func offset(p *float32, elements int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(p), 4*elements))
}

// multiplyColumn is a layer with one output: dot products with the rows of A.
func multiplyColumn(p product) {
	whole := p.m &^ 3
	if whole > 0 {
		matrixVector(first(p.c), first(p.a), first(p.b), whole/4, p.k, p.rowStrideA)
	}
	for i := whole; i < p.m; i++ {
		p.c[i] = dotVector(p.a[i*p.rowStrideA:][:p.k], p.b[:p.k])
	}
	column := p.c[:p.m]
	if p.mode&modeBias != 0 {
		for i := range column {
			column[i] += p.bias[0]
		}
	}
	if p.mode&modeReLU != 0 {
		reluVector(column, column)
	}
}

func transposeAVX2(dst, src Matrix) {
	rows, cols := src.Rows&^(vectorLen-1), src.Cols&^(vectorLen-1)
	if cols > 0 {
		for i := 0; i < rows; i += vectorLen {
			transpose8(&dst.Data[i], &src.Data[i*src.Stride], cols/vectorLen, vectorLen, dst.Stride, src.Stride)
		}
	}
	if cols < src.Cols {
		transposePortable(dst.Slice(cols, dst.Rows), src.Columns(cols, src.Cols))
	}
	if rows < src.Rows && cols > 0 {
		transposePortable(dst.Slice(0, cols).Columns(rows, dst.Cols), src.Slice(rows, src.Rows).Columns(0, cols))
	}
}
