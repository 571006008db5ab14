package nn

// Pinball is the mean quantile loss (Koenker and Bassett, 1978). Out holds, for
// each target, one forecast per quantile, side by side. It sets dOut to the
// gradient.
func Pinball(dOut, out, target, quantiles []float32) float32 {
	sum, share := 0.0, 1/float32(len(out))
	for i, goal := range target {
		for j, q := range quantiles {
			at := i*len(quantiles) + j
			if err := goal - out[at]; err > 0 {
				sum += float64(q * err)
				dOut[at] = -q * share
			} else {
				sum += float64((q - 1) * err)
				dOut[at] = (1 - q) * share
			}
		}
	}
	return float32(sum / float64(len(out)))
}
