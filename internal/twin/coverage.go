package twin

import (
	"math"
	"slices"
)

// coverage is the range of a service's measurements in the fitted part.
type coverage struct {
	lowest, highest float64 // requests per second, of one replica
	busiest         float64 // share of the CPU limit
	replicas        []int   // counts that served, sorted
}

// coverage covers all windows with constant replicas since the last change of CPU per request.
func (t *track) coverage(p *past, m *model) coverage {
	c := coverage{lowest: math.Inf(1)}
	for i := range t.windows {
		w := &t.windows[i]
		if !w.even || math.IsNaN(w.rate) {
			continue
		}
		if n := int(math.Round(w.ready)); !slices.Contains(c.replicas, n) {
			c.replicas = append(c.replicas, n)
		}
		if w.from < m.demand.from {
			continue
		}
		c.lowest, c.highest = min(c.lowest, w.rate/w.ready), max(c.highest, w.rate/w.ready)
	}
	slices.Sort(c.replicas)
	c.lowest = min(c.lowest, c.highest)
	c.busiest = m.busy(c.highest)
	if len(c.replicas) < 2 {
		m.notes.warn("service %s: fewer than two replica counts occurred (%v): that CPU spreads evenly over replicas (the linear "+
			"model's CPU' = CPU*r/r') is untested. A history with several replica counts would test it", t.name, c.replicas)
	}
	return c
}

// slack is how far beyond the measured range still counts as measured.
const slack = 0.02

// Extrapolates reports whether a load of one replica, in requests per second, is outside the
// measured range of a service. There the twin follows from queueing theory and has not been
// compared with a measurement. An unknown service was never measured.
func (t *Twin) Extrapolates(service string, ratePerReplica float64) bool {
	for i := range t.Report.Services {
		if r := &t.Report.Services[i]; r.Service == service {
			return ratePerReplica < float64(r.LowestRate)*(1-slack) || ratePerReplica > float64(r.HighestRate)*(1+slack)
		}
	}
	return true
}
