package sim

import (
	"math"
	"slices"
	"testing"
)

func TestQuantilesAgreeWithSorting(t *testing.T) {
	rng := Stream(1, 1, 1)
	h := NewHistogram(meterBits)
	var all []float64
	for range 100_000 {
		ns := math.Exp(16 + 2*rng.NormFloat64())
		h.Add(int64(ns))
		all = append(all, math.Floor(ns))
	}
	slices.Sort(all)
	for _, q := range []float64{0.001, 0.5, 0.9, 0.99, 0.999} {
		want := all[int(q*float64(len(all)))]
		if got := h.Quantile(q); math.Abs(got/want-1) > 0.008 {
			t.Errorf("quantile %v = %v, sorting gives %v", q, got, want)
		}
	}
	for _, at := range []float64{1e5, 1e7, 1e9} {
		n, _ := slices.BinarySearch(all, at)
		want := 1 - float64(n)/float64(len(all))
		if got := h.ShareAbove(at); math.Abs(got-want) > 0.002 {
			t.Errorf("share above %v = %v, counting gives %v", at, got, want)
		}
	}
}

func TestEveryValueIsInItsBucket(t *testing.T) {
	for _, bits := range []uint{3, 5, 7} {
		h := NewHistogram(bits)
		rng := Stream(2, 1, 1)
		for i := range 10_000 {
			ns := int64(i)
			if i >= 1000 {
				ns = int64(rng.Uint64N(1 << uint(10+i%37)))
			}
			b := h.BucketOf(ns)
			if lo, hi := h.Lower(b), h.Lower(b+1); float64(ns) < lo || float64(ns) >= hi {
				t.Fatalf("%d bits: %d ns fell into bucket %d, [%v, %v)", bits, ns, b, lo, hi)
			}
		}
	}
}

func TestAnEmptyHistogramHasNoQuantiles(t *testing.T) {
	h := NewHistogram(3)
	if !math.IsNaN(h.Quantile(0.5)) || !math.IsNaN(h.Mean()) || !math.IsNaN(h.ShareAbove(1)) {
		t.Error("an empty histogram answered with a number")
	}
}

func TestWhatWasCountedSince(t *testing.T) {
	h, before := NewHistogram(3), NewHistogram(3)
	for range 100 {
		h.Add(1e6)
	}
	before.CopyFrom(h)
	for range 100 {
		h.Add(1e9)
	}
	h.Sub(before)
	if h.Count() != 100 || math.Abs(h.Quantile(0.5)/1e9-1) > 0.1 {
		t.Errorf("since then: %v values, median %v", h.Count(), h.Quantile(0.5))
	}
}

// Half of what was counted between two states has the same quantiles and half the count.
func TestAddSinceTakesAShare(t *testing.T) {
	earlier, later, sum := NewHistogram(ExporterBits), NewHistogram(ExporterBits), NewHistogram(ExporterBits)
	earlier.AddN(1000, 8)
	later.CopyFrom(earlier)
	later.AddN(50_000, 4)
	later.AddN(90_000, 2)
	sum.AddSince(earlier, later, 0.5)
	if sum.Count() != 3 || sum.Sum() != 0.5*(4*50_000+2*90_000) {
		t.Errorf("count %v, sum %v", sum.Count(), sum.Sum())
	}
	whole := NewHistogram(ExporterBits)
	whole.AddSince(earlier, later, 1)
	if a, b := sum.Quantile(0.9), whole.Quantile(0.9); a != b || a < 80_000 {
		t.Errorf("quantiles %v and %v", a, b)
	}
	sum.AddSince(later, later, 0.3)
	if sum.Count() != 3 {
		t.Errorf("nothing happened, but the count is %v", sum.Count())
	}
}
