package twin

import "math"

// A release shows as a jump of the CPU time per request. It is found by dividing the history in
// two where that explains most, then each part again, as long as the split is significant.
const (
	changeLeast  = 0.05 // smaller changes are within the usual drift of a service
	changeBins   = 400  // maximum number of bins, so that long histories cost no more
	changeRows   = 8    // bins that a stretch needs at least
	changeSigmas = 6    // required difference of the two sides, in standard errors
)

// changePoints returns the rows at which a stretch begins, 0 first.
func changePoints(rows []cpuRow) []int {
	per := max(1, len(rows)/changeBins)
	var bins []cpuRow
	for i := 0; i+per <= len(rows); i += per {
		part := rows[i : i+per]
		bins = append(bins, cpuRow{
			from: i,
			rate: medianOf(part, func(r cpuRow) float64 { return r.rate }),
			cpu:  medianOf(part, func(r cpuRow) float64 { return r.cpu }),
		})
	}
	starts := []int{0}
	var cut func(from, to, depth int)
	cut = func(from, to, depth int) {
		at := changeIn(bins[from:to])
		if at < 0 || depth == 0 {
			return
		}
		cut(from, from+at, depth-1)
		starts = append(starts, sharpen(rows, bins[from+at].from, per))
		cut(from+at, to, depth-1)
	}
	cut(0, len(bins), 4)
	return starts
}

// changeIn finds the bin at which the CPU time per request changed, or -1.
func changeIn(bins []cpuRow) int {
	n := len(bins)
	if n < 2*changeRows {
		return -1
	}
	best, at := math.Inf(1), -1
	for _, k := range candidates(n) {
		if loss := twoSlopes(bins, k).loss; loss < best {
			best, at = loss, k
		}
	}
	// The best of the coarse cuts, then bin by bin around it.
	for k := max(changeRows, at-n/20); k <= min(n-changeRows, at+n/20); k++ {
		if loss := twoSlopes(bins, k).loss; loss < best {
			best, at = loss, k
		}
	}
	s := twoSlopes(bins, at)
	if s.before <= 0 || s.after <= 0 || math.Abs(s.after-s.before) < changeLeast*min(s.before, s.after) {
		return -1
	}
	if math.Abs(s.after-s.before) < changeSigmas*s.deviation {
		return -1
	}
	one := oneSlope(bins)
	if one < best*(1+12/float64(n)) {
		return -1
	}
	return at
}

func candidates(n int) []int {
	var out []int
	for i := range 41 {
		if k := n * i / 40; k >= changeRows && k <= n-changeRows && (len(out) == 0 || k > out[len(out)-1]) {
			out = append(out, k)
		}
	}
	return out
}

// split is a stretch explained by two CPU times and one idle load.
type split struct {
	before, after float64
	deviation     float64 // standard error of their difference
	loss          float64 // mean remaining distance
}

func twoSlopes(bins []cpuRow, k int) (s split) {
	one, a, b, y := make([]float64, len(bins)), make([]float64, len(bins)), make([]float64, len(bins)), make([]float64, len(bins))
	for i, r := range bins {
		one[i], y[i] = 1, r.cpu
		if i < k {
			a[i] = r.rate
		} else {
			b[i] = r.rate
		}
	}
	columns := [][]float64{one, a, b}
	f := leastAbsolute(columns, y)
	s.before, s.after = f[1], f[2]
	left := make([]float64, len(bins))
	perRate := make([]float64, len(bins))
	for i, r := range bins {
		left[i] = y[i] - f[0] - f[1]*a[i] - f[2]*b[i]
		s.loss += math.Abs(left[i]) / float64(len(bins))
		perRate[i] = left[i] / r.rate
	}
	// Errors of neighbouring bins are correlated, so that there are fewer independent ones than
	// bins: a fifth.
	noise := spread(perRate)
	s.deviation = noise * math.Sqrt(5/float64(k)+5/float64(len(bins)-k))
	return s
}

func oneSlope(bins []cpuRow) float64 {
	one, a, y := make([]float64, len(bins)), make([]float64, len(bins)), make([]float64, len(bins))
	for i, r := range bins {
		one[i], a[i], y[i] = 1, r.rate, r.cpu
	}
	f := leastAbsolute([][]float64{one, a}, y)
	loss := 0.0
	for i := range bins {
		loss += math.Abs(y[i]-f[0]-f[1]*a[i]) / float64(len(bins))
	}
	return loss
}

// leastAbsolute minimises distances instead of squares, by reweighting: an outlier counts once,
// not squared.
func leastAbsolute(columns [][]float64, y []float64) []float64 {
	weight := make([]float64, len(y))
	size := 0.0
	for i, v := range y {
		weight[i] = 1
		size += math.Abs(v) / float64(len(y))
	}
	var f []float64
	for range 12 {
		f = leastSquares(columns, y, weight)
		for i := range y {
			left := y[i]
			for c := range columns {
				left -= f[c] * columns[c][i]
			}
			weight[i] = 1 / max(math.Abs(left), 1e-4*size)
		}
	}
	return f
}

// sharpen moves a change found between bins to the row where it happened: the split of the rows
// around it with the least remaining error.
func sharpen(rows []cpuRow, at, per int) int {
	low, high := max(0, at-2*per), min(len(rows), at+2*per)
	before := medianOf(rows[max(0, low-20*per):low], func(r cpuRow) float64 { return r.cpu / r.rate })
	after := medianOf(rows[high:min(len(rows), high+20*per)], func(r cpuRow) float64 { return r.cpu / r.rate })
	if math.IsNaN(before) || math.IsNaN(after) {
		return at
	}
	best, cut := math.Inf(1), at
	for k := low; k <= high; k++ {
		loss := 0.0
		for i := low; i < high; i++ {
			want := before
			if i >= k {
				want = after
			}
			loss += math.Abs(rows[i].cpu/rows[i].rate - want)
		}
		if loss < best {
			best, cut = loss, k
		}
	}
	return cut
}
