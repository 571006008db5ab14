package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// gruCells emits what a GRU does between its matrix products: the gates, the
// new state, and the gradients of both, each in one pass.
func gruCells() {
	gruForward()
	gruBackward()
}

func bases(names ...string) []reg.GPVirtual {
	var out []reg.GPVirtual
	for _, name := range names {
		out = append(out, Load(Param(name).Base(), GP64()).(reg.GPVirtual))
	}
	return out
}

func gruForward() {
	kernel("gruForwardCells", "func(h, reset, update, fresh, recurrent, previous []float32)",
		"gruForwardCells turns the gates' sums into gates and gives the new state; see the portable version.")
	p := bases("h", "reset", "update", "fresh", "recurrent", "previous")
	n := Load(Param("h").Len(), GP64()).(reg.GPVirtual)
	eachVector(n, func(l lane) {
		r := sigmoid(l.load(p[1]))
		l.store(r, p[1])
		sum := l.load(p[3])
		VFMADD231PS(l.load(p[4]), r, sum)
		fresh := tanh(sum)
		l.store(fresh, p[3])
		z := sigmoid(l.load(p[2]))
		l.store(z, p[2])
		state := l.load(p[5])
		VSUBPS(fresh, state, state)
		VFMADD213PS(fresh, z, state) // fresh + z*(previous - fresh)
		l.store(state, p[0])
	})
	finish()
}

func gruBackward() {
	kernel("gruBackwardCells", "func(dreset, dupdate, dfresh, drecurrent, dh, reset, update, fresh, recurrent, previous []float32)",
		"gruBackwardCells is the gradient of gruForwardCells; dh becomes the direct part of the previous state's gradient.")
	p := bases("dreset", "dupdate", "dfresh", "drecurrent", "dh", "reset", "update", "fresh", "recurrent", "previous")
	n := Load(Param("dh").Len(), GP64()).(reg.GPVirtual)
	one := copied(constant(1))
	eachVector(n, func(l lane) {
		dh, z, fresh := l.load(p[4]), l.load(p[6]), l.load(p[7])
		direct, dz, slope := YMM(), YMM(), YMM()
		VMULPS(z, dh, direct)
		l.store(direct, p[4])
		VSUBPS(fresh, l.load(p[9]), dz)
		VMULPS(dh, dz, dz)
		VSUBPS(direct, dh, dh) // dh*(1-z)
		VSUBPS(z, one, slope)
		VMULPS(z, slope, slope)
		VMULPS(slope, dz, dz)
		l.store(dz, p[1])

		VFNMADD213PS(one, fresh, fresh)
		VMULPS(fresh, dh, dh) // through tanh
		l.store(dh, p[2])

		r, drecurrent, dr := l.load(p[5]), YMM(), YMM()
		VMULPS(r, dh, drecurrent)
		l.store(drecurrent, p[3])
		VMULPS(l.load(p[8]), dh, dr)
		VSUBPS(r, one, slope)
		VMULPS(r, slope, slope)
		VMULPS(slope, dr, dr)
		l.store(dr, p[0])
	})
	finish()
}
