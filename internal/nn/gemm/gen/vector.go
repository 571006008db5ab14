package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lanes is the number of float32 values in one YMM register.
const lanes = 8

// masks is eight words of ones followed by eight of zeros: reading eight words
// from position 8-w gives a mask of the first w lanes.
var masks Mem

func laneMaskTable() {
	masks = GLOBL("laneMasks", RODATA|NOPTR)
	for i := range 2 * lanes {
		word := uint32(0)
		if i < lanes {
			word = 0xffffffff
		}
		DATA(4*i, U32(word))
	}
}

// laneMask loads the mask of the first width lanes, 1 <= width <= 8.
func laneMask(width reg.GPVirtual, mask reg.VecVirtual) {
	base, skip := GP64(), GP64()
	LEAQ(masks, base)
	MOVQ(I32(lanes), skip)
	SUBQ(width, skip)
	VMOVDQU(Mem{Base: base, Index: skip, Scale: 4}, mask)
}

var constants = map[uint32]Mem{}

// constant is a vector that holds the value in every lane, in read-only memory.
func constant(value float32) Mem { return constantBits(math.Float32bits(value)) }

func constantBits(bits uint32) Mem {
	if m, ok := constants[bits]; ok {
		return m
	}
	m := GLOBL(fmt.Sprintf("const%08x", bits), RODATA|NOPTR)
	for i := range lanes {
		DATA(4*i, U32(bits))
	}
	constants[bits] = m
	return m
}

func zeroed() reg.VecVirtual {
	v := YMM()
	VXORPS(v, v, v)
	return v
}

func copied(from Op) reg.VecVirtual {
	v := YMM()
	VMOVUPS(from, v)
	return v
}

// broadcastArgument fills a register with a float32 argument of the function.
func broadcastArgument(name string) reg.VecVirtual {
	v := YMM()
	argument, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(argument.Addr, v)
	return v
}

// lane is the current position in a loop over slices: whole vectors first,
// then at most one partial vector under a mask.
type lane struct {
	offset reg.GPVirtual
	mask   reg.VecVirtual
	masked bool
}

func (l lane) at(base reg.Register) Mem { return Mem{Base: base, Index: l.offset, Scale: 1} }

func (l lane) load(base reg.Register) reg.VecVirtual {
	v := YMM()
	if l.masked {
		VMASKMOVPS(l.at(base), l.mask, v)
	} else {
		VMOVUPS(l.at(base), v)
	}
	return v
}

func (l lane) store(v reg.VecVirtual, base reg.Register) {
	if l.masked {
		VMASKMOVPS(v, l.mask, l.at(base))
	} else {
		VMOVUPS(v, l.at(base))
	}
}

var loops int

func label(prefix string) string {
	loops++
	return fmt.Sprintf("%s%d", prefix, loops)
}

// eachVector emits body for every eight elements of count, and once more under
// a mask for the rest. It leaves count unchanged.
func eachVector(count reg.GPVirtual, body func(l lane)) {
	whole, tail, done := label("whole"), label("tail"), label("done")
	offset, left := GP64(), GP64()
	XORQ(offset, offset)
	MOVQ(count, left)

	Label(whole)
	CMPQ(left, I32(lanes))
	JL(LabelRef(tail))
	body(lane{offset: offset})
	ADDQ(I32(4*lanes), offset)
	SUBQ(I32(lanes), left)
	JMP(LabelRef(whole))

	Label(tail)
	TESTQ(left, left)
	JZ(LabelRef(done))
	mask := YMM()
	laneMask(left, mask)
	body(lane{offset: offset, mask: mask, masked: true})
	Label(done)
}

// sumOfLanes adds the eight lanes of v into the lowest lane of the result, in
// a fixed order.
func sumOfLanes(v reg.VecVirtual) reg.VecVirtual {
	high, low := XMM(), XMM()
	VEXTRACTF128(Imm(1), v, high)
	VADDPS(high, v.AsX(), low)
	VHADDPS(low, low, low)
	VHADDPS(low, low, low)
	return low
}

// kernel starts a function that neither grows the stack nor keeps pointers.
func kernel(name, signature, doc string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc)
}

func finish() {
	VZEROUPPER()
	RET()
}
