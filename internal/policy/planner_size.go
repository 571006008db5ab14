package policy

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// sizing chooses the CPU request of a service's pods. Each pod costs its idle CPU and its memory,
// which calls for large pods; replicas are whole, so that half a pod is spare on average, which
// calls for small ones. With a usual demand of D cores at a utilisation u, pods of request r and
// memory m (in cores of the same price) cost
//
//	(D / (r*u - idle) + 1/2) * (r + m)
//
// A resize is charged: it must save resizeSaves of that, there is at most one in resizeEvery, and
// none is by more than a factor of resizeAtMost, since larger pods need room on their nodes before
// there are fewer of them.
type sizing struct {
	demand  float64 // cores without idle CPU, as a slow average
	begun   time.Time
	changed time.Time
	asked   float64 // request that was asked for last; 0 = none
	refused bool    // it was not applied: requests are not to be changed
	held    float64 // request that the replicas need which a callee holds the service to; 0 = none
}

const (
	// demandGain of a sample: half of the weight is gone after 23 minutes at a period of 15 s.
	demandGain = 0.0075
	// sizedAfter is how long demand is measured before the first resize.
	sizedAfter   = 5 * time.Minute
	resizeEvery  = 15 * time.Minute
	resizeSaves  = 0.05
	resizeAtMost = 1.5
	// heldSlack is by how much the request of held replicas may be short.
	heldSlack = 1.05
	// coresPerGiB is the price of memory in cores: list prices of GKE's N2, which are OpenCost's
	// defaults (docs/cluster.md).
	coresPerGiB = 0.004237 / 0.031611
	// sizeStep is the grid of requests, in cores.
	sizeStep = 0.01
	// refusedAfter is when a resize that was not applied is given up: a decision is applied
	// within a period.
	refusedAfter = 2 * time.Minute
	// largestPod and smallestPod in cores: an eighth of a node of 4 cores, so that pods pack, and
	// what container runtimes and probes need.
	largestPod, smallestPod = 0.5, 0.02
)

// learn the demand at this moment, and whether the last resize was applied.
func (z *sizing) learn(now time.Time, cores float64, in loadline.Allocation) {
	z.average(now, cores)
	switch {
	case z.asked == 0:
	case math.Abs(in.Size.CPURequest-z.asked) < 1e-3: // rounded to whole millicores
		z.asked = 0
	case now.Sub(z.changed) >= refusedAfter:
		z.refused = true
	}
}

// average takes the demand at this moment into the usual one.
func (z *sizing) average(now time.Time, cores float64) {
	if z.begun.IsZero() {
		z.begun, z.demand = now, cores
	}
	z.demand += demandGain * (cores - z.demand)
}

// request is the size that pods should have, if it is worth a change from the present one.
func (z *sizing) request(now time.Time, service *loadline.Service, d *cpuModel, utilisation float64, size loadline.Size,
	ready int, load float64) (float64, bool) {
	present := size.CPURequest
	if z.refused || z.asked != 0 || present <= 0 {
		return 0, false
	}
	if z.short(present) {
		z.asked, z.changed = math.Ceil(min(z.held, present*resizeAtMost)/sizeStep-1e-9)*sizeStep, now
		if most := service.Bounds.MaxCPU; most > 0 {
			z.asked = max(min(z.asked, most), present)
		}
		return z.asked, true
	}
	if now.Sub(z.begun) < sizedAfter {
		return 0, false
	}
	if !z.changed.IsZero() && now.Sub(z.changed) < resizeEvery {
		return 0, false
	}
	memory := coresPerGiB * float64(size.MemoryRequest) / (1 << 30)
	low, high := max(service.Bounds.MinCPU, smallestPod, z.held), max(largestPod, present)
	if most := service.Bounds.MaxCPU; most > 0 {
		high = min(high, most)
	}
	usual := z.cost(service, d, present, memory, utilisation)
	best, least := present, usual
	for step := math.Ceil(low/sizeStep - 1e-9); step*sizeStep <= high+1e-9; step++ {
		if cost := z.cost(service, d, step*sizeStep, memory, utilisation); cost < least {
			best, least = step*sizeStep, cost
		}
	}
	saves := 1 - least/usual
	best = math.Ceil(min(max(best, present/resizeAtMost), present*resizeAtMost)/sizeStep-1e-9) * sizeStep
	enough := float64(ready)*(best*utilisation-d.idle) >= load // the replicas follow once it is applied
	if saves < resizeSaves || best < present && !enough {
		return 0, false
	}
	z.asked, z.changed = best, now
	return best, true
}

// short: replicas that are held need larger pods.
func (z *sizing) short(present float64) bool { return z.held > heldSlack*present }

// cost of pods of a request at the usual demand, in cores.
func (z *sizing) cost(service *loadline.Service, d *cpuModel, request, memory, utilisation float64) float64 {
	capacity := max(request*utilisation-d.idle, 0.1*request)
	return max(z.demand/capacity+0.5, float64(service.Bounds.MinReplicas), 1) * (request + memory)
}
