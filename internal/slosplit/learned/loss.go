package learned

import "math"

// The loss is the Kullback-Leibler divergence of the predicted parts from the labelled ones: 0
// if they agree. Its gradient before the softmax is their difference, which does not vanish
// where the softmax is confident and wrong.

// softmax computes parts from the logits of one sample.
func softmax(parts, logits []float32) {
	largest := float32(math.Inf(-1))
	for _, z := range logits {
		largest = max(largest, z)
	}
	sum := float32(0)
	for i, z := range logits {
		parts[i] = float32(math.Exp(float64(z - largest)))
		sum += parts[i]
	}
	for i := range parts {
		parts[i] /= sum
	}
}

// loss of the batch by its logits, sample by sample. It sets parts, and dLogits to the
// gradient.
func (b *batch) loss(parts, dLogits, logits []float32) float64 {
	sum, share := 0.0, 1/float32(b.samples)
	for s := range b.samples {
		p, y := parts[s*b.steps:][:b.steps], b.labels[s*b.steps:][:b.steps]
		softmax(p, logits[s*b.steps:][:b.steps])
		for i := range p {
			if y[i] > 0 {
				sum += float64(y[i]) * (math.Log(float64(y[i])) - math.Log(max(float64(p[i]), 1e-30)))
			}
			dLogits[s*b.steps+i] = (p[i] - y[i]) * share
		}
	}
	return sum / float64(b.samples)
}

// lossTangent sets tdLogits to the derivative of loss's gradient when the logits move by
// tLogits: the softmax's Jacobian times that.
func (b *batch) lossTangent(tdLogits, parts, tLogits []float32) {
	share := 1 / float32(b.samples)
	for s := range b.samples {
		p, t := parts[s*b.steps:][:b.steps], tLogits[s*b.steps:][:b.steps]
		mean := float32(0)
		for i := range p {
			mean += p[i] * t[i]
		}
		for i := range p {
			tdLogits[s*b.steps+i] = p[i] * (t[i] - mean) * share
		}
	}
}

// misplaced is the part of the slack that the predictions give to the wrong step, averaged over
// the samples.
func (b *batch) misplaced(parts []float32) float64 {
	sum := 0.0
	for i, p := range parts[:b.samples*b.steps] {
		sum += math.Abs(float64(p - b.labels[i]))
	}
	return sum / 2 / float64(b.samples)
}
