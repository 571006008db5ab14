package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// activationGradients emits dx = dy*f'(x) for activations whose derivative
// follows from their value y.
func activationGradients() {
	gradient := func(name, doc string, f func(dy, y reg.VecVirtual) reg.VecVirtual) {
		kernel(name, "func(dx, dy, y []float32)", doc)
		dx, dy, y := Load(Param("dx").Base(), GP64()), Load(Param("dy").Base(), GP64()), Load(Param("y").Base(), GP64())
		n := Load(Param("y").Len(), GP64()).(reg.GPVirtual)
		eachVector(n, func(l lane) { l.store(f(l.load(dy), l.load(y)), dx) })
		finish()
	}
	gradient("reluGradient", "reluGradient sets dx to dy where y > 0 and to 0 elsewhere.",
		func(dy, y reg.VecVirtual) reg.VecVirtual {
			positive := YMM()
			VCMPPS(Imm(1), y, zeroed(), positive) // 0 < y
			VANDPS(positive, dy, dy)
			return dy
		})
	gradient("tanhGradient", "tanhGradient sets dx to dy*(1-y*y).",
		func(dy, y reg.VecVirtual) reg.VecVirtual {
			VFNMADD213PS(constant(1), y, y)
			VMULPS(y, dy, dy)
			return dy
		})
	gradient("sigmoidGradient", "sigmoidGradient sets dx to dy*y*(1-y).",
		func(dy, y reg.VecVirtual) reg.VecVirtual {
			slope := YMM()
			VMOVAPS(y, slope)
			VFNMADD213PS(y, y, slope) // y - y*y
			VMULPS(slope, dy, dy)
			return dy
		})
}

func vectorArithmetic() {
	mapKernel("reluVector", "reluVector sets dst to max(x, 0); NaN stays NaN.",
		func(x reg.VecVirtual) reg.VecVirtual {
			VMAXPS(x, zeroed(), x)
			return x
		})

	kernel("axpyVector", "func(y []float32, factor float32, x []float32)", "axpyVector adds factor*x to y.")
	y, x := Load(Param("y").Base(), GP64()), Load(Param("x").Base(), GP64())
	n := Load(Param("x").Len(), GP64()).(reg.GPVirtual)
	factor := broadcastArgument("factor")
	eachVector(n, func(l lane) {
		sum := l.load(y)
		VFMADD231PS(l.load(x), factor, sum)
		l.store(sum, y)
	})
	finish()

	kernel("lerpVector", "func(y, x []float32, share float32)", "lerpVector moves y by share of the way to x.")
	y, x = Load(Param("y").Base(), GP64()), Load(Param("x").Base(), GP64())
	n = Load(Param("x").Len(), GP64()).(reg.GPVirtual)
	share := broadcastArgument("share")
	eachVector(n, func(l lane) {
		from, way := l.load(y), l.load(x)
		VSUBPS(from, way, way)
		VFMADD231PS(way, share, from)
		l.store(from, y)
	})
	finish()

	kernel("scaleVector", "func(x []float32, factor float32)", "scaleVector multiplies x by factor.")
	x = Load(Param("x").Base(), GP64())
	n = Load(Param("x").Len(), GP64()).(reg.GPVirtual)
	factor = broadcastArgument("factor")
	eachVector(n, func(l lane) {
		v := l.load(x)
		VMULPS(factor, v, v)
		l.store(v, x)
	})
	finish()

	kernel("dotVector", "func(x, y []float32) float32", "dotVector is the sum of x*y.")
	x, y = Load(Param("x").Base(), GP64()), Load(Param("y").Base(), GP64())
	n = Load(Param("x").Len(), GP64()).(reg.GPVirtual)
	sum := zeroed()
	eachVector(n, func(l lane) { VFMADD231PS(l.load(x), l.load(y), sum) })
	Store(sumOfLanes(sum), ReturnIndex(0))
	finish()
}

// Below these sizes Adam takes a gradient, and the means of gradients and of their squares, as
// zero; the portable version has the same constants, with the reason.
const (
	fadedGradient = 1e-18
	fadedMean     = 1e-30
	fadedSquares  = 1e-35
)

// dropFaded zeroes the lanes of v whose size is below least; NaN stays NaN.
func dropFaded(v reg.VecVirtual, least float32) {
	const notLess = 0x15 // or unordered, quietly
	size := YMM()
	VANDPS(constantBits(0x7fffffff), v, size)
	VCMPPS(Imm(notLess), constant(least), size, size)
	VANDPS(size, v, v)
}

// adamStep emits one pass over parameters, gradients and both moments.
func adamStep() {
	kernel("adamVector", "func(p, g, m, v []float32, keep1, keep2, rate, rootBias2, epsilon, decay float32)",
		"adamVector is one step of Adam; see the portable version for the formulas.")
	p, g := Load(Param("p").Base(), GP64()), Load(Param("g").Base(), GP64())
	m, v := Load(Param("m").Base(), GP64()), Load(Param("v").Base(), GP64())
	n := Load(Param("p").Len(), GP64()).(reg.GPVirtual)
	keep1, keep2 := broadcastArgument("keep1"), broadcastArgument("keep2")
	rate, rootBias2 := broadcastArgument("rate"), broadcastArgument("rootBias2")
	epsilon, decay := broadcastArgument("epsilon"), broadcastArgument("decay")
	take1, take2 := copied(constant(1)), copied(constant(1))
	VSUBPS(keep1, take1, take1)
	VSUBPS(keep2, take2, take2)
	eachVector(n, func(l lane) {
		gradient, first, second := l.load(g), l.load(m), l.load(v)
		dropFaded(gradient, fadedGradient)
		VMULPS(keep1, first, first)
		VFMADD231PS(gradient, take1, first)
		dropFaded(first, fadedMean)
		l.store(first, m)
		square := YMM()
		VMULPS(gradient, gradient, square)
		VMULPS(keep2, second, second)
		VFMADD231PS(square, take2, second)
		dropFaded(second, fadedSquares)
		l.store(second, v)
		root := YMM()
		VSQRTPS(second, root)
		VFMADD213PS(epsilon, rootBias2, root)
		VMULPS(rate, first, first)
		VDIVPS(root, first, first)
		value := l.load(p)
		VFMSUB213PS(first, decay, value)
		l.store(value, p)
	})
	finish()
}

// fmaPeak emits nothing but independent FMAs: 12 chains over two ports of
// latency 4 or 5 keep every current core busy.
func fmaPeak() {
	kernel("fmaLoop", "func(rounds int)", "fmaLoop runs 48 vector FMAs per round.")
	rounds := Load(Param("rounds"), GP64()).(reg.GPVirtual)
	half, one := copied(constant(0.5)), copied(constant(1))
	var chains [12]reg.VecVirtual
	for i := range chains {
		chains[i] = copied(constant(1))
	}
	Label("round")
	for range 4 {
		for _, chain := range chains {
			VFMADD213PS(one, half, chain)
		}
	}
	DECQ(rounds)
	JNZ(LabelRef("round"))
	finish()
}
