package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// strip is the widest piece of a row vector computed at once: 8 registers.
const strip = 8

// vectorTimesMatrix emits y = x*B for one row x: a single inference, and the sums over a batch.
// It reads B row by row and keeps up to 64 sums in registers; narrow results take several rows
// of B at a time instead, because few sums alone would be bound by latency.
func vectorTimesMatrix() {
	kernel("vectorMatrix", "func(y, x, b, bias *float32, k, n, strideX, strideB, mode int)",
		"vectorMatrix computes n sums over k rows of B, each weighted by an element of x. Strides are in elements.")
	s := stripState{x: Param("x"), k: Param("k")}
	s.y = Load(Param("y"), GP64()).(reg.GPVirtual)
	s.b = Load(Param("b"), GP64()).(reg.GPVirtual)
	s.bias = Load(Param("bias"), GP64()).(reg.GPVirtual)
	s.n = Load(Param("n"), GP64()).(reg.GPVirtual)
	s.strideX = Load(Param("strideX"), GP64()).(reg.GPVirtual)
	s.strideB = Load(Param("strideB"), GP64()).(reg.GPVirtual)
	SHLQ(Imm(2), s.strideX)
	SHLQ(Imm(2), s.strideB)
	s.strips()

	kernel("rowVector", "func(y, x, w, bias *float32, k, n, mode int)",
		"rowVector is vectorMatrix without gaps, with few arguments: a single inference should take as few steps as can be.")
	s = stripState{x: Param("x"), k: Param("k"), tanh: true}
	s.y = Load(Param("y"), GP64()).(reg.GPVirtual)
	s.b = Load(Param("w"), GP64()).(reg.GPVirtual)
	s.bias = Load(Param("bias"), GP64()).(reg.GPVirtual)
	s.n = Load(Param("n"), GP64()).(reg.GPVirtual)
	s.strideX, s.strideB = GP64(), GP64()
	MOVQ(I32(4), s.strideX)
	MOVQ(s.n, s.strideB)
	SHLQ(Imm(2), s.strideB)
	s.strips()
}

// stripState is kept in registers between strips.
type stripState struct {
	x, k                            gotypes.Component
	y, b, bias, n, strideX, strideB reg.GPVirtual
	tanh                            bool
}

func (s *stripState) strips() {
	y, b, bias, n := s.y, s.b, s.bias, s.n
	Label("next")
	for vectors := 1; vectors < strip; vectors++ {
		CMPQ(n, Imm(uint64(lanes*vectors)))
		JLE(LabelRef(fmt.Sprintf("vectors%d", vectors)))
	}
	for vectors := strip; vectors >= 1; vectors-- {
		Label(fmt.Sprintf("vectors%d", vectors))
		s.strip(vectors)
		if vectors == strip {
			SUBQ(Imm(lanes*strip), n)
			JLE(LabelRef("end"))
			ADDQ(I32(4*lanes*strip), y)
			ADDQ(I32(4*lanes*strip), b)
			ADDQ(I32(4*lanes*strip), bias)
			JMP(LabelRef("next"))
		} else {
			JMP(LabelRef("end"))
		}
	}
	Label("end")
	finish()
}

// rowsAtOnce is how many rows of B a strip takes in turn, each into its own sums: as many as
// hide the latency of an addition behind the loads.
func rowsAtOnce(vectors int) int {
	switch {
	case vectors <= 2:
		return 4
	case vectors <= 6:
		return 2
	}
	return 1
}

// strip emits the sums for a strip of the given number of vectors, the last
// one under a mask.
func (s *stripState) strip(vectors int) {
	atOnce := rowsAtOnce(vectors)
	mask := stripMask(vectors, s.n)
	acc := [][]reg.VecVirtual{s.begin(vectors, mask)}
	for range atOnce - 1 {
		var sums []reg.VecVirtual
		for range vectors {
			sums = append(sums, zeroed())
		}
		acc = append(acc, sums)
	}
	x, row, k := GP64(), GP64(), GP64()
	Load(s.x, x)
	Load(s.k, k)
	MOVQ(s.b, row)
	step := func(u int) {
		element := YMM()
		VBROADCASTSS(Mem{Base: x}, element)
		for v := range vectors {
			from := Mem{Base: row, Disp: 4 * lanes * v}
			if v < vectors-1 {
				VFMADD231PS(from, element, acc[u][v])
				continue
			}
			last := YMM()
			VMASKMOVPS(from, mask, last)
			VFMADD231PS(last, element, acc[u][v])
		}
		ADDQ(s.strideX, x)
		ADDQ(s.strideB, row)
	}
	repeat(k, atOnce, step)
	for apart := 1; apart < atOnce; apart *= 2 {
		for u := 0; u+apart < atOnce; u += 2 * apart {
			for v := range vectors {
				VADDPS(acc[u+apart][v], acc[u][v], acc[u][v])
			}
		}
	}
	s.end(acc[0], mask)
}

// begin loads the initial sums: the bias, the present y, or zero.
func (s *stripState) begin(vectors int, mask reg.VecVirtual) []reg.VecVirtual {
	var acc []reg.VecVirtual
	for range vectors {
		acc = append(acc, YMM())
	}
	from, mode, load, ready := GP64(), GP64(), label("load"), label("ready")
	Load(Param("mode"), mode)
	MOVQ(s.bias, from)
	TESTQ(U32(modeBias), mode)
	JNZ(LabelRef(load))
	MOVQ(s.y, from)
	TESTQ(U32(modeAccumulate), mode)
	JNZ(LabelRef(load))
	for _, v := range acc {
		VXORPS(v, v, v)
	}
	JMP(LabelRef(ready))
	Label(load)
	for v := range acc {
		at := Mem{Base: from, Disp: 4 * lanes * v}
		if v == vectors-1 {
			VMASKMOVPS(at, mask, acc[v])
		} else {
			VMOVUPS(at, acc[v])
		}
	}
	Label(ready)
	return acc
}

// repeat emits step(0..atOnce-1) while k lasts, then step(0) for the rest.
func repeat(k reg.GPVirtual, atOnce int, step func(u int)) {
	several, rest, single, done := label("several"), label("rest"), label("single"), label("summed")
	if atOnce > 1 {
		SUBQ(Imm(uint64(atOnce)), k)
		JL(LabelRef(rest))
		Label(several)
		for u := range atOnce {
			step(u)
		}
		SUBQ(Imm(uint64(atOnce)), k)
		JGE(LabelRef(several))
		Label(rest)
		ADDQ(Imm(uint64(atOnce)), k)
	} else {
		TESTQ(k, k)
	}
	JZ(LabelRef(done))
	Label(single)
	step(0)
	DECQ(k)
	JNZ(LabelRef(single))
	Label(done)
}

func stripMask(vectors int, n reg.GPVirtual) reg.VecVirtual {
	mask, width := YMM(), GP64()
	MOVQ(n, width)
	if vectors > 1 {
		SUBQ(I32(int32(lanes*(vectors-1))), width)
	}
	if vectors == strip {
		full := GP64()
		MOVQ(I32(lanes), full)
		CMPQ(width, full)
		CMOVQGT(full, width)
	}
	laneMask(width, mask)
	return mask
}

// end applies ReLU or tanh and stores. Only a narrow row can have tanh here: it is for the last
// layer of a policy, whose single result is on the critical path.
func (s *stripState) end(acc []reg.VecVirtual, mask reg.VecVirtual) {
	mode, store, last := GP64(), label("store"), len(acc)-1
	Load(Param("mode"), mode)
	TESTQ(U32(modeReLU), mode)
	JZ(LabelRef(store))
	zero := zeroed()
	for _, v := range acc {
		VMAXPS(v, zero, v)
	}
	Label(store)
	if s.tanh && last == 0 {
		plain := label("plain")
		TESTQ(U32(modeTanh), mode)
		JZ(LabelRef(plain))
		VMOVAPS(tanh(acc[0]), acc[0])
		Label(plain)
	}
	for v := range last {
		VMOVUPS(acc[v], Mem{Base: s.y, Disp: 4 * lanes * v})
	}
	VMASKMOVPS(acc[last], mask, Mem{Base: s.y, Disp: 4 * lanes * last})
}

// matrixTimesVector emits y = A*x for blocks of four rows of A: a layer with
// one output. Four dot products share the loads of x and one reduction.
func matrixTimesVector() {
	kernel("matrixVector", "func(y, a, x *float32, blocks, k, strideA int)",
		"matrixVector computes the dot products of x with blocks of four rows of A. The stride is in elements.")
	y, base := Load(Param("y"), GP64()).(reg.GPVirtual), Load(Param("a"), GP64()).(reg.GPVirtual)
	x := Load(Param("x"), GP64()).(reg.GPVirtual)
	blocks, k := Load(Param("blocks"), GP64()).(reg.GPVirtual), Load(Param("k"), GP64()).(reg.GPVirtual)
	stride := Load(Param("strideA"), GP64()).(reg.GPVirtual)
	SHLQ(Imm(2), stride)

	Label("block")
	var rows [4]reg.GPVirtual
	var acc [4]reg.VecVirtual
	for r := range rows {
		rows[r], acc[r] = GP64(), zeroed()
		MOVQ(base, rows[r])
		ADDQ(stride, base)
	}
	eachVector(k, func(l lane) {
		values := l.load(x)
		for r := range rows {
			if l.masked {
				VFMADD231PS(l.load(rows[r]), values, acc[r])
			} else {
				VFMADD231PS(l.at(rows[r]), values, acc[r])
			}
		}
	})
	VHADDPS(acc[1], acc[0], acc[0])
	VHADDPS(acc[3], acc[2], acc[2])
	VHADDPS(acc[2], acc[0], acc[0])
	high := XMM()
	VEXTRACTF128(Imm(1), acc[0], high)
	VADDPS(high, acc[0].AsX(), high)
	VMOVUPS(high, Mem{Base: y})
	ADDQ(Imm(16), y)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	finish()
}
