package report

import (
	"maps"
	"math"
	"slices"
)

// difference of two policies' costs, seed by seed, with its 95 % interval:
// what the seeds have in common, the load above all, cancels out.
type difference struct {
	mean, low, high float64
	base            float64 // mean cost of the second
	pairs           int
}

func pairedCost(a, b map[uint64]figures) difference {
	var d difference
	var off []float64
	var sum, squares float64
	for _, seed := range slices.Sorted(maps.Keys(a)) { // in order: sums of floats depend on it
		if second, both := b[seed]; both {
			d.pairs++
			off = append(off, a[seed].cost-second.cost)
			sum += a[seed].cost - second.cost
			d.base += second.cost
		}
	}
	if d.pairs == 0 {
		return difference{mean: math.NaN(), low: math.NaN(), high: math.NaN(), base: math.NaN()}
	}
	n := float64(d.pairs)
	d.mean, d.base = sum/n, d.base/n
	for _, o := range off {
		squares += (o - d.mean) * (o - d.mean)
	}
	d.low, d.high = math.NaN(), math.NaN()
	if d.pairs > 1 {
		half := student95(d.pairs-1) * math.Sqrt(squares/(n-1)/n)
		d.low, d.high = d.mean-half, d.mean+half
	}
	return d
}

// clear says whether the interval leaves zero out. One seed proves nothing.
func (d difference) clear() bool { return d.pairs > 1 && (d.low > 0 || d.high < 0) }

// student95 is the 97.5 % point of Student's t distribution.
func student95(degrees int) float64 {
	table := [...]float64{
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
	}
	if degrees < 1 {
		return math.NaN()
	}
	if degrees <= len(table) {
		return table[degrees-1]
	}
	// Beyond the table the first term of the expansion in 1/n is exact to
	// three digits.
	const z = 1.959964
	return z + (z*z*z+z)/4/float64(degrees)
}
