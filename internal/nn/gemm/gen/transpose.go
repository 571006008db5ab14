package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transposeBlocks emits the transposition of 8x8 blocks. Halves of rows are
// joined while loading, which takes the lane crossing off the shuffle port.
func transposeBlocks() {
	kernel("transpose8", "func(dst, src *float32, blocks, stepSrc, strideDst, strideSrc int)",
		"transpose8 transposes blocks of 8x8 that lie side by side in src (stepSrc elements apart) and below each other in dst.")
	dst, src := Load(Param("dst"), GP64()).(reg.GPVirtual), Load(Param("src"), GP64()).(reg.GPVirtual)
	blocks := Load(Param("blocks"), GP64()).(reg.GPVirtual)
	stepSrc := Load(Param("stepSrc"), GP64()).(reg.GPVirtual)
	strideDst, strideSrc := Load(Param("strideDst"), GP64()).(reg.GPVirtual), Load(Param("strideSrc"), GP64()).(reg.GPVirtual)
	for _, r := range []reg.GPVirtual{stepSrc, strideDst, strideSrc} {
		SHLQ(Imm(2), r)
	}

	Label("block")
	low, high := fourRows(src, strideSrc)
	// joined[i] holds row i's columns 0-3 beside row i+4's columns 0-3;
	// joined[i+4] the same for columns 4-7.
	var joined [8]reg.VecVirtual
	for i := range 4 {
		for half := range 2 {
			v := YMM()
			VMOVUPS(low[i].Offset(16*half), v.AsX())
			VINSERTF128(Imm(1), high[i].Offset(16*half), v, v)
			joined[i+4*half] = v
		}
	}
	for half := range 2 {
		four := joined[4*half : 4*half+4]
		columns := transpose4(four[0], four[1], four[2], four[3])
		for _, column := range columns {
			VMOVUPS(column, Mem{Base: dst})
			ADDQ(strideDst, dst)
		}
	}
	ADDQ(stepSrc, src)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	finish()
}

func fourRows(base, stride reg.GPVirtual) (low, high []Mem) {
	all, _ := rowsOf(base, stride, 6)
	sixth := GP64()
	MOVQ(base, sixth)
	for range 6 {
		ADDQ(stride, sixth)
	}
	all = append(all, Mem{Base: sixth}, Mem{Base: sixth, Index: stride, Scale: 1})
	return all[:4], all[4:]
}

// transpose4 transposes the two 4x4 blocks in the halves of four registers.
func transpose4(a, b, c, d reg.VecVirtual) [4]reg.VecVirtual {
	abLow, abHigh, cdLow, cdHigh := YMM(), YMM(), YMM(), YMM()
	VUNPCKLPS(b, a, abLow)
	VUNPCKHPS(b, a, abHigh)
	VUNPCKLPS(d, c, cdLow)
	VUNPCKHPS(d, c, cdHigh)
	out := [4]reg.VecVirtual{YMM(), YMM(), YMM(), YMM()}
	VSHUFPS(Imm(0x44), cdLow, abLow, out[0])
	VSHUFPS(Imm(0xee), cdLow, abLow, out[1])
	VSHUFPS(Imm(0x44), cdHigh, abHigh, out[2])
	VSHUFPS(Imm(0xee), cdHigh, abHigh, out[3])
	return out
}
