package validate

import "math/rand/v2"

// line is a robust straight line (Theil and Sen): the median of slopes between random pairs of
// points. It tolerates outliers up to a quarter of the points.
type line struct{ x, y []float64 }

func (l *line) add(x, y float64) { l.x, l.y = append(l.x, x), append(l.y, y) }

func (l *line) fit(rng *rand.Rand) (base, slope float64) {
	var slopes []float64
	for range 20000 {
		i, j := rng.IntN(len(l.x)), rng.IntN(len(l.x))
		if l.x[i] != l.x[j] {
			slopes = append(slopes, (l.y[i]-l.y[j])/(l.x[i]-l.x[j]))
		}
	}
	slope = max(0, median(slopes))
	return l.base(slope), slope
}

func (l *line) base(slope float64) float64 {
	rest := make([]float64, len(l.x))
	for i := range rest {
		rest[i] = l.y[i] - slope*l.x[i]
	}
	return median(rest)
}

// leastSquares is the ordinary least-squares line, for the trivial predictor.
func (l *line) leastSquares() (base, slope float64) {
	mx, my := mean(l.x), mean(l.y)
	var xy, xx float64
	for i := range l.x {
		xy += (l.x[i] - mx) * (l.y[i] - my)
		xx += (l.x[i] - mx) * (l.x[i] - mx)
	}
	if xx > 0 {
		slope = xy / xx
	}
	return my - slope*mx, slope
}
