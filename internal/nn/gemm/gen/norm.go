package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// layerNorm emits layer normalisation of rows and its gradient.
func layerNorm() {
	normForward()
	normBackward()
}

// meansOf spreads the means of two sets of partial sums.
func meansOf(first, second, inverseWidth reg.VecVirtual) (mean1, mean2 reg.VecVirtual) {
	pairs, high := YMM(), XMM()
	VHADDPS(second, first, pairs)
	VHADDPS(pairs, pairs, pairs) // first, second, first, second in each half
	VEXTRACTF128(Imm(1), pairs, high)
	VADDPS(high, pairs.AsX(), high)
	mean1, mean2 = YMM(), YMM()
	VBROADCASTSS(high, mean1)
	VMOVSHDUP(high, high)
	VBROADCASTSS(high, mean2)
	VMULPS(inverseWidth, mean1, mean1)
	VMULPS(inverseWidth, mean2, mean2)
	return mean1, mean2
}

// rowsAndWidth come from slices that have one value per row and per column.
func rowsAndWidth() (rows, width reg.GPVirtual) {
	return Load(Param("inverse").Len(), GP64()).(reg.GPVirtual), Load(Param("scale").Len(), GP64()).(reg.GPVirtual)
}

func inverseOf(width reg.GPVirtual) reg.VecVirtual {
	inverse := YMM()
	VXORPS(inverse.AsX(), inverse.AsX(), inverse.AsX())
	VCVTSI2SSQ(width, inverse.AsX(), inverse.AsX())
	VBROADCASTSS(inverse.AsX(), inverse)
	VDIVPS(inverse, copied(constant(1)), inverse)
	return inverse
}

func normForward() {
	kernel("normForwardRows", "func(y, unit, inverse, x, scale, shift []float32, epsilon, floor float32)",
		"normForwardRows normalises rows; see the portable version for the formulas.")
	load := func(name string) reg.GPVirtual { return Load(Param(name).Base(), GP64()).(reg.GPVirtual) }
	y, unit, inverse, x := load("y"), load("unit"), load("inverse"), load("x")
	scale, shift := load("scale"), load("shift")
	rows, width := rowsAndWidth()
	inverseWidth, floor := inverseOf(width), broadcastArgument("floor")

	// One pass finds mean and variance, of the distances from the row's first
	// value: without that, the squares of a row far from zero would cancel.
	Label("row")
	pivot, sums, squares := YMM(), zeroed(), zeroed()
	VBROADCASTSS(Mem{Base: x}, pivot)
	eachVector(width, func(l lane) {
		v := l.load(x)
		VSUBPS(pivot, v, v)
		if l.masked {
			VANDPS(l.mask, v, v)
		}
		VADDPS(v, sums, sums)
		VFMADD231PS(v, v, squares)
	})
	mean, deviation := meansOf(sums, squares, inverseWidth)
	VFNMADD231PS(mean, mean, deviation)
	VMAXPS(zeroed(), deviation, deviation)
	VADDPS(broadcastArgument("epsilon"), deviation, deviation)
	VADDPS(pivot, mean, mean)
	VSQRTPS(deviation, deviation)
	VDIVPS(deviation, copied(constant(1)), deviation)
	VMOVSS(deviation.AsX(), Mem{Base: inverse})
	ADDQ(Imm(4), inverse)

	eachVector(width, func(l lane) {
		v := l.load(x)
		VSUBPS(mean, v, v)
		VMULPS(deviation, v, v)
		l.store(v, unit)
		factor := l.load(scale)
		VFMADD213PS(l.load(shift), v, factor)
		VMAXPS(factor, floor, factor)
		l.store(factor, y)
	})
	for _, p := range []reg.GPVirtual{x, unit, y} {
		LEAQ(Mem{Base: p, Index: width, Scale: 4}, p)
	}
	DECQ(rows)
	JNZ(LabelRef("row"))
	finish()
}

func normBackward() {
	kernel("normBackwardRows", "func(dx, dscale, dshift, dy, unit, inverse, scale []float32)",
		"normBackwardRows is the gradient of normForwardRows; it adds to dscale and dshift.")
	load := func(name string) reg.GPVirtual { return Load(Param(name).Base(), GP64()).(reg.GPVirtual) }
	dx, dscale, dshift, dy := load("dx"), load("dscale"), load("dshift"), load("dy")
	unit, inverse, scale := load("unit"), load("inverse"), load("scale")
	rows, width := rowsAndWidth()
	inverseWidth := inverseOf(width)

	Label("row")
	sums, products := zeroed(), zeroed()
	eachVector(width, func(l lane) {
		gradient, value := l.load(dy), l.load(unit)
		scaled := YMM()
		VMULPS(l.load(scale), gradient, scaled)
		VADDPS(scaled, sums, sums)
		VFMADD231PS(scaled, value, products)
		total := l.load(dscale)
		VFMADD231PS(gradient, value, total)
		l.store(total, dscale)
		VADDPS(l.load(dshift), gradient, gradient)
		l.store(gradient, dshift)
	})
	mean, projection := meansOf(sums, products, inverseWidth)
	factor := YMM()
	VBROADCASTSS(Mem{Base: inverse}, factor)
	ADDQ(Imm(4), inverse)

	eachVector(width, func(l lane) {
		scaled := l.load(dy)
		VMULPS(l.load(scale), scaled, scaled)
		VSUBPS(mean, scaled, scaled)
		VFNMADD231PS(l.load(unit), projection, scaled)
		VMULPS(factor, scaled, scaled)
		l.store(scaled, dx)
	})
	for _, p := range []reg.GPVirtual{dx, dy, unit} {
		LEAQ(Mem{Base: p, Index: width, Scale: 4}, p)
	}
	DECQ(rows)
	JNZ(LabelRef("row"))
	finish()
}
