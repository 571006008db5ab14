package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// How a product begins and ends; the same bits as in gemm's product.go.
const (
	modeAccumulate = 1
	modeBias       = 2
	modeReLU       = 4
	modeTanh       = 8
)

const (
	maxTileRows = 6
	// unrollK repeats the inner loop to hide its overhead behind the multiplications.
	unrollK = 4
)

// A panel is a strip of C of 16 columns (or fewer, under a mask), computed in
// tiles of up to 6 rows: 12 accumulators, 2 registers for B, 1 for A. That is
// enough independent sums to hide the latency of FMA on two ports. A has a row
// stride and a column stride, so that its transpose costs nothing.
func panels() {
	panelKernel("panel16", 2, false, "16 columns of C")
	panelKernel("panelPartial16", 2, true, "9 to 15 columns of C; width counts the last vector's lanes")
	panelKernel("panel8", 1, true, "1 to 8 columns of C; width counts its lanes")
}

// panelState is kept in registers between tiles.
type panelState struct {
	vectors                              int
	masked                               bool
	mask                                 reg.VecVirtual
	a, b, c, tiles                       reg.GPVirtual
	rowStrideA, stepA, strideB, rowBytes reg.GPVirtual
}

func panelKernel(name string, vectors int, masked bool, columns string) {
	kernel(name, "func(c, a, b, bias *float32, k, tiles, rows, width, strideC, rowStrideA, colStrideA, strideB, mode int)",
		name+" computes tiles of the given number of rows by "+columns+". Strides are in elements.")
	p := panelState{vectors: vectors, masked: masked}
	if masked {
		p.mask = YMM()
		width := GP64()
		Load(Param("width"), width)
		laneMask(width, p.mask)
	}
	load := func(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }
	stride := func(name string) reg.GPVirtual {
		r := load(name)
		SHLQ(Imm(2), r)
		return r
	}
	p.a, p.b, p.c, p.tiles = load("a"), load("b"), load("c"), load("tiles")
	p.rowStrideA, p.stepA, p.strideB, p.rowBytes = stride("rowStrideA"), stride("colStrideA"), stride("strideB"), stride("strideC")

	rows := load("rows")
	for r := maxTileRows; r > 1; r-- {
		CMPQ(rows, Imm(uint64(r)))
		JE(LabelRef(fmt.Sprintf("rows%d", r)))
	}
	for r := 1; r <= maxTileRows; r++ {
		Label(fmt.Sprintf("rows%d", r))
		p.tile(r)
		ADDQ(p.rowBytes, p.c)
		DECQ(p.tiles)
		JNZ(LabelRef(fmt.Sprintf("rows%d", r)))
		finish()
	}
}

// rowsOf gives the addresses of up to six rows from two base registers, since
// x86 scales an index by 1 or 2 but not by 3.
func rowsOf(base reg.GPVirtual, stride reg.GPVirtual, rows int) (address []Mem, bases []reg.GPVirtual) {
	first := GP64()
	MOVQ(base, first)
	bases = append(bases, first)
	if rows > 3 {
		fourth := GP64()
		LEAQ(Mem{Base: base, Index: stride, Scale: 2}, fourth)
		ADDQ(stride, fourth)
		bases = append(bases, fourth)
	}
	for r := range rows {
		m := Mem{Base: bases[r/3]}
		if r%3 > 0 {
			m.Index, m.Scale = stride, uint8(r%3)
		}
		address = append(address, m)
	}
	return address, bases
}

// tile emits one tile and leaves p.a at the next one, p.c at this tile's last row.
func (p *panelState) tile(rows int) {
	accumulators := p.begin(rows)
	p.multiply(rows, accumulators)
	p.end(rows, accumulators)
	for range rows {
		ADDQ(p.rowStrideA, p.a)
	}
}

func (p *panelState) begin(rows int) [][]reg.VecVirtual {
	acc := make([][]reg.VecVirtual, rows)
	for r := range acc {
		for range p.vectors {
			acc[r] = append(acc[r], YMM())
		}
	}
	mode, fromC, fromBias, ready := GP64(), label("fromC"), label("fromBias"), label("ready")
	Load(Param("mode"), mode)
	TESTQ(U32(modeAccumulate), mode)
	JNZ(LabelRef(fromC))
	TESTQ(U32(modeBias), mode)
	JNZ(LabelRef(fromBias))
	for r := range acc {
		for _, v := range acc[r] {
			VXORPS(v, v, v)
		}
	}
	JMP(LabelRef(ready))

	Label(fromBias)
	bias := GP64()
	Load(Param("bias"), bias)
	for v := range p.vectors {
		p.loadVector(Mem{Base: bias, Disp: 4 * lanes * v}, v, acc[0][v])
		for r := 1; r < rows; r++ {
			VMOVAPS(acc[0][v], acc[r][v])
		}
	}
	JMP(LabelRef(ready))

	Label(fromC)
	address, _ := rowsOf(p.c, p.rowBytes, rows)
	for r := range acc {
		for v := range p.vectors {
			p.loadVector(address[r].Offset(4*lanes*v), v, acc[r][v])
		}
	}
	Label(ready)
	return acc
}

func (p *panelState) loadVector(from Mem, vector int, to reg.VecVirtual) {
	if p.masked && vector == p.vectors-1 {
		VMASKMOVPS(from, p.mask, to)
	} else {
		VMOVUPS(from, to)
	}
}

func (p *panelState) multiply(rows int, acc [][]reg.VecVirtual) {
	address, bases := rowsOf(p.a, p.rowStrideA, rows)
	b, k := GP64(), GP64()
	MOVQ(p.b, b)
	Load(Param("k"), k)
	step := func() {
		var row []reg.VecVirtual
		for v := range p.vectors {
			row = append(row, YMM())
			p.loadVector(Mem{Base: b, Disp: 4 * lanes * v}, v, row[v])
		}
		ADDQ(p.strideB, b)
		element := YMM()
		for r := range rows {
			VBROADCASTSS(address[r], element)
			for v := range p.vectors {
				VFMADD231PS(row[v], element, acc[r][v])
			}
		}
		for _, base := range bases {
			ADDQ(p.stepA, base)
		}
	}
	unrolled, rest, single, done := label("unrolled"), label("rest"), label("single"), label("product")
	SUBQ(Imm(unrollK), k)
	JL(LabelRef(rest))
	Label(unrolled)
	for range unrollK {
		step()
	}
	SUBQ(Imm(unrollK), k)
	JGE(LabelRef(unrolled))
	Label(rest)
	ADDQ(Imm(unrollK), k)
	JZ(LabelRef(done))
	Label(single)
	step()
	DECQ(k)
	JNZ(LabelRef(single))
	Label(done)
}

// end applies ReLU and stores. max(value, 0) is written so that NaN is preserved: a diverged
// network must not look healthy.
func (p *panelState) end(rows int, acc [][]reg.VecVirtual) {
	mode, store := GP64(), label("store")
	Load(Param("mode"), mode)
	TESTQ(U32(modeReLU), mode)
	JZ(LabelRef(store))
	zero := zeroed()
	for r := range acc {
		for _, v := range acc[r] {
			VMAXPS(v, zero, v)
		}
	}
	Label(store)
	for r := range rows {
		if r > 0 {
			ADDQ(p.rowBytes, p.c)
		}
		for v := range p.vectors {
			to := Mem{Base: p.c, Disp: 4 * lanes * v}
			if p.masked && v == p.vectors-1 {
				VMASKMOVPS(acc[r][v], p.mask, to)
			} else {
				VMOVUPS(acc[r][v], to)
			}
		}
	}
}
