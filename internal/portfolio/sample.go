package portfolio

import (
	"math"

	"github.com/loadline/loadline"
)

// Samples that are no ratio. Absent is not idle: an idle service was measured.
var (
	absent = math.NaN()
	idle   = math.Inf(-1)
)

// leastCount of visits within a sample, below which a service is idle: their mean says little.
const leastCount = 30

// mostRatio keeps ratios finite.
const mostRatio = 1000

// expect sets the visits per second that the twin has for the observed requests; NaN = requests were
// not measured.
func (m *Monitor) expect(o *loadline.Observation) {
	for i := range m.expected {
		sum := 0.0
		for k := range o.Kinds {
			visits := m.topology.Services[i].Visits[k]
			switch rate := o.Kinds[k].Rate; {
			case visits == 0:
			case !rate.Present():
				sum = absent
			default:
				sum += visits * rate.Value
			}
		}
		m.expected[i] = sum
	}
}

// cpuRatio is the CPU of a visit over the twin's. What replicas use without requests is not of
// visits.
func (m *Monitor) cpuRatio(i int, s *loadline.ServiceObservation) float64 {
	if !s.Rate.Present() || !s.CPU.Present() || m.services[i].cpu <= 0 {
		return absent
	}
	if s.Rate.Value*m.every.Seconds() < leastCount {
		return idle
	}
	used := s.CPU.Value - m.app.Services[i].IdleCPU*float64(s.ReadyPods())
	return bounded(used / s.Rate.Value / m.services[i].cpu)
}

// visitRatio is the visits of the observed requests over the twin's. Dropped optional calls are no
// change of the application.
func (m *Monitor) visitRatio(i int, o *loadline.Observation) float64 {
	rate := o.Services[i].Rate
	if !rate.Present() || math.IsNaN(m.expected[i]) {
		return absent
	}
	for j := range o.Services {
		if o.Services[j].Brownout {
			return absent
		}
	}
	if max(rate.Value, m.expected[i])*m.every.Seconds() < leastCount {
		return idle
	}
	return bounded(rate.Value / m.expected[i])
}

// busiest share of the capacity at which latencies are compared: beyond it, a little more load
// makes much longer ones.
const busiest = 0.7

// latencyRatio is the median time of a visit without its calls over the twin's at this load and
// allocation. The whole time serves for a service that makes no calls.
func (m *Monitor) latencyRatio(i int, s *loadline.ServiceObservation, a loadline.Allocation) float64 {
	own := s.Own.P50
	if !own.Present() && m.topology.Services[i].Below == 0 {
		own = s.Latency.P50
	}
	ready := s.ReadyPods()
	if !own.Present() || !s.Rate.Present() || ready == 0 || ready != a.Replicas {
		return absent
	}
	if s.Rate.Value*m.every.Seconds() < leastCount {
		return idle
	}
	twin, saturation, known := m.twin.Median(i, a, s.Rate.Value)
	if !known || !(s.Rate.Value <= busiest*saturation) || twin <= 0 {
		return absent
	}
	return bounded(own.Value / twin)
}

// loadRatio is the requests per second over the highest that was judged.
func (m *Monitor) loadRatio(o *loadline.Observation) float64 {
	if m.judged == nil || len(o.Kinds) == 0 {
		return absent
	}
	sum := 0.0
	for k := range o.Kinds {
		if !o.Kinds[k].Rate.Present() {
			return absent
		}
		sum += o.Kinds[k].Rate.Value
	}
	return bounded(sum / float64(m.judged.Peak))
}

func bounded(ratio float64) float64 {
	if math.IsNaN(ratio) {
		return absent
	}
	return min(max(ratio, 0), mostRatio)
}
