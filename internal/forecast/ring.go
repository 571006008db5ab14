package forecast

import (
	"math"
	"slices"
)

// ring is the latest values, up to its length, and their mean.
type ring struct {
	length int
	values []float64
	oldest int
	sum    float64
}

func newRing(length int) ring { return ring{length: length} }

func (r *ring) len() int { return len(r.values) }

// add adds a value and returns the one it replaces, if any.
func (r *ring) add(v float64) (dropped float64, full bool) {
	if len(r.values) < r.length {
		r.values = append(r.values, v)
		r.sum += v
		return 0, false
	}
	dropped = r.values[r.oldest]
	r.values[r.oldest] = v
	r.oldest = (r.oldest + 1) % r.length
	if r.sum += v - dropped; r.oldest == 0 {
		// Rounding errors must not accumulate.
		r.sum = 0
		for _, v := range r.values {
			r.sum += v
		}
	}
	return dropped, true
}

func (r *ring) mean() float64 {
	if len(r.values) == 0 {
		return math.NaN()
	}
	return r.sum / float64(len(r.values))
}

// sortedRing also keeps them sorted.
type sortedRing struct {
	ring
	sorted []float64
}

func (r *sortedRing) add(v float64) {
	if dropped, full := r.ring.add(v); full {
		at, _ := slices.BinarySearch(r.sorted, dropped)
		r.sorted = slices.Delete(r.sorted, at, at+1)
	}
	at, _ := slices.BinarySearch(r.sorted, v)
	r.sorted = slices.Insert(r.sorted, at, v)
}

// quantile is the conformal one: of n residuals the one of rank ceil((n+1)*level) above the
// middle, so that new data are covered with at least that probability, and its mirror below.
func (r *sortedRing) quantile(level float64) float64 {
	n := len(r.sorted)
	rank := math.Ceil(float64(n+1) * level)
	if level < 0.5 {
		rank = math.Floor(float64(n+1) * level)
	}
	return r.sorted[min(n-1, max(0, int(rank)-1))]
}
