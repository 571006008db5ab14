package profile

import (
	"fmt"
	"math"
	"sort"
)

// Curve is the usable form of a profile: latency against load, monotone,
// piecewise linear. Latencies of queues are convex, so a straight line between
// two measured points is above them: it is conservative.
//
// Below the first point the latency is that of the first; beyond the last, which is
// the highest load that was measured and not saturated, there is none.
type Curve struct {
	Loads     []float64 `json:"loads"`     // visits per second and instance, rising
	Latencies []float64 `json:"latencies"` // seconds, never falling
}

// Curve returns the curve of a profile. It is an error if no point is usable.
func (p *Profile) Curve() (*Curve, error) {
	if p == nil || len(p.Points) == 0 {
		return nil, ErrAbsent
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	c := &Curve{}
	var weights []float64
	for _, pt := range p.Points {
		if pt.Saturated {
			break // later points were measured beyond the end
		}
		c.Loads = append(c.Loads, pt.Load)
		c.Latencies = append(c.Latencies, pt.Latency)
		// One percent of the latency is blurred by a histogram anyway; without this a
		// point whose seeds happen to agree would outweigh all others.
		blur := 0.01 * pt.Latency
		weights = append(weights, 1/max(pt.Error*pt.Error+blur*blur, 1e-18))
	}
	if len(c.Loads) == 0 {
		return nil, fmt.Errorf("%s is saturated at the lowest load that was measured, %.4g visits/s: measure lower ones, or give its "+
			"instances more CPU", p.Service, p.Points[0].Load)
	}
	isotonic(c.Latencies, weights)
	return c, nil
}

// isotonic makes values monotone at the least weighted sum of squared changes:
// neighbours in the wrong order are pooled (Ayer and others, 1955). More load
// never makes a service faster, so decreases are noise.
func isotonic(values, weights []float64) {
	type pool struct {
		value, weight float64
		n             int
	}
	var pools []pool
	for i, v := range values {
		pools = append(pools, pool{v, weights[i], 1})
		for n := len(pools); n > 1 && pools[n-2].value > pools[n-1].value; n = len(pools) {
			a, b := pools[n-2], pools[n-1]
			w := a.weight + b.weight
			pools[n-2] = pool{(a.value*a.weight + b.value*b.weight) / w, w, a.n + b.n}
			pools = pools[:n-1]
		}
	}
	i := 0
	for _, p := range pools {
		for range p.n {
			values[i] = p.value
			i++
		}
	}
}

// At is the latency in seconds at a load; +Inf beyond the end of the curve.
func (c *Curve) At(load float64) float64 {
	last := len(c.Loads) - 1
	switch {
	case load <= c.Loads[0]:
		return c.Latencies[0]
	case !(load <= c.Loads[last]):
		return math.Inf(1)
	}
	i := sort.SearchFloat64s(c.Loads, load) // the first that is not below
	part := (load - c.Loads[i-1]) / (c.Loads[i] - c.Loads[i-1])
	return c.Latencies[i-1] + part*(c.Latencies[i]-c.Latencies[i-1])
}

// LoadAt is the inverse: the highest load at which a visit takes no longer than
// this; false if it takes longer at any.
func (c *Curve) LoadAt(latency float64) (float64, bool) {
	last := len(c.Loads) - 1
	if !(latency >= c.Latencies[0]) {
		return 0, false
	}
	if latency >= c.Latencies[last] {
		return c.Loads[last], true
	}
	i := sort.Search(last, func(i int) bool { return c.Latencies[i] > latency })
	part := (latency - c.Latencies[i-1]) / (c.Latencies[i] - c.Latencies[i-1])
	return c.Loads[i-1] + part*(c.Loads[i]-c.Loads[i-1]), true
}

// doubt is the relative standard error of the measured point nearest to a load.
func (p *Profile) doubt(load float64) float64 {
	nearest, doubt := math.Inf(1), 0.0
	for _, pt := range p.Points {
		if off := math.Abs(pt.Load - load); off < nearest && !pt.Saturated && pt.Latency > 0 {
			nearest, doubt = off, pt.Error/pt.Latency
		}
	}
	return doubt
}

// Least is the latency at the lowest load.
func (c *Curve) Least() float64 { return c.Latencies[0] }

// MaxLoad is the end of the curve.
func (c *Curve) MaxLoad() float64 { return c.Loads[len(c.Loads)-1] }
