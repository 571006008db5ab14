package profile

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/loadline/loadline/internal/history"
)

// ServiceHistory is a service's history as windows: one for each usable step.
type ServiceHistory struct {
	Service string
	Windows []Window // by time
	Failing []bool   // more visits failed in it than the percentile allows: it has no latency
	// Growing marks windows whose queue grew or shrank by more than a hundredth of
	// their visits: then the latency depends on the queue, not on the load.
	Growing []bool
	// IncludesCalls means that the latencies include calls to others: histories have
	// no other, so only services without calls have their own latency.
	IncludesCalls bool
	Skipped       Skipped
}

// Skipped counts what was left out, and why.
type Skipped struct {
	Missing int `json:"missing,omitempty"` // steps without rate, latency, replicas or size
	Few     int `json:"few,omitempty"`     // with fewer visits than it takes for one to lie beyond the percentile
	Moving  int `json:"moving,omitempty"`  // in which replicas or sizes changed, and the one after
}

// String lists it.
func (l Skipped) String() string {
	return fmt.Sprintf("%d steps have missing values, %d have too few visits, in %d replicas or sizes change", l.Missing, l.Few, l.Moving)
}

// Percentiles available in histories.
func Percentiles() []float64 { return []float64{50, 90, 95, 99} }

var percentileMetrics = map[float64]history.ServiceMetric{
	50: history.LatencyP50, 90: history.LatencyP90, 95: history.LatencyP95, 99: history.LatencyP99,
}

// NewServiceHistory returns the windows of a service in a history.
func NewServiceHistory(h *history.History, service string, percentile float64) (*ServiceHistory, error) {
	s := h.Service(service)
	if s == nil {
		return nil, fmt.Errorf("the history has no service %q", service)
	}
	metric, known := percentileMetrics[percentile]
	if !known {
		return nil, fmt.Errorf("histories have no latency at percentile %v: choose one of %v", percentile, Percentiles())
	}
	p := &ServiceHistory{Service: service, IncludesCalls: callsOthers(h, service)}
	latencies, replicas := s.Series[metric], s.Series[history.Ready]
	if replicas.Present() == 0 {
		replicas = s.Series[history.Desired]
	}
	last := struct {
		size     Size
		replicas float64
		known    bool
	}{}
	inside := newInside(s)
	for i := range h.Steps {
		grown := inside.grown(i)
		rate, measured := s.Series[history.Rate].Get(i)
		n, counted := replicas.Get(i)
		size, sized := sizeAt(s, i)
		if !measured || !counted || !sized {
			p.Skipped.Missing++
			last.known = false
			continue
		}
		// A step in which pods were added or removed has a mean of both; in the next one
		// queues drain.
		still := n == float64(int(n)) && n > 0 && last.known && last.replicas == n && last.size == size
		last.size, last.replicas, last.known = size, n, true
		if !still {
			p.Skipped.Moving++
			continue
		}
		visits := rate * h.Step.Seconds()
		if visits*(1-percentile/100) < 1 {
			p.Skipped.Few++
			continue
		}
		errors, _ := s.Series[history.Errors].Get(i)
		failing := errors > rate*(1-percentile/100)
		latency, present := latencies.Get(i)
		if !present && !failing {
			p.Skipped.Missing++
			continue
		}
		p.Windows = append(p.Windows, Window{At: h.At(i), Load: rate / n, Latency: latency, Visits: visits, Size: size})
		p.Failing = append(p.Failing, failing)
		p.Growing = append(p.Growing, grown > max(growthShare*visits, growthLeast))
	}
	return p, nil
}

const (
	growthShare = 0.01
	growthLeast = 3 // visits: fewer vary at random
)

// inside returns how many visits are in a service, from the history or from rate
// and mean latency.
type inside struct {
	of    *history.Service
	last  float64
	known bool
}

func newInside(s *history.Service) *inside { return &inside{of: s} }

// grown is the change of visits since the step before; 0 if not known.
func (n *inside) grown(i int) float64 {
	now, known := n.of.Series[history.Concurrency].Get(i)
	if !known {
		rate, measured := n.of.Series[history.Rate].Get(i)
		mean, timed := n.of.Series[history.LatencyMean].Get(i)
		now, known = rate*mean, measured && timed
	}
	by := 0.0
	if known && n.known {
		by = max(now-n.last, n.last-now)
	}
	n.last, n.known = now, known
	return by
}

// callsOthers reports whether a service calls any other, or may: if no calls were
// measured at all that is unknown.
func callsOthers(h *history.History, service string) bool {
	return len(h.Calls) == 0 || slices.ContainsFunc(h.Calls, func(c history.Calls) bool {
		r, any := c.Series[history.CallRate].Range()
		return c.From == service && (!any || r.Max > 0)
	})
}

// sizeAt is the size of the instances. Absent limits mean none; a history without
// requests has no sizes, and all of it then counts as one size.
func sizeAt(s *history.Service, i int) (Size, bool) {
	var z Size
	cpu, known := s.Series[history.CPURequest].Get(i)
	if !known && s.Series[history.CPURequest].Present() > 0 {
		return z, false
	}
	if known {
		z.CPURequest = decimal(cpu)
	}
	if v, has := s.Series[history.CPULimit].Get(i); has {
		z.CPULimit = decimal(v)
	}
	if v, has := s.Series[history.MemoryRequest].Get(i); has {
		z.MemoryRequest = int64(v)
	}
	if v, has := s.Series[history.MemoryLimit].Get(i); has {
		z.MemoryLimit = int64(v)
	}
	return z, true
}

// decimal is the number as written by the user: histories store 0.2 in single
// precision.
func decimal(v float64) float64 {
	d, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 32), 64)
	if err != nil {
		return v
	}
	return d
}
