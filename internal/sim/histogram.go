package sim

import (
	"math"
	"math/bits"
)

// Histogram counts latencies in buckets of constant relative width: each power
// of two of nanoseconds is cut into 2^bitsPerOctave equal parts, so a bucket is
// found by shifting and a quantile is off by at most half a bucket (0.4 % of the
// value at 7 bits, 6 % at 3 bits, less after interpolation).
type Histogram struct {
	bits   uint
	counts []float64 // float64: the fluid engine counts fractions of requests
	total  float64
	sum    float64 // nanoseconds
	max    float64
}

// Latencies above 2^topOctave ns (about 78 h) share the last bucket.
const topOctave = 48

// NewHistogram makes a histogram with 2^bitsPerOctave buckets per doubling.
func NewHistogram(bitsPerOctave uint) *Histogram {
	return &Histogram{bits: bitsPerOctave, counts: make([]float64, (topOctave-bitsPerOctave+1)<<bitsPerOctave)}
}

// BucketOf returns the bucket of a latency in nanoseconds.
func (h *Histogram) BucketOf(ns int64) int {
	if ns < 0 {
		ns = 0
	}
	v := uint64(ns)
	if v < 1<<h.bits {
		return int(v)
	}
	octave := uint(bits.Len64(v)) - 1 - h.bits // >= 0
	i := int(octave+1)<<h.bits + int(v>>octave) - 1<<h.bits
	if i >= len(h.counts) {
		return len(h.counts) - 1
	}
	return i
}

// Lower returns the lower edge of a bucket in nanoseconds.
func (h *Histogram) Lower(bucket int) float64 {
	n := 1 << h.bits
	if bucket < n {
		return float64(bucket)
	}
	octave := uint(bucket>>h.bits) - 1
	return float64(uint64(n+bucket&(n-1)) << octave)
}

// Add counts one latency.
func (h *Histogram) Add(ns int64) { h.AddN(ns, 1) }

// AddN counts n requests of one latency.
func (h *Histogram) AddN(ns int64, n float64) {
	h.counts[h.BucketOf(ns)] += n
	h.total += n
	h.sum += n * float64(ns)
	if f := float64(ns); f > h.max {
		h.max = f
	}
}

// Merge adds another histogram of the same width.
func (h *Histogram) Merge(o *Histogram) {
	for i, c := range o.counts {
		h.counts[i] += c
	}
	h.total += o.total
	h.sum += o.sum
	h.max = math.Max(h.max, o.max)
}

// Sub subtracts an earlier state of the same histogram: the rest is what was counted since. The
// maximum is then unknown and is dropped.
func (h *Histogram) Sub(o *Histogram) {
	for i, c := range o.counts {
		h.counts[i] -= c
	}
	h.total -= o.total
	h.sum -= o.sum
	h.max = math.Inf(1)
}

// AddSince adds a share of what one histogram counted between an earlier and a later state. As
// with Sub, the maximum is then unknown.
func (h *Histogram) AddSince(earlier, later *Histogram, share float64) {
	for i, c := range later.counts {
		if d := c - earlier.counts[i]; d != 0 {
			h.counts[i] += share * d
		}
	}
	h.total += share * (later.total - earlier.total)
	h.sum += share * (later.sum - earlier.sum)
	h.max = math.Inf(1)
}

// CopyFrom makes h equal to o.
func (h *Histogram) CopyFrom(o *Histogram) {
	copy(h.counts, o.counts)
	h.total, h.sum, h.max = o.total, o.sum, o.max
}

// Reset sets all counts to zero.
func (h *Histogram) Reset() {
	clear(h.counts)
	h.total, h.sum, h.max = 0, 0, 0
}

// Count is the number counted.
func (h *Histogram) Count() float64 { return h.total }

// Sum of all latencies in nanoseconds.
func (h *Histogram) Sum() float64 { return h.sum }

// Buckets is the number of buckets.
func (h *Histogram) Buckets() int { return len(h.counts) }

// Mean in nanoseconds; NaN when empty.
func (h *Histogram) Mean() float64 { return h.sum / h.total }

// Quantile returns the latency in nanoseconds below which the share q lies;
// NaN when empty.
func (h *Histogram) Quantile(q float64) float64 {
	if h.total <= 0 {
		return math.NaN()
	}
	rank := q * h.total
	seen := 0.0
	last := 0
	for i, c := range h.counts {
		if c <= 0 {
			continue
		}
		last = i
		if seen+c >= rank {
			lo, hi := h.Lower(i), h.Lower(i+1)
			return math.Min(lo+(hi-lo)*(rank-seen)/c, h.max)
		}
		seen += c
	}
	return math.Min(h.Lower(last+1), h.max) // rounding left the rank above the sum
}

// ShareAbove returns the share of latencies above a value in nanoseconds,
// interpolating within its bucket; NaN when empty.
func (h *Histogram) ShareAbove(ns float64) float64 {
	if h.total <= 0 {
		return math.NaN()
	}
	b := h.BucketOf(int64(ns))
	above := 0.0
	for _, c := range h.counts[b+1:] {
		above += c
	}
	lo, hi := h.Lower(b), h.Lower(b+1)
	above += h.counts[b] * (hi - math.Min(ns, hi)) / (hi - lo)
	return above / h.total
}
