package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
)

// vpaConfig is the configuration of the recommender and the updater.
type vpaConfig struct {
	cpu, memory  bool // which resources it controls
	quantile     float64
	margin       float64
	halfLife     time.Duration
	history      time.Duration // assumed length of the history before the start
	leastCPU     float64       // cores
	leastMemory  float64       // bytes
	bump         vpaBump
	recreate     bool          // a pod whose resize has no room is evicted
	lifetime     time.Duration // of a pod, after which small changes are made too
	changeAtLast float64       // relative; the smallest change that is made then
}

const (
	vpaLower = 0.5
	vpaUpper = 0.95
)

// estimate is the recommendation for one resource.
type estimate struct{ target, lower, upper float64 }

// outside reports whether a request must change.
func (e estimate) outside(request float64) bool {
	return request <= 0 || request < e.lower || request > e.upper
}

// confidence is the days of history, or less if there are few samples: one per minute is
// expected.
func (c vpaConfig) confidence(u *vpaUsage) float64 {
	days := (u.last.Sub(u.first) + c.history).Hours() / 24
	samples := float64(u.samples)/(24*60) + c.history.Hours()/24
	return min(days, samples)
}

// estimate of a resource, within the user's bounds. With little history the lower bound is
// close to zero and the upper one far away, so that nothing changes without need.
func (c vpaConfig) estimate(h *decayingHistogram, confidence, least, low, high float64) estimate {
	bound := func(v float64) float64 {
		v = max(v, least, low)
		if high > 0 {
			v = min(v, high)
		}
		return v
	}
	margin := 1 + c.margin
	return estimate{
		target: bound(h.quantile(c.quantile) * margin),
		lower:  bound(h.quantile(vpaLower) * margin * math.Pow(1+0.001/confidence, -2)),
		upper:  bound(h.quantile(vpaUpper) * margin * (1 + 1/confidence)),
	}
}

func (c vpaConfig) estimates(u *vpaUsage, b loadline.Bounds) (cpu, memory estimate) {
	confidence := c.confidence(u)
	cpu = c.estimate(&u.cpu, confidence, c.leastCPU, b.MinCPU, b.MaxCPU)
	memory = c.estimate(&u.memory, confidence, c.leastMemory, float64(b.MinMemory), float64(b.MaxMemory))
	return cpu, memory
}

// verdict is the updater's decision.
type verdict struct {
	act    bool
	reason string
}

// judge requires a change if a request is outside its bounds, if a pod was killed soon after
// its start, or if a pod is old enough and the change is large enough.
func (c vpaConfig) judge(cpu, memory estimate, size loadline.Size, oldest time.Duration, killed bool) verdict {
	request := [2]float64{size.CPURequest, float64(size.MemoryRequest)}
	change := 0.0
	for i, e := range [2]estimate{cpu, memory} {
		if !c.controls(i) {
			continue
		}
		if e.outside(request[i]) {
			return verdict{true, fmt.Sprintf("%s request %s is outside %s to %s: p%g of past use plus %g %% is %s",
				vpaNames[i], vpaAmount(i, request[i]), vpaAmount(i, e.lower), vpaAmount(i, e.upper), 100*c.quantile, 100*c.margin,
				vpaAmount(i, e.target))}
		}
		change += math.Abs(request[i]-e.target) / request[i]
	}
	switch {
	case killed && change > 0:
		return verdict{true, "a pod ran out of memory soon after its start: the memory request becomes " + vpaAmount(1, memory.target)}
	case oldest < c.lifetime:
		return verdict{false, "requests are within their bounds, up to " + vpaAmount(0, cpu.upper) + " and " + vpaAmount(1, memory.upper)}
	case change < c.changeAtLast:
		return verdict{false, fmt.Sprintf("requests are within their bounds and would change by %.0f %%", 100*change)}
	}
	return verdict{true, fmt.Sprintf("requests are within their bounds, but %.0f %% off their targets of %s and %s, on a pod of %v",
		100*change, vpaAmount(0, cpu.target), vpaAmount(1, memory.target), oldest.Round(time.Hour))}
}

func (c vpaConfig) controls(resource int) bool { return [...]bool{c.cpu, c.memory}[resource] }

var vpaNames = [...]string{"CPU", "memory"}

func vpaAmount(resource int, v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "infinity"
	case resource == 0:
		return fmt.Sprintf("%.3g cores", v)
	}
	return fmt.Sprintf("%.0f MiB", v/(1<<20))
}

// setting moves the requests to their targets, and the limits in proportion to those of the
// application, as far as the bounds allow.
func (c vpaConfig) setting(cpu, memory estimate, service *loadline.Service) loadline.Setting {
	var s loadline.Setting
	if c.cpu {
		request := math.Ceil(cpu.target*1000-1e-6) / 1000 // whole milli-cores
		s.CPURequest = loadline.Some(request)
		s.CPULimit = inProportion(request, service.Size.CPURequest, service.Size.CPULimit, service.Bounds.MaxCPU)
	}
	if c.memory {
		s.MemoryRequest = loadline.Some(int64(math.Ceil(memory.target)))
		limit := inProportion(math.Ceil(memory.target), float64(service.Size.MemoryRequest), float64(service.Size.MemoryLimit),
			float64(service.Bounds.MaxMemory))
		s.MemoryLimit = loadline.Opt[int64]{Value: int64(limit.Value), Set: limit.Set}
	}
	return s
}

// inProportion keeps the ratio of limit to request, if there is a limit.
func inProportion(request, wasRequest, wasLimit, highest float64) loadline.Opt[float64] {
	if wasLimit <= 0 {
		return loadline.Opt[float64]{}
	}
	limit := request
	if wasRequest > 0 {
		limit = request * wasLimit / wasRequest
	}
	if highest > 0 {
		limit = min(limit, highest)
	}
	return loadline.Some(limit)
}
