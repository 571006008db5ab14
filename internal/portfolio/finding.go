package portfolio

import (
	"math"
	"slices"
	"time"
)

// Finding is a measure that deviates from the twin's.
type Finding struct {
	Measure Measure
	Service string // "" = the application
	Ratio   float64
	Since   time.Time
}

// leastSamples that a comparison needs.
const leastSamples = 5

// series is the samples of one measure in a window, and whether it deviates. It deviates when three
// quarters of the samples of the last third of the window are beyond the tolerance on one side, so
// that neither bursts nor lost scrapes make it so. It matches again when the median of a whole
// window since it began is within half of the tolerance.
type series struct {
	tolerance float64 // as a share
	upOnly    bool    // below 1 is no deviation
	values    []float64
	times     []time.Time
	next, n   int

	active bool
	ratio  float64
	since  time.Time
	sorted []float64
}

func newSeries(count int, tolerance float64) *series {
	return &series{tolerance: tolerance, values: make([]float64, count), times: make([]time.Time, count), sorted: make([]float64, 0, count)}
}

func (s *series) add(at time.Time, v float64) {
	s.values[s.next], s.times[s.next] = v, at
	s.next = (s.next + 1) % len(s.values)
	s.n = min(s.n+1, len(s.values))
	s.decide()
}

func (s *series) forget() { s.n, s.next, s.active = 0, 0, false }

// resume a deviation that was found before a restart.
func (s *series) resume(f Finding) { s.active, s.ratio, s.since = true, f.Ratio, f.Since }

// at the i-th last sample.
func (s *series) at(i int) (v float64, at time.Time) {
	k := (s.next - 1 - i + 2*len(s.values)) % len(s.values)
	return s.values[k], s.times[k]
}

// short is how many samples find a deviation.
func (s *series) short() int { return max(len(s.values)/3, leastSamples) }

// ratios of the last n samples, in order of size; those that are none are left out.
func (s *series) ratios(n int) []float64 {
	s.sorted = s.sorted[:0]
	for i := range min(n, s.n) {
		if v, _ := s.at(i); v >= 0 {
			s.sorted = append(s.sorted, v)
		}
	}
	slices.Sort(s.sorted)
	return s.sorted
}

// enough of so many samples are ratios: more than half.
func enough(ratios []float64, of int) bool { return len(ratios) >= leastSamples && 2*len(ratios) > of }

// judged reports whether the measure is compared.
func (s *series) judged() bool { return enough(s.ratios(s.short()), s.short()) }

// quiet reports whether the service had too few visits to be compared, in most samples.
func (s *series) quiet() bool {
	n := 0
	for i := range min(s.short(), s.n) {
		if v, _ := s.at(i); v == idle {
			n++
		}
	}
	return 2*n > s.short()
}

// recent is the median of the last third; NaN = it is not compared.
func (s *series) recent() float64 {
	if !s.judged() {
		return math.NaN()
	}
	return quantile(s.ratios(s.short()), 0.5)
}

// quantile of numbers in order, between the two nearest.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	low := int(at)
	if low+1 == len(sorted) {
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

func (s *series) decide() {
	if s.active {
		whole := s.ratios(len(s.values))
		if s.n == len(s.values) && enough(whole, s.n) && !s.beyond(quantile(whole, 0.5), s.tolerance/2) {
			s.active = false
			return
		}
		if len(whole) >= leastSamples {
			s.ratio = quantile(whole, 0.5)
		}
		return
	}
	last := s.ratios(s.short())
	if !enough(last, s.short()) {
		return
	}
	low, high := quantile(last, 0.25), quantile(last, 0.75)
	if low > 1+s.tolerance || !s.upOnly && high < 1/(1+s.tolerance) {
		s.active, s.ratio = true, quantile(last, 0.5)
		s.since, s.n = s.began(low > 1)
	}
}

func (s *series) beyond(v, tolerance float64) bool {
	return v > 1+tolerance || !s.upOnly && v < 1/(1+tolerance)
}

// began is the time of the first sample of the deviation, and how many there are since: before it,
// two in a row are within the tolerance.
func (s *series) began(up bool) (first time.Time, samples int) {
	within := 0
	for i := range s.n {
		v, at := s.at(i)
		if !(v >= 0) {
			continue
		}
		if up && v > 1+s.tolerance || !up && v < 1/(1+s.tolerance) {
			first, samples, within = at, i+1, 0
		} else if within++; within == 2 {
			break
		}
	}
	return first, samples
}
