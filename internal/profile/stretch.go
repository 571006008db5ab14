package profile

import (
	"math"
	"slices"
)

// A release that makes visits k times as much work, or an instance with 1/k of the CPU,
// stretches time: the latency at a load becomes k times the former latency at k times the load.
// One number then determines the whole new curve from a few windows at any load, which is why
// changes are searched, and curves fitted again, in terms of it. Other changes (a longer wait
// with the same work), and times that do not stretch (the kernel's 100 ms CPU quota period, the
// time of calls), are corrected where they were observed (bend) and estimated elsewhere.

// Stretch is the profile with visits that take k times the time and the work. The
// standard error of k adds to that of the points.
func (p *Profile) Stretch(k, standardError float64) *Profile {
	s := *p
	s.Points = slices.Clone(p.Points)
	curve, err := p.Curve()
	for i := range s.Points {
		pt := &s.Points[i]
		unsure := pt.Latency * standardError
		if err == nil && !pt.Saturated {
			unsure *= 1 + curve.slope(pt.Load)
		}
		pt.Load /= k
		pt.Latency *= k
		pt.Error = math.Hypot(pt.Error*k, unsure)
	}
	return &s
}

// stretch is the curve of a stretched profile.
func (c *Curve) stretch(k float64) *Curve {
	s := &Curve{Loads: slices.Clone(c.Loads), Latencies: slices.Clone(c.Latencies)}
	for i := range s.Loads {
		s.Loads[i] /= k
		s.Latencies[i] *= k
	}
	return s
}

// slope is how many percent the latency grows with one percent of load, over a
// tenth to either side, because the curve is straight between two points.
func (c *Curve) slope(load float64) float64 {
	low, high := load/1.1, min(load*1.1, c.MaxLoad())
	if !(high > low) {
		return 0
	}
	return max(0, math.Log(c.At(high)/c.At(low))/math.Log(high/low))
}

// mostStretch is beyond what any release does.
const mostStretch = 100

// stretchAt is the stretch, as its logarithm, that explains a latency at a load: the k with k
// times the latency at k times the load. If the latency is beyond the end of the curve, the
// service is saturated: then it is at least that of the end.
func (c *Curve) stretchAt(load, latency float64) float64 {
	low, high := 1/float64(mostStretch), min(mostStretch, c.MaxLoad()/load)
	if !(high*c.At(high*load) > latency) {
		return math.Log(high)
	}
	for range 50 {
		k := math.Sqrt(low * high)
		if k*c.At(k*load) > latency {
			high = k
		} else {
			low = k
		}
	}
	return math.Log(low)
}

// misfit is the possible distance of a stretched curve from the true one, as a
// relative deviation: a change is rarely a pure stretch, the less so the larger
// it is.
func misfit(k float64) float64 { return 0.05 + 0.3*math.Abs(math.Log(k)) }

// nearby is the ratio of two loads within which windows inform a point.
const nearby = 1.25

// bend moves the points of a stretched profile towards the windows near them,
// weighted by their certainty, and adds to the errors what remains unknown of the
// misfit.
func (p *Profile) bend(curve *Curve, windows []sight, spread, misfit float64) {
	for i := range p.Points {
		pt := &p.Points[i]
		if pt.Saturated {
			continue
		}
		weights, sum := 0.0, 0.0
		for j := range windows {
			w := &windows[j].window
			if w.Load > curve.MaxLoad() || w.Load > nearby*pt.Load || w.Load < pt.Load/nearby {
				continue
			}
			steep := 1 + curve.slope(w.Load)
			variance := noise(p.Percentile, w.Visits, steep-1) * steep * steep * spread
			far := 3 * math.Sqrt(variance+misfit*misfit)
			off := math.Log(w.Latency / curve.At(w.Load))
			weights += 1 / variance
			sum += min(max(off, -far), far) / variance
		}
		unknown := misfit * misfit / (1 + misfit*misfit*weights)
		pt.Latency *= math.Exp(sum * unknown)
		pt.Error = math.Hypot(pt.Error, pt.Latency*math.Sqrt(unknown))
	}
}
