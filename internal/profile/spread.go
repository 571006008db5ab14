package profile

import "slices"

// spread estimates by how much windows vary more, or less, than the noise model
// predicts: a factor on the variance. It compares neighbours only, so that a
// change of the curve, which separates two of them, hardly counts.
type spread struct {
	sum, weight float64
	last        *sight
}

const (
	spreadPrior  = 10  // weight of the prior, in windows
	spreadMemory = 300 // windows after which old ones fade
	spreadMost   = 9   // of one pair: three deviations
)

func newSpread() spread { return spread{sum: spreadPrior, weight: spreadPrior} }

func (s *spread) add(w sight) {
	if s.last != nil {
		d := w.stretch - s.last.stretch
		s.sum += min(d*d/(w.variance+s.last.variance), spreadMost)
		s.weight++
		if s.weight > spreadMemory {
			s.sum *= spreadMemory / s.weight
			s.weight = spreadMemory
		}
	}
	s.last = &w
}

// value of the factor, within reason.
func (s *spread) value() float64 { return min(max(s.sum/s.weight, 0.25), 9) }

func median(values []float64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
