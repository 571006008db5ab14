package fluid

import (
	"math"

	"github.com/loadline/loadline/internal/sim/fluid/surface"
)

const levels = surface.Levels

// dist is the distribution of a time in seconds: its mean within each of the
// surface's ranges of probability, in rising order.
//
// It represents many shapes (throttled visits are bimodal), and sums, maxima and mixtures take
// a few hundred nanoseconds. Chains of five and fan-outs of four keep their p99 within a few
// per cent, which no family with two or three moments did for both bimodal and lognormal times.
type dist struct {
	part [levels]float64
	mean float64
	vari float64 // variance
}

// weight is the probability of each part. depth is the mean of -ln(1-p) over
// it: quantiles are interpolated against that, because an exponential tail is a
// straight line there.
var weight, depth = measureParts()

func measureParts() (weight, depth [levels]float64) {
	below := func(s float64) float64 { // integral of -ln over (0, s)
		if s == 0 {
			return 0
		}
		return s - s*math.Log(s)
	}
	for k := range weight {
		lo, hi := 1-surface.Edges[k], 1-surface.Edges[k+1]
		weight[k] = lo - hi
		depth[k] = (below(lo) - below(hi)) / weight[k]
	}
	return weight, depth
}

// settle computes the moments from the parts.
func (d *dist) settle() {
	m, s := 0.0, 0.0
	for k, v := range d.part {
		m += weight[k] * v
		s += weight[k] * v * v
	}
	d.mean, d.vari = m, max(s-m*m, 0)
}

// at returns the quantile at a depth.
func (d *dist) at(u float64) float64 {
	k := 0
	for k < levels-2 && depth[k+1] < u {
		k++
	}
	v := d.part[k] + (u-depth[k])/(depth[k+1]-depth[k])*(d.part[k+1]-d.part[k])
	return max(v, 0)
}

// quantile returns the time below which the share p is.
func (d *dist) quantile(p float64) float64 { return d.at(-math.Log1p(-p)) }

// above returns the share of times above t.
func (d *dist) above(t float64) float64 {
	k := 0
	for k < levels-2 && d.part[k+1] < t {
		k++
	}
	step := d.part[k+1] - d.part[k]
	if step <= 0 {
		if t < d.part[k] {
			return math.Exp(-depth[k])
		}
		return math.Exp(-depth[k+1])
	}
	u := depth[k] + (t-d.part[k])/step*(depth[k+1]-depth[k])
	return math.Exp(-max(u, 0))
}

// lognormal returns the parts of a lognormal time; the mean over a range of probabilities has a
// closed form.
func lognormal(mean, cv float64) dist {
	var d dist
	s2 := math.Log1p(cv * cv)
	s := math.Sqrt(s2)
	cdf := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	for k := range d.part {
		d.part[k] = mean
		if s > 0 {
			lo, hi := normalQuantile(surface.Edges[k]), normalQuantile(surface.Edges[k+1])
			d.part[k] = mean * (cdf(hi-s) - cdf(lo-s)) / weight[k]
		}
	}
	d.settle()
	return d
}

// exponential returns the parts of an exponential time.
func exponential(mean float64) dist {
	var d dist
	for k := range d.part {
		d.part[k] = mean * depth[k]
	}
	d.settle()
	return d
}

func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
