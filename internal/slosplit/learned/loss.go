package learned

import "math"

// The loss is how much dearer it is to tell the labelled parts by the predicted ones
// (Kullback and Leibler): 0 if they agree. Its gradient before the softmax is the
// difference of both, which does not vanish where the softmax is sure and wrong.

// softmax sets parts to those of a sample.
func (b *batch) softmax(parts, out []float32, sample int) {
	largest := float32(math.Inf(-1))
	for i := range parts {
		largest = max(largest, out[b.at(sample, i)])
	}
	sum := float32(0)
	for i := range parts {
		parts[i] = float32(math.Exp(float64(out[b.at(sample, i)] - largest)))
		sum += parts[i]
	}
	for i := range parts {
		parts[i] /= sum
	}
}

// loss of the batch by its network's output. It sets parts, sample by sample, and
// dOut to the gradient.
func (b *batch) loss(parts, dOut, out []float32) float64 {
	clear(dOut)
	sum, share := 0.0, 1/float32(b.samples)
	for s := range b.samples {
		p, y := parts[s*b.steps:][:b.steps], b.labels[s*b.steps:][:b.steps]
		b.softmax(p, out, s)
		for i := range p {
			if y[i] > 0 {
				sum += float64(y[i]) * (math.Log(float64(y[i])) - math.Log(max(float64(p[i]), 1e-30)))
			}
			dOut[b.at(s, i)] = (p[i] - y[i]) * share
		}
	}
	return sum / float64(b.samples)
}

// lossTangent sets tdOut to the derivative of loss's gradient when the output moves
// by tOut: the softmax's Jacobian times that.
func (b *batch) lossTangent(tdOut, parts, tOut []float32) {
	clear(tdOut)
	share := 1 / float32(b.samples)
	for s := range b.samples {
		p := parts[s*b.steps:][:b.steps]
		mean := float32(0)
		for i := range p {
			mean += p[i] * tOut[b.at(s, i)]
		}
		for i := range p {
			tdOut[b.at(s, i)] = p[i] * (tOut[b.at(s, i)] - mean) * share
		}
	}
}

// misplaced is the part of the slack that the predictions give to the wrong step, on
// the mean over the samples.
func (b *batch) misplaced(parts []float32) float64 {
	sum := 0.0
	for i, p := range parts[:b.samples*b.steps] {
		sum += math.Abs(float64(p - b.labels[i]))
	}
	return sum / 2 / float64(b.samples)
}
