package nn

// Loss is a loss of one error, output minus target: its value, slope and
// curvature.
type Loss func(err float32) (value, slope, curvature float32)

// MSE is the squared error.
func MSE(err float32) (value, slope, curvature float32) { return err * err, 2 * err, 2 }

// Huber is half the squared error up to delta and linear beyond (Huber, 1964).
func Huber(delta float32) Loss {
	return func(err float32) (value, slope, curvature float32) {
		switch {
		case err > delta:
			return delta * (err - delta/2), delta, 0
		case err < -delta:
			return delta * (-err - delta/2), -delta, 0
		default:
			return err * err / 2, err, 1
		}
	}
}

// Mean is the mean loss over all outputs; it sets dOut to its gradient.
func (l Loss) Mean(dOut, out, target []float32) float32 {
	sum, share := 0.0, 1/float32(len(out))
	for i, o := range out {
		value, slope, _ := l(o - target[i])
		sum += float64(value)
		dOut[i] = slope * share
	}
	return float32(sum / float64(len(out)))
}

// MeanAt is the mean loss over rows of which only one column counts, as for the
// value of the action taken. Weights, one per row, may be nil for all ones. It
// sets dOut to the gradient, zero in the other columns.
func (l Loss) MeanAt(dOut, out []float32, columns []int, target, weights []float32) float32 {
	clear(dOut)
	rows := len(columns)
	width, sum, share := len(out)/rows, 0.0, 1/float32(rows)
	for r, column := range columns {
		i := r*width + column
		value, slope, _ := l(out[i] - target[r])
		weight := float32(1)
		if weights != nil {
			weight = weights[r]
		}
		sum += float64(weight * value)
		dOut[i] = weight * slope * share
	}
	return float32(sum / float64(rows))
}

// MeanTangent sets tdOut to the derivative of Mean's gradient when the outputs
// move by tOut.
func (l Loss) MeanTangent(tdOut, out, target, tOut []float32) {
	share := 1 / float32(len(out))
	for i, o := range out {
		_, _, curvature := l(o - target[i])
		tdOut[i] = curvature * tOut[i] * share
	}
}
