package twin

import (
	"cmp"
	"math"
	"slices"
)

// point is a service's measurements at one utilisation: trimmed means over windows of about
// that utilisation.
type point struct {
	load      float64 // utilisation of the limit
	rate      float64 // requests per second, of one replica
	replicas  float64
	limit     float64 // cores of a replica; 0 = none
	mean      float64 // seconds; NaN = not measured
	quantiles [4]float64
	weight    float64
	kinds     []float64    // by kind, visits per second to one replica
	callees   []calleeTime // by callee
}

// calleeTime is the response time of a callee: a lognormal time, and occasionally an additional
// stall.
type calleeTime struct{ mean, cv, stall, odds float64 }

const (
	maxPoints  = 14   // slices of the range of utilisations
	fewPoints  = 8    // likewise for a service with callees or clumps, which needs an engine for each
	mostLoad   = 0.95 // above it a service is not stationary for long enough
	kneeLoad   = 0.6  // minimum load at which the knee is visible
	nearLoad   = 0.7  // above it counts as near saturation
	pointLeast = 3    // windows per point, at least
)

// busy is the share of its limit that a replica uses for requests, of the usual mix.
func (m *model) busy(ratePerReplica float64) float64 {
	return ratePerReplica * m.demand.perVisit / m.capacity()
}

// capacity is the cores that a replica has for requests. Without a limit the
// simulator gives a replica the cores of its node.
func (m *model) capacity() float64 {
	if m.size.CPULimit > 0 {
		return max(m.size.CPULimit-m.demand.idle, 0.001)
	}
	return nodeCores
}

// points sorts the steady windows since the last change by utilisation.
func (p *past) points(g *graph, i int, m *model, most int) []point {
	t := p.tracks[i]
	callees := g.callees(i)
	type sample struct {
		w    *window
		load float64
	}
	var samples []sample
	take := func(from int, steady bool) {
		samples = samples[:0]
		for k := range t.windows {
			w := &t.windows[k]
			sized := m.size.CPULimit == 0 || math.IsNaN(w.limit) || math.Abs(w.limit-m.size.CPULimit) < 0.01*m.size.CPULimit
			if w.from < from || !w.sound() || !w.even || !sized || (steady && !w.steady) ||
				(math.IsNaN(w.mean) && math.IsNaN(w.quantiles[3])) {
				continue
			}
			rate := w.rate / w.ready
			if m.demand.work != nil {
				rate *= heaviness(m.demand.work, p.mix(g, i, w))
			}
			if load := m.busy(rate); load <= mostLoad {
				samples = append(samples, sample{w, load})
			}
		}
	}
	if take(m.demand.from, true); len(samples) < 30 {
		take(m.demand.from, false)
	}
	if len(samples) == 0 {
		return nil
	}
	low, high := math.Inf(1), 0.0
	for _, s := range samples {
		low, high = min(low, s.load), max(high, s.load)
	}
	parts := make([][]sample, most)
	for _, s := range samples {
		k := min(int(float64(most)*(s.load-low)/max(high-low, 1e-9)), most-1)
		parts[k] = append(parts[k], s)
	}
	var points []point
	for _, part := range parts {
		if len(part) < pointLeast && len(samples) > 4*pointLeast {
			continue
		}
		if len(part) == 0 {
			continue
		}
		// The slowest and the fastest tenth are discarded. Of the rest means are taken, not
		// medians: the time of a visit is the sum of its own and of its calls, and only means
		// add up.
		slices.SortStableFunc(part, func(a, b sample) int { return cmp.Compare(a.w.mean, b.w.mean) })
		part = part[len(part)/10 : len(part)-len(part)/10]
		of := func(f func(*window) float64) float64 {
			sum, n := 0.0, 0
			for _, s := range part {
				if x := f(s.w); !math.IsNaN(x) {
					sum += x
					n++
				}
			}
			return sum / float64(n)
		}
		pt := point{
			rate:     of(func(w *window) float64 { return w.rate / w.ready }),
			replicas: max(1, math.Round(of(func(w *window) float64 { return w.ready }))),
			limit:    m.size.CPULimit,
			mean:     of(func(w *window) float64 { return w.mean }),
			weight:   min(1, math.Sqrt(float64(len(part))/20)),
		}
		for q := range pt.quantiles {
			pt.quantiles[q] = of(func(w *window) float64 { return w.quantiles[q] })
		}
		for k := range g.kinds {
			v := g.kinds[k].visits[i]
			pt.kinds = append(pt.kinds, of(func(w *window) float64 { return v * p.entryRate(k, w) / w.ready }))
		}
		pt.load = m.busy(pt.rate * heaviness(m.demand.work, pt.kinds))
		for _, c := range callees {
			pt.callees = append(pt.callees, p.calleeAt(c, part[0].w.to-part[0].w.from, func(yield func(int) bool) {
				for _, s := range part {
					if !yield(s.w.from) {
						return
					}
				}
			}))
		}
		points = append(points, pt)
	}
	return points
}

// entryRate is the rate of a kind of request in a window.
func (p *past) entryRate(k int, w *window) float64 {
	sum, n := 0.0, 0
	for i := w.from; i < w.to; i++ {
		if v := value(p.entries[k].rate, i); !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// calleeAt is the time of a callee in some windows; 0 if it was not measured.
func (p *past) calleeAt(service, steps int, windows func(func(int) bool)) calleeTime {
	t := p.tracks[service]
	of := func(f func(*window) float64) float64 {
		sum, n := 0.0, 0
		for from := range windows {
			if k := from / steps; k < len(t.windows) {
				if v := f(&t.windows[k]); v > 0 {
					sum += v
					n++
				}
			}
		}
		return sum / float64(n)
	}
	mean := of(func(w *window) float64 { return w.mean })
	if math.IsNaN(mean) {
		return calleeTime{}
	}
	p50, p90, p99 := of(func(w *window) float64 { return w.quantiles[0] }), of(func(w *window) float64 { return w.quantiles[1] }),
		of(func(w *window) float64 { return w.quantiles[3] })
	switch {
	case math.IsNaN(p99):
		return calleeTime{mean: mean, cv: 1}
	case p99 < stallTail*mean || math.IsNaN(p50+p90):
		return calleeTime{mean: mean, cv: lognormalCV(p99 / mean)}
	}
	// No lognormal has such a tail: a few visits stall, as under a CPU quota. The others follow
	// from the lower percentiles.
	sigma := math.Log(max(p90/p50, 1)) / 1.2816
	quick := min(p50*math.Exp(sigma*sigma/2), mean)
	stall := 0.8 * p99
	return calleeTime{mean: quick, cv: math.Sqrt(math.Exp(sigma*sigma) - 1), stall: stall, odds: round(min((mean-quick)/stall, 0.1), 4)}
}

// stallTail is the ratio of the 99th percentile to the mean above which some visits must have
// stalled.
const stallTail = 6

// lognormalCV is the variation of the lognormal whose 99th percentile is the given multiple of
// its mean.
func lognormalCV(tail float64) float64 {
	const z = 2.326
	root := z*z - 2*math.Log(max(tail, 1))
	sigma := z - math.Sqrt(max(root, 0))
	return min(math.Sqrt(math.Exp(sigma*sigma)-1), 5)
}

// callees of a service, over all kinds, each once.
func (g *graph) callees(i int) []int {
	var list []int
	for k := range g.kinds {
		for _, c := range g.kinds[k].calls[i] {
			if !slices.Contains(list, c.service) {
				list = append(list, c.service)
			}
		}
	}
	slices.Sort(list)
	return list
}

// whole is the mean, stalls included.
func (s calleeTime) whole() float64 { return s.mean + s.odds*s.stall }
