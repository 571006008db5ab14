package fluid

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loadline/loadline/internal/sim/fluid/surface"
)

// families are times of the shapes that occur at stations.
func families(rng *rand.Rand) map[string]func() float64 {
	lognormal := func(cv float64) func() float64 {
		s := math.Sqrt(math.Log1p(cv * cv))
		return func() float64 { return .01 * math.Exp(-s*s/2+s*rng.NormFloat64()) }
	}
	return map[string]func() float64{
		"lognormal, CV 0.5": lognormal(.5),
		"lognormal, CV 1":   lognormal(1),
		"lognormal, CV 2":   lognormal(2),
		"exponential":       func() float64 { return .01 * rng.ExpFloat64() },
		"throttled at times": func() float64 {
			if rng.Float64() < .05 {
				return .08 * rng.Float64()
			}
			return .001 * rng.ExpFloat64()
		},
	}
}

func sampled(n int, draw func() float64) (dist, []float64) {
	s := make([]float64, n)
	for i := range s {
		s[i] = draw()
	}
	slices.Sort(s)
	var d dist
	for k := range d.part {
		from, to := int(surface.Edges[k]*float64(n)), int(surface.Edges[k+1]*float64(n))
		for _, v := range s[from:to] {
			d.part[k] += v / float64(to-from)
		}
	}
	d.settle()
	return d, s
}

// Sums of five and maxima of four against sampling: the operations of chains and fan-outs.
func TestSumsAndMaximaKeepTheTail(t *testing.T) {
	const n = 200_000
	rng := rand.New(rand.NewPCG(1, 2))
	for name, draw := range families(rng) {
		one, _ := sampled(n, draw)
		sum, most := one, one
		b := newBlender()
		for range 4 {
			b.sum(&sum, &sum, &one)
		}
		for range 3 {
			larger(&most, &most, &one)
		}
		_, sums := sampled(n, func() float64 { return draw() + draw() + draw() + draw() + draw() })
		_, maxima := sampled(n, func() float64 { return max(draw(), draw(), draw(), draw()) })
		// At the p90 the two modes meet, and parts blur the gap between them.
		for p, tolerance := range map[float64]float64{.9: .18, .99: .09} {
			near(t, name+": sum of five", sum.quantile(p), sums[int(p*n)], tolerance)
			near(t, name+": maximum of four", most.quantile(p), maxima[int(p*n)], tolerance)
		}
	}
}

func TestCombiningKeepsTheMean(t *testing.T) {
	b := newBlender()
	x, y := lognormal(.01, 1), exponential(.03)
	var out dist
	b.sum(&out, &x, &y)
	near(t, "mean of a sum", out.mean, .04, 1e-3)
	maybe(&out, &y, .25)
	near(t, "mean of a call made at times", out.mean, .0075, 1e-9)
	b.add(&x, 3)
	b.add(&y, 1)
	b.cut(&out, 4)
	near(t, "mean of a mixture", out.mean, .015, 1e-9)
}

func TestSharesAndQuantilesAreInverse(t *testing.T) {
	d := exponential(.1)
	for _, p := range []float64{.05, .3, .5, .9, .99, .999} {
		near(t, "share above the quantile", d.above(d.quantile(p)), 1-p, .001)
		near(t, "quantile of an exponential", d.quantile(p), -.1*math.Log(1-p), .03)
	}
	same := lognormal(.05, 0)
	near(t, "share of a constant above less", same.above(.04), 1, .1)
	if s := same.above(.06); s > .001 {
		t.Errorf("share of a constant above more is %v", s)
	}
}

// The mean must not depend on how the wait for workers is modelled.
func TestOneWorkerIsPollaczekKhinchine(t *testing.T) {
	c := cohort{limit: 1}
	d := demand{cpu: .01, cv: 2, workers: 1}
	inner := c.waitForBusy(&d, .6, 1)
	near(t, "utilisation of the one at work", inner, 0, 0)
	near(t, "mean wait", c.stall, .6*.01*(1+4)/2/(1-.6), 1e-9)
}

func TestEvenRoutingIsBetweenRandomAndIdeal(t *testing.T) {
	for _, load := range []float64{.1, .5, .9, .99} {
		last := load
		for _, replicas := range []float64{2, 4, 16, 100} {
			as, _ := even(load, replicas)
			if as > last || as < 0 {
				t.Errorf("load %v over %v replicas is like %v alone", load, replicas, as)
			}
			last = as
		}
	}
}
