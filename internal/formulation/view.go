package formulation

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// view is one service in one situation.
type view struct {
	topology  *ServiceTopology
	service   *loadline.Service
	situation loadline.Situation
	index     int
	observed  *loadline.ServiceObservation
	desired   loadline.Allocation // plans in flight included
	budget    loadline.SLO
	follow    bool // requests follow what is used
}

func newView(g *Topology, s loadline.Situation, service int) view {
	v := view{
		topology: &g.Services[service], service: &g.App.Services[service], situation: s, index: service,
		observed: &s.Now().Services[service], desired: s.InFlight[service], budget: g.Services[service].Budget,
	}
	if len(s.PartialSLO) > service {
		v.budget = s.PartialSLO[service]
	}
	return v
}

// serving is the number of replicas that serve now.
func (v *view) serving() float64 { return float64(v.observed.ReadyPods()) }

// requested is the CPU request of a replica, or what stands in for it.
func (v *view) requested() float64 {
	switch size := v.desired.Size; {
	case size.CPURequest > 0:
		return size.CPURequest
	case size.CPULimit > 0:
		return size.CPULimit
	}
	return 1
}

// capacity is the CPU that a replica can use at most.
func (v *view) capacity() float64 {
	if limit := v.desired.Size.CPULimit; limit > 0 {
		return limit
	}
	return max(v.requested(), 1)
}

// needed is the CPU that the visits ask for, in replicas that are busy all the
// time.
func (v *view) needed(rate float64) float64 { return rate * v.topology.CPU / v.capacity() }

// latency at the budget's percentile, or the nearest above it that is measured.
func (v *view) latency() loadline.Sample {
	l := &v.observed.Latency
	switch p := v.budget.Percentile; {
	case p <= 50:
		return l.P50
	case p <= 90:
		return l.P90
	case p <= 95:
		return l.P95
	}
	return l.P99
}

// earlier is the rate of visits as it was about so long ago, or as long ago as
// the window reaches.
func (v *view) earlier(ago time.Duration) loadline.Sample {
	now := v.situation.Now().At
	for i := len(v.situation.Window) - 1; i >= 0; i-- {
		o := &v.situation.Window[i]
		if now.Sub(o.At) >= ago || i == 0 {
			return o.Services[v.index].Rate
		}
	}
	return loadline.Sample{}
}

// ratio of two figures; absent where it makes no sense.
func ratio(a, b float64) (float64, bool) {
	r := a / b
	return r, !math.IsNaN(r) && !math.IsInf(r, 0)
}
