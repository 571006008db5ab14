package policy

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// sizing chooses the CPU request of a service's pods. Each pod costs its idle CPU, which calls for
// large pods; replicas are whole, so that half a pod is spare on average, which calls for small
// ones. With a demand of D cores at a utilisation u, pods of request r cost
//
//	D/(r*u)*idle/u + r/2,  least at  r = sqrt(2*idle*D) / u
//
// as with the economic order quantity. A resize is charged: it must save resizeSaves of the
// service's requests, and there is at most one in resizeEvery.
type sizing struct {
	demand  float64 // cores without idle CPU, as a slow average
	begun   time.Time
	changed time.Time
	asked   float64 // request that was asked for last; 0 = none
	refused bool    // it was not applied: requests are not to be changed
}

const (
	// demandGain of a sample: half of the weight is gone after 23 minutes at a period of 15 s.
	demandGain = 0.0075
	// sizedAfter is how long demand is measured before the first resize.
	sizedAfter  = 5 * time.Minute
	resizeEvery = 30 * time.Minute
	resizeSaves = 0.05
	// refusedAfter is when a resize that was not applied is given up: a decision is applied
	// within a period.
	refusedAfter = 2 * time.Minute
	// largestPod and smallestPod in cores: an eighth of a node of 4 cores, so that pods pack, and
	// what container runtimes and probes need.
	largestPod, smallestPod = 0.5, 0.02
)

// learn the demand at this moment, and whether the last resize was applied.
func (z *sizing) learn(now time.Time, cores float64, in loadline.Allocation) {
	if z.begun.IsZero() {
		z.begun, z.demand = now, cores
	}
	z.demand += demandGain * (cores - z.demand)
	switch {
	case z.asked == 0:
	case math.Abs(in.Size.CPURequest-z.asked) < 1e-3: // rounded to whole millicores
		z.asked = 0
	case now.Sub(z.changed) >= refusedAfter:
		z.refused = true
	}
}

// request is the size that pods should have, if it is worth a change from the present one.
func (z *sizing) request(now time.Time, service *loadline.Service, d *cpuModel, utilisation, present float64, ready int,
	load float64) (float64, bool) {
	if z.refused || z.asked != 0 || present <= 0 || now.Sub(z.begun) < sizedAfter {
		return 0, false
	}
	if !z.changed.IsZero() && now.Sub(z.changed) < resizeEvery {
		return 0, false
	}
	best := math.Sqrt(2*d.idle*z.demand) / utilisation
	best = max(best, smallestPod, 2*d.idle/utilisation)
	if service.Bounds.MinReplicas > 1 || z.demand < best { // a few pods: they need not be larger than their part
		each := (z.demand/float64(max(service.Bounds.MinReplicas, 1)) + d.idle) / utilisation
		best = min(best, max(each*1.25, smallestPod))
	}
	best = min(max(best, service.Bounds.MinCPU), largestPod)
	if most := service.Bounds.MaxCPU; most > 0 {
		best = min(best, most)
	}
	best = math.Ceil(best*100-1e-9) / 100
	saves := 1 - z.cost(d, best, utilisation)/z.cost(d, present, utilisation)
	enough := float64(ready)*(best*utilisation-d.idle) >= load // the replicas follow once it is applied
	if saves < resizeSaves || best < present && !enough {
		return 0, false
	}
	z.asked, z.changed = best, now
	return best, true
}

// cost in requested cores of pods of a request at the usual demand.
func (z *sizing) cost(d *cpuModel, request, utilisation float64) float64 {
	capacity := max(request*utilisation-d.idle, 0.1*request)
	return max(z.demand/capacity+0.5, 1) * request
}
