package twin

import (
	"math"
	"slices"
)

// quantile of sorted values, with interpolation; NaN of none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

// median of values in any order, which are not changed; NaN of none.
func median(values []float64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return quantile(sorted, 0.5)
}

// spread is the standard deviation of a normal distribution with the same median distance from
// the median: robust against outliers.
func spread(values []float64) float64 {
	m := median(values)
	off := make([]float64, len(values))
	for i, v := range values {
		off[i] = math.Abs(v - m)
	}
	return 1.4826 * median(off)
}

// solve finds x with a*x = b by elimination with pivots; a and b are overwritten. Undetermined
// values are 0.
func solve(a [][]float64, b []float64) []float64 {
	n := len(b)
	size := 0.0
	for i := range a {
		size = max(size, math.Abs(a[i][i]))
	}
	for c := range n {
		pivot := c
		for r := c + 1; r < n; r++ {
			if math.Abs(a[r][c]) > math.Abs(a[pivot][c]) {
				pivot = r
			}
		}
		a[c], a[pivot] = a[pivot], a[c]
		b[c], b[pivot] = b[pivot], b[c]
		if math.Abs(a[c][c]) <= 1e-12*size {
			continue
		}
		for r := c + 1; r < n; r++ {
			f := a[r][c] / a[c][c]
			for k := c; k < n; k++ {
				a[r][k] -= f * a[c][k]
			}
			b[r] -= f * b[c]
		}
	}
	x := make([]float64, n)
	for c := n - 1; c >= 0; c-- {
		if math.Abs(a[c][c]) <= 1e-12*size {
			continue
		}
		x[c] = b[c]
		for k := c + 1; k < n; k++ {
			x[c] -= a[c][k] * x[k]
		}
		x[c] /= a[c][c]
	}
	return x
}

// leastSquares are the factors of the columns that fit y best, rows weighted by weight; nil =
// equal weights.
func leastSquares(columns [][]float64, y, weight []float64) []float64 {
	a, b, unit := normal(columns, y, weight)
	x := solve(a, b)
	for i := range x {
		x[i] /= unit[i]
	}
	return x
}

// normal is the normal equations a*x = b of least squares, for factors in units of the columns'
// largest values: columns of very different size (bytes beside requests) would distort the
// choice of pivots.
func normal(columns [][]float64, y, weight []float64) (a [][]float64, b, unit []float64) {
	n := len(columns)
	a, b, unit = make([][]float64, n), make([]float64, n), make([]float64, n)
	for i, c := range columns {
		a[i] = make([]float64, n)
		for _, v := range c {
			unit[i] = max(unit[i], math.Abs(v))
		}
		if unit[i] == 0 {
			unit[i] = 1
		}
	}
	for r := range y {
		w := 1.0
		if weight != nil {
			w = weight[r]
		}
		for i := range n {
			v := w * columns[i][r] / unit[i]
			for k := range n {
				a[i][k] += v * columns[k][r] / unit[k]
			}
			b[i] += v * y[r]
		}
	}
	return a, b, unit
}

// covariance of the factors that refine returns, for errors of the given spread. A factor that
// the columns do not determine has an infinite variance.
func covariance(columns [][]float64, y, factors []float64, scale float64) [][]float64 {
	left := make([]float64, len(y))
	residuals(left, columns, y, factors)
	weight := make([]float64, len(y))
	biweights(weight, left, scale)
	a, _, unit := normal(columns, y, weight)
	out := make([][]float64, len(columns))
	for i := range out {
		copied := make([][]float64, len(a))
		for k := range a {
			copied[k] = slices.Clone(a[k])
		}
		e := make([]float64, len(a))
		e[i] = 1
		out[i] = solve(copied, e)
		if out[i][i] <= 0 { // solve leaves what is undetermined at 0
			out[i][i] = math.Inf(1)
		}
		for k := range out[i] {
			out[i][k] *= scale * scale / (unit[i] * unit[k])
		}
	}
	return out
}

func residuals(into []float64, columns [][]float64, y, factors []float64) {
	for r := range y {
		into[r] = y[r]
		for i, c := range columns {
			into[r] -= factors[i] * c[r]
		}
	}
}

// biweights are Tukey's weights of residuals: 0 for outliers.
func biweights(into, left []float64, scale float64) {
	for r, v := range left {
		u := v / (4.685 * scale)
		into[r] = 0
		if math.Abs(u) < 1 {
			into[r] = (1 - u*u) * (1 - u*u)
		}
	}
}

// robustRounds of reweighting are enough to converge.
const robustRounds = 25

// refine improves initial factors by least squares with decreasing weights for distant rows
// (Tukey's biweight): outliers end with zero weight. It returns the residual spread.
func refine(columns [][]float64, y, start []float64) (factors []float64, scale float64) {
	factors = slices.Clone(start)
	left, weight := make([]float64, len(y)), make([]float64, len(y))
	for range robustRounds {
		residuals(left, columns, y, factors)
		off := make([]float64, len(left))
		for r, v := range left {
			off[r] = math.Abs(v)
		}
		scale = max(1.4826*median(off), 1e-300)
		biweights(weight, left, scale)
		next := leastSquares(columns, y, weight)
		moved := 0.0
		for i := range next {
			moved = max(moved, math.Abs(next[i]-factors[i])/(math.Abs(next[i])+1e-300))
		}
		factors = next
		if moved < 1e-6 {
			break
		}
	}
	return factors, scale
}

// line is y = base + slope*x, and the residual spread.
type line struct{ base, slope, scale float64 }

// maxPairs bounds the work of the initial fit.
const maxPairs = 20_000

// robustLine fits a line that tolerates up to a quarter of outliers: the median slope between
// distant pairs (Theil and Sen), then refine.
func robustLine(x, y []float64) line {
	slopes := make([]float64, 0, maxPairs)
	n := len(x)
	// Pairs of points that are far apart in x carry the information.
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case x[a] < x[b]:
			return -1
		case x[a] > x[b]:
			return 1
		}
		return 0
	})
	half := n / 2
	step := max(1, half*half/maxPairs)
	for k := 0; k < half*half; k += step {
		i, j := order[k%half], order[n-1-(k/half)]
		if d := x[j] - x[i]; d > 0 {
			slopes = append(slopes, (y[j]-y[i])/d)
		}
	}
	if len(slopes) == 0 {
		return line{base: 0, slope: ratio(median(y), median(x))}
	}
	slope := median(slopes)
	left := make([]float64, n)
	for i := range x {
		left[i] = y[i] - slope*x[i]
	}
	one := make([]float64, n)
	for i := range one {
		one[i] = 1
	}
	f, scale := refine([][]float64{one, x}, y, []float64{median(left), slope})
	return line{base: f[0], slope: f[1], scale: scale}
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// nonNegative are the non-negative factors that minimise the squares of y - sum(factor*column),
// plus the squared distance of each factor from its prior times its pull: undetermined factors
// stay at the prior.
func nonNegative(columns [][]float64, y, prior, pull []float64) []float64 {
	n := len(columns)
	a, b := make([][]float64, n), make([]float64, n)
	for i := range n {
		a[i] = make([]float64, n)
		for k := range n {
			for r := range y {
				a[i][k] += columns[i][r] * columns[k][r]
			}
		}
		for r := range y {
			b[i] += columns[i][r] * y[r]
		}
	}
	for i := range n {
		a[i][i] += pull[i]
		b[i] += pull[i] * prior[i]
	}
	x := slices.Clone(prior)
	for range 5000 { // coordinate descent: each step is exact, and the bound is easy to enforce
		moved := 0.0
		for i := range n {
			if a[i][i] == 0 {
				continue
			}
			rest := b[i]
			for k := range n {
				if k != i {
					rest -= a[i][k] * x[k]
				}
			}
			next := max(rest/a[i][i], 0)
			moved = max(moved, math.Abs(next-x[i]))
			x[i] = next
		}
		if moved < 1e-9 {
			break
		}
	}
	return x
}
