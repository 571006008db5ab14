package report

import (
	"maps"
	"slices"

	"github.com/loadline/loadline/internal/bench"
)

// difference of two policies' costs, paired by seed, with its 95 % interval: common effects of
// the seeds, above all the load, cancel out.
type difference struct {
	mean, low, high float64
	base            float64 // mean cost of the second
	pairs           int
}

func pairedCost(a, b map[uint64]figures) difference {
	var off []float64
	base := 0.0
	for _, seed := range slices.Sorted(maps.Keys(a)) { // in order: sums of floats depend on it
		if second, both := b[seed]; both {
			off = append(off, a[seed].cost-second.cost)
			base += second.cost
		}
	}
	i := bench.IntervalOf(off)
	return difference{
		mean: float64(i.Mean), low: float64(i.Low), high: float64(i.High),
		base: base / float64(len(off)), pairs: len(off),
	}
}

// clear reports whether the interval excludes zero. A single seed is not enough.
func (d difference) clear() bool { return d.pairs > 1 && (d.low > 0 || d.high < 0) }
