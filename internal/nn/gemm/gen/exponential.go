package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func exponentials() {
	mapKernel("expVector", "expVector sets dst to e^x.", exp)
	mapKernel("sigmoidVector", "sigmoidVector sets dst to 1/(1+e^-x).", sigmoid)
	mapKernel("tanhVector", "tanhVector sets dst to tanh(x).", tanh)
}

// mapKernel emits dst[i] = f(x[i]).
func mapKernel(name, doc string, f func(x reg.VecVirtual) reg.VecVirtual) {
	kernel(name, "func(dst, x []float32)", doc)
	dst := Load(Param("dst").Base(), GP64())
	x := Load(Param("x").Base(), GP64())
	n := Load(Param("x").Len(), GP64()).(reg.GPVirtual)
	eachVector(n, func(l lane) { l.store(f(l.load(x)), dst) })
	finish()
}

// clamp bounds x and lets NaN through: the operand order decides which of two
// operands an unordered comparison returns.
func clamp(x reg.VecVirtual, low, high float32) {
	VMINPS(x, copied(constant(high)), x)
	VMAXPS(x, copied(constant(low)), x)
}

// reduce writes x = n*ln2 + r with |r| <= ln2/2 and returns e^r and n as
// integers. ln2 is subtracted in two parts, the first exact in few bits, and
// the polynomial is the one of Cephes' expf.
func reduce(x reg.VecVirtual) (power, n reg.VecVirtual) {
	n, r := YMM(), YMM()
	VMULPS(constant(1.44269504088896341), x, n)
	VROUNDPS(Imm(0), n, n)
	VMOVAPS(x, r)
	VFNMADD231PS(constant(0.693359375), n, r)
	VFNMADD231PS(constant(-2.12194440e-4), n, r)
	VCVTPS2DQ(n, n)

	// In pairs (Estrin's scheme): the pairs are independent of each other, which matters where
	// a single inference depends on this result.
	square, fourth := YMM(), YMM()
	VMULPS(r, r, square)
	p01 := copied(constant(5.0000001201e-1))
	VFMADD231PS(constant(1.6666665459e-1), r, p01)
	p23 := copied(constant(4.1665795894e-2))
	VFMADD231PS(constant(8.3334519073e-3), r, p23)
	p45 := copied(constant(1.3981999507e-3))
	VFMADD231PS(constant(1.9875691500e-4), r, p45)
	VMULPS(square, square, fourth)
	VFMADD231PS(p23, square, p01)
	VFMADD231PS(p45, fourth, p01)
	VADDPS(constant(1), r, r)
	VFMADD213PS(r, square, p01)
	return p01, n
}

// timesPowerOfTwo multiplies v by 2^n, -126 <= n <= 127, through the exponent bits.
func timesPowerOfTwo(v, n reg.VecVirtual) {
	scale := YMM()
	VPADDD(constantBits(127), n, scale)
	VPSLLD(Imm(23), scale, scale)
	VMULPS(scale, v, v)
}

// exp scales in two halves, so that results reach infinity above and pass
// through the denormals to zero below.
func exp(x reg.VecVirtual) reg.VecVirtual {
	clamp(x, -104, 89)
	power, n := reduce(x)
	half := YMM()
	VPSRAD(Imm(1), n, half)
	VPSUBD(half, n, n)
	timesPowerOfTwo(power, half)
	timesPowerOfTwo(power, n)
	return power
}

// sigmoid needs no denormals: beyond the clamp it is 0 or 1 to float32.
func sigmoid(x reg.VecVirtual) reg.VecVirtual {
	VXORPS(constantBits(0x80000000), x, x)
	clamp(x, -87, 88)
	power, n := reduce(x)
	timesPowerOfTwo(power, n)
	one := copied(constant(1))
	VADDPS(one, power, power)
	VDIVPS(power, one, power)
	return power
}

// tanh is an odd polynomial near zero, where 1-2/(e^2x+1) would cancel, and
// that formula elsewhere (both as in Cephes' tanhf).
func tanh(x reg.VecVirtual) reg.VecVirtual {
	square, small := YMM(), copied(constant(-5.70498872745e-3))
	VMULPS(x, x, square)
	for _, c := range []float32{2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1} {
		VFMADD213PS(constant(c), square, small)
	}
	VMULPS(square, small, small)
	VFMADD213PS(x, x, small)

	magnitude, sign, twice := YMM(), YMM(), YMM()
	VANDPS(constantBits(0x7fffffff), x, magnitude)
	VANDPS(constantBits(0x80000000), x, sign)
	VADDPS(magnitude, magnitude, twice)
	VMINPS(twice, copied(constant(30)), twice) // beyond, tanh is 1
	power, n := reduce(twice)
	timesPowerOfTwo(power, n)
	one, large := copied(constant(1)), YMM()
	VADDPS(one, power, power)
	VDIVPS(power, copied(constant(2)), large)
	VSUBPS(large, one, large)
	VORPS(sign, large, large)

	near := YMM()
	VCMPPS(Imm(1), constant(0.625), magnitude, near) // magnitude < 0.625
	VBLENDVPS(near, small, large, large)
	return large
}
