package gemm

import "math"

// normForwardPortable is layer normalisation (Ba, Kiros and Hinton, 2016).
func normForwardPortable(y, unit, inverse, x, scale, shift []float32, epsilon, floor float32) {
	rows, width := len(inverse), len(scale)
	for r := range rows {
		row := x[r*width:][:width]
		var sum, squares float32
		for _, v := range row {
			sum += v
		}
		mean := sum / float32(width)
		for _, v := range row {
			squares += (v - mean) * (v - mean)
		}
		inverse[r] = 1 / float32(math.Sqrt(float64(squares/float32(width)+epsilon)))
		for j, v := range row {
			u := (v - mean) * inverse[r]
			unit[r*width+j] = u
			y[r*width+j] = max(scale[j]*u+shift[j], floor)
		}
	}
}

// normBackwardPortable projects the gradient off the two directions that the
// normalisation removes: the constant one and that of the row itself.
func normBackwardPortable(dx, dscale, dshift, dy, unit, inverse, scale []float32) {
	rows, width := len(inverse), len(scale)
	for r := range rows {
		gradient, u := dy[r*width:][:width], unit[r*width:][:width]
		var sum, product float32
		for j, g := range gradient {
			sum += g * scale[j]
			product += g * scale[j] * u[j]
			dscale[j] += g * u[j]
			dshift[j] += g
		}
		mean, projection := sum/float32(width), product/float32(width)
		for j, g := range gradient {
			dx[r*width+j] = inverse[r] * (g*scale[j] - mean - u[j]*projection)
		}
	}
}

// gruForwardPortable is the cell of Cho et al. (2014) in PyTorch's form, where
// the reset gate scales the recurrent product rather than the state.
func gruForwardPortable(h, reset, update, fresh, recurrent, previous []float32) {
	sigmoidPortable(reset, reset)
	sigmoidPortable(update, update)
	for i, r := range reset {
		fresh[i] += r * recurrent[i]
	}
	tanhPortable(fresh, fresh)
	for i, z := range update {
		h[i] = fresh[i] + z*(previous[i]-fresh[i])
	}
}

func gruBackwardPortable(dreset, dupdate, dfresh, drecurrent, dh, reset, update, fresh, recurrent, previous []float32) {
	for i, d := range dh {
		r, z, f := reset[i], update[i], fresh[i]
		dh[i] = d * z
		dupdate[i] = d * (previous[i] - f) * z * (1 - z)
		dfresh[i] = d * (1 - z) * (1 - f*f)
		drecurrent[i] = dfresh[i] * r
		dreset[i] = dfresh[i] * recurrent[i] * r * (1 - r)
	}
}
