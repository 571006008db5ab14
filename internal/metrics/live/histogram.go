package live

import (
	"cmp"
	"math"
	"slices"
)

// histogram is requests per second by how long they took: each bucket has those
// that took no longer than its bound, in seconds. The last bound is infinite. An
// empty one has nothing to tell.
type histogram []bucket

type bucket struct{ bound, count float64 }

// tidy sorts buckets and adds those of one bound. Rates of buckets whose scrapes
// came in between may fall from one bound to the next, which no histogram does:
// they are raised. Without an infinite bound it is not known how many there were.
func (h histogram) tidy() histogram {
	slices.SortFunc(h, func(a, b bucket) int { return cmp.Compare(a.bound, b.bound) })
	kept := h[:0]
	for _, b := range h {
		if n := len(kept); n > 0 && kept[n-1].bound == b.bound {
			kept[n-1].count += b.count
		} else {
			kept = append(kept, b)
		}
	}
	for i := 1; i < len(kept); i++ {
		kept[i].count = max(kept[i].count, kept[i-1].count)
	}
	if len(kept) == 0 || !math.IsInf(kept[len(kept)-1].bound, 1) {
		return nil
	}
	return kept
}

// plus adds another histogram. Where the bounds differ, only those that both have
// stay: between them the other's count is not known.
func (h histogram) plus(other histogram) histogram {
	switch {
	case h == nil:
		return slices.Clone(other)
	case other == nil:
		return h
	}
	var sum histogram
	for _, b := range h {
		if i, found := slices.BinarySearchFunc(other, b, func(x, y bucket) int { return cmp.Compare(x.bound, y.bound) }); found {
			sum = append(sum, bucket{b.bound, b.count + other[i].count})
		}
	}
	return sum
}

// total is how many requests there were, per second.
func (h histogram) total() float64 {
	if len(h) == 0 {
		return 0
	}
	return h[len(h)-1].count
}

// quantile is what PromQL's histogram_quantile has: even within a bucket, and the
// last bound for whatever lies above it. It is not known without requests or
// without a finite bound.
func (h histogram) quantile(q float64) (seconds float64, known bool) {
	if len(h) < 2 || h.total() == 0 {
		return 0, false
	}
	rank := q * h.total()
	i, _ := slices.BinarySearchFunc(h[:len(h)-1], rank, func(b bucket, rank float64) int { return cmp.Compare(b.count, rank) })
	if i == len(h)-1 {
		return h[i-1].bound, true
	}
	low, before := h.below(i)
	if h[i].count == before {
		return low, true
	}
	return low + (h[i].bound-low)*(rank-before)/(h[i].count-before), true
}

// below is where a bucket begins: its lower bound, and how many lie under it.
func (h histogram) below(i int) (bound, count float64) {
	if i == 0 {
		return min(0, h[0].bound), 0
	}
	return h[i-1].bound, h[i-1].count
}

// within is how many requests per second took at most so long: even within a
// bucket. Those above the last bound may have taken any time, and count as longer.
func (h histogram) within(seconds float64) float64 {
	i := slices.IndexFunc(h, func(b bucket) bool { return seconds < b.bound })
	if i < 0 {
		return h.total()
	}
	low, before := h.below(i)
	if math.IsInf(h[i].bound, 1) {
		return before
	}
	return before + (h[i].count-before)*max(0, seconds-low)/(h[i].bound-low)
}
