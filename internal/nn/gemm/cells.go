package gemm

// NormForward normalises each row of x to mean 0 and variance 1, scales and shifts it, raises
// values below the floor to the floor (0 is a fused ReLU, -Inf nothing), and writes it to y. It
// keeps the unit-variance rows and one over each row's deviation for the gradient: inverse has
// a value per row, scale and shift one per column.
func NormForward(y, unit, inverse, x, scale, shift []float32, epsilon, floor float32) {
	n := len(inverse) * len(scale)
	if len(y) != n || len(unit) != n || len(x) != n || len(shift) != len(scale) {
		panic("gemm: NormForward needs rows of one width")
	}
	if n > 0 {
		active.normForward(y, unit, inverse, x, scale, shift, epsilon, floor)
	}
}

// NormBackward sets dx to the gradient of the rows and adds to dscale and
// dshift. dy is the gradient after any floor was taken into account.
func NormBackward(dx, dscale, dshift, dy, unit, inverse, scale []float32) {
	n := len(inverse) * len(scale)
	if len(dx) != n || len(dy) != n || len(unit) != n || len(dscale) != len(scale) || len(dshift) != len(scale) {
		panic("gemm: NormBackward needs rows of one width")
	}
	if n > 0 {
		active.normBackward(dx, dscale, dshift, dy, unit, inverse, scale)
	}
}

// GRUForward turns the sums of the reset, update and fresh gates into their
// values in place, and sets h to the new state. Recurrent is the previous
// state's contribution to the fresh gate, which the reset gate scales.
func GRUForward(h, reset, update, fresh, recurrent, previous []float32) {
	same(len(h), len(reset), len(update), len(fresh), len(recurrent), len(previous))
	active.gruForward(h, reset, update, fresh, recurrent, previous)
}

// GRUBackward propagates dh, the gradient of the new state, to the gradients of the gates'
// sums, and leaves in dh the part that reaches the previous state without passing a gate.
func GRUBackward(dreset, dupdate, dfresh, drecurrent, dh, reset, update, fresh, recurrent, previous []float32) {
	same(len(dh), len(dreset), len(dupdate), len(dfresh), len(drecurrent))
	same(len(dh), len(reset), len(update), len(fresh), len(recurrent), len(previous))
	active.gruBackward(dreset, dupdate, dfresh, drecurrent, dh, reset, update, fresh, recurrent, previous)
}
