package learned

// A GCN's weights are shared by all services, so what it learns of one applies to all. What has
// to be learned after a release concerns one service: it is slower than its profile shows, and
// the others are not. So a network may have a context: some numbers for each service of one
// chain, zero in every model and changed only by adapting, as in CAVIA (Zintgraf and others,
// 2019, "Fast context adaptation via meta-learning"), which has one for a whole task. Beside
// each service's logit the network then outputs traits of it, weighted by the service's
// context:
//
//	logit + sum over k of context[k]*trait[k], trait[0] always 1
//
// The loss is convex in the context. The outer loop learns traits with which few steps suffice.

// combine computes the logits from the network's output and the context, step by step; nil is a
// context of zeros.
func (b *batch) combine(logits, out, context []float32) {
	for s := range b.samples {
		for i := range b.steps {
			at := b.at(s, i)
			z := out[at]
			if context != nil {
				z += weigh(context[i*b.traits:][:b.traits], out[at:])
			}
			logits[s*b.steps+i] = z
		}
	}
}

// weigh is the weighted sum of the traits behind a logit.
func weigh(context, out []float32) float32 {
	sum := float32(0)
	for k, c := range context {
		if k == 0 {
			sum += c
		} else {
			sum += c * out[k]
		}
	}
	return sum
}

// combineBack propagates the gradient of the logits to the output and the context.
func (b *batch) combineBack(dOut, dContext, dLogits, out, context []float32) {
	clear(dOut)
	clear(dContext)
	for s := range b.samples {
		for i := range b.steps {
			d, at := dLogits[s*b.steps+i], b.at(s, i)
			dOut[at] = d
			if b.traits == 0 {
				continue
			}
			c, dc := context[i*b.traits:][:b.traits], dContext[i*b.traits:][:b.traits]
			dc[0] += d
			for k := 1; k < b.traits; k++ {
				dOut[at+k] = d * c[k]
				dc[k] += d * out[at+k]
			}
		}
	}
}

// combineTangent sets the derivative of combine when the output moves by tOut and the
// context by tContext.
func (b *batch) combineTangent(tLogits, tOut, tContext, out, context []float32) {
	for s := range b.samples {
		for i := range b.steps {
			at := b.at(s, i)
			t := tOut[at]
			if b.traits > 0 {
				c, tc := context[i*b.traits:][:b.traits], tContext[i*b.traits:][:b.traits]
				t += weigh(tc, out[at:])
				for k := 1; k < b.traits; k++ {
					t += c[k] * tOut[at+k]
				}
			}
			tLogits[s*b.steps+i] = t
		}
	}
}

// moved is a value and its derivative along a direction, for all of a batch.
type moved struct{ value, tangent []float32 }

// combineBackTangent sets the derivative of combineBack.
func (b *batch) combineBackTangent(tdOut, tdContext []float32, dLogits, out, context moved) {
	clear(tdOut)
	clear(tdContext)
	for s := range b.samples {
		for i := range b.steps {
			at := b.at(s, i)
			d, td := dLogits.value[s*b.steps+i], dLogits.tangent[s*b.steps+i]
			tdOut[at] = td
			if b.traits == 0 {
				continue
			}
			c, tc := context.value[i*b.traits:][:b.traits], context.tangent[i*b.traits:][:b.traits]
			h := tdContext[i*b.traits:][:b.traits]
			h[0] += td
			for k := 1; k < b.traits; k++ {
				tdOut[at+k] = td*c[k] + d*tc[k]
				h[k] += td*out.value[at+k] + d*out.tangent[at+k]
			}
		}
	}
}
