package profile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/loadline/loadline/internal/history"
)

// FitOptions are the options of Fit. The zero value is a usable default, except
// for Percentile.
type FitOptions struct {
	Percentile float64
	Bins       int // of load at most; 0 = 12
	LeastSteps int // that a bin must have; 0 = 12
	Samples    int // of the bootstrap; 0 = 200
}

// WithDefaults sets defaults for zero fields.
func (o FitOptions) WithDefaults() FitOptions {
	if o.Bins == 0 {
		o.Bins = 12
	}
	if o.LeastSteps == 0 {
		o.LeastSteps = 12
	}
	if o.Samples == 0 {
		o.Samples = 200
	}
	return o
}

// Fit fits the profiles of a service to its history: one for each size that its
// instances had for long enough. Steps are binned by the load of an instance; a
// point is the mean of a bin's latencies weighted by visits.
//
// The error of a point is that of a block bootstrap: what neighbouring steps
// share (a burst, a busy node) must not count once per step. The random source is
// for the bootstrap.
//
// Insufficient data is reported with the reason, and nothing is made up. Versions
// are not in a history: a profile is that of the mix that ran.
func Fit(h *history.History, service string, o FitOptions, rng *rand.Rand) ([]Profile, []Missing, error) {
	past, err := NewServiceHistory(h, service, o.Percentile)
	if err != nil {
		return nil, nil, err
	}
	o = o.WithDefaults()
	if len(past.Windows) == 0 {
		return nil, []Missing{{Service: service, Reason: fmt.Sprintf("none of %d steps is usable: %v", h.Steps,
			past.Skipped)}}, nil
	}
	var sizes []Size
	for i := range past.Windows {
		if !slices.Contains(sizes, past.Windows[i].Size) {
			sizes = append(sizes, past.Windows[i].Size)
		}
	}
	var list []Profile
	var missing []Missing
	for _, size := range sizes {
		f := fitting{options: o, past: past, rng: rng}
		for i := range past.Windows {
			if past.Windows[i].Size == size {
				f.at = append(f.at, i)
			}
		}
		if len(f.at) < o.LeastSteps {
			missing = append(missing, Missing{Service: service, Size: &size,
				Reason: fmt.Sprintf("%d usable steps, at least %d are needed: %v", len(f.at), o.LeastSteps, past.Skipped)})
			continue
		}
		p := Profile{Service: service, Size: size, Percentile: o.Percentile, IncludesCalls: past.IncludesCalls, Points: f.points()}
		if len(p.Points) == 0 {
			missing = append(missing, Missing{Service: service, Size: &size,
				Reason: fmt.Sprintf("its %d steps come from too few time ranges to estimate their uncertainty: record for longer",
					len(f.at))})
			continue
		}
		list = append(list, p)
	}
	return list, missing, nil
}

// fitting is the steps of one size.
type fitting struct {
	options FitOptions
	past    *ServiceHistory
	rng     *rand.Rand
	at      []int // indices into the windows, by time
}

// points returns the points of the profile: one for each bin, up to the first
// saturated one. A bin is saturated if visits fail in most of its steps, or
// queues grow and shrink in a third of them.
func (f *fitting) points() []Point {
	bins := f.bins()
	errors := f.bootstrap(bins)
	var points []Point
	for b := range bins {
		sum := f.sum(bins, b, f.at)
		pt := Point{Load: sum.load, Latency: sum.latency, Steps: sum.steps, Error: errors[b]}
		if sum.failing*2 > sum.steps || sum.growing*3 > sum.steps {
			pt.Latency, pt.Error, pt.Saturated = 0, 0, true
		}
		if !pt.Saturated && math.IsNaN(pt.Error) {
			continue
		}
		points = append(points, pt)
		if pt.Saturated {
			break
		}
	}
	return points
}

// bins are the upper ends of the ranges of load: equally wide, but joined with
// their neighbours until each has enough steps.
func (f *fitting) bins() []float64 {
	low, high := math.Inf(1), 0.0
	for _, i := range f.at {
		low, high = min(low, f.past.Windows[i].Load), max(high, f.past.Windows[i].Load)
	}
	var ends []float64
	for b := range f.options.Bins {
		ends = append(ends, low+(high-low)*float64(b+1)/float64(f.options.Bins))
	}
	ends[len(ends)-1] = math.Inf(1)
	for b := 0; b < len(ends); {
		n := f.sum(ends, b, f.at).steps
		switch {
		case n >= f.options.LeastSteps || len(ends) == 1:
			b++
		case b < len(ends)-1:
			ends = slices.Delete(ends, b, b+1)
		default: // the last joins the one before it
			ends = slices.Delete(ends, b-1, b)
			b--
		}
	}
	return ends
}

// binSum is the sum over the steps of a bin.
type binSum struct {
	steps, failing, growing int
	load, latency           float64
}

// sum of a bin over some windows.
func (f *fitting) sum(ends []float64, bin int, windows []int) binSum {
	var s binSum
	visits, ended := 0.0, 0.0
	for _, i := range windows {
		w := &f.past.Windows[i]
		if w.Load > ends[bin] || bin > 0 && w.Load <= ends[bin-1] {
			continue
		}
		s.steps++
		visits += w.Visits
		s.load += w.Visits * w.Load
		if f.past.Growing[i] {
			s.growing++
		}
		if f.past.Failing[i] {
			s.failing++
			continue
		}
		ended += w.Visits
		s.latency += w.Visits * w.Latency
	}
	s.load /= visits
	s.latency /= ended
	return s
}

// bootstrap is the standard error of each bin's latency: NaN where too few of the
// samples have any of it, because it then comes from one or two blocks.
func (f *fitting) bootstrap(ends []float64) []float64 {
	n := len(f.at)
	// Longer blocks for longer series: they must span what neighbours share.
	block := max(4, int(math.Ceil(math.Cbrt(float64(n)))))
	block = min(block, n)
	values := make([][]float64, len(ends))
	sample := make([]int, 0, n+block)
	for range f.options.Samples {
		sample = sample[:0]
		for len(sample) < n {
			from := f.rng.IntN(n - block + 1)
			sample = append(sample, f.at[from:from+block]...)
		}
		sample = sample[:n]
		for b := range ends {
			if v := f.sum(ends, b, sample).latency; !math.IsNaN(v) {
				values[b] = append(values[b], v)
			}
		}
	}
	errors := make([]float64, len(ends))
	for b := range errors {
		errors[b] = math.NaN()
		if k := len(values[b]); 10*k >= 9*f.options.Samples {
			errors[b] = deviation(values[b])
		}
	}
	return errors
}

// deviation of some values from their mean.
func deviation(values []float64) float64 {
	n, mean, squares := float64(len(values)), 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / (n - 1))
}
