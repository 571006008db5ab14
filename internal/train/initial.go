package train

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/loadline/loadline"
)

// Resize sets the initial size of a service in an episode.
type Resize func(rng *rand.Rand, service int, s *loadline.Service)

// NoCulprit is for episodes in which no service is underprovisioned on purpose.
const NoCulprit = -1

// tight is the probability that a service begins underprovisioned. One such service is
// enough to violate the SLO: with a higher probability no episode of an application with
// many services would begin without a violation.
const tight = 0.03

// Begin starts an episode with random replicas: enough for the load, rarely too few. A
// culprit, if there is one, is underprovisioned, and every other service is not.
func (a *Arena) Begin(rng *rand.Rand, culprit int) {
	a.begin(rng, func(service int) {
		if a.config.Resize != nil {
			a.config.Resize(rng, service, &a.app.Services[service])
		}
		utilisation := 0.15 + 0.55*rng.Float64()
		switch {
		case service == culprit:
			utilisation = 1.05 + 0.45*rng.Float64()
		case culprit == NoCulprit && rng.Float64() < tight:
			utilisation = 0.8 + 0.4*rng.Float64()
		}
		a.provision(service, utilisation, service == culprit)
	})
}

// demand is the CPU that a service's visits need at an instant of the episode, in cores.
func (a *Arena) demand(service int, at time.Duration) float64 {
	g := &a.topology.Services[service]
	rate := 0.0
	for k, visits := range g.Visits {
		if visits > 0 {
			users, _ := a.config.Load.Rate(k, a.start+at)
			rate += visits * users
		}
	}
	return rate * g.CPU
}

// capacity is the CPU that one replica can use, in cores.
func capacity(s *loadline.Service) float64 {
	if s.Size.CPULimit == 0 {
		return max(s.Size.CPURequest, 1)
	}
	return s.Size.CPULimit
}

// replicasWithin rounds up to whole replicas within the service's bounds, at least one.
func replicasWithin(s *loadline.Service, n float64) int {
	return min(max(int(math.Ceil(n)), 1, s.Bounds.MinReplicas), max(s.Bounds.MaxReplicas, 1))
}

// provision sets the replicas of a service for about the given utilisation. Where one
// replica is more than that, the culprit's CPU limit is lowered instead.
func (a *Arena) provision(service int, utilisation float64, culprit bool) {
	s, demand := &a.app.Services[service], a.demand(service, a.config.LookBack)
	s.Replicas = replicasWithin(s, demand/capacity(s)/utilisation)
	if culprit && s.Size.CPULimit > 0 {
		smaller := max(demand/utilisation/float64(s.Replicas), s.Bounds.MinCPU, 0.001)
		s.Size.CPULimit = min(smaller, s.Size.CPULimit)
		s.Size.CPURequest = min(s.Size.CPURequest, s.Size.CPULimit)
	}
}

// RandomSize draws CPU and memory from half to twice the application's own, so that an
// agent learns how smaller and larger replicas perform.
func RandomSize(rng *rand.Rand, _ int, s *loadline.Service) {
	cpu, memory := math.Exp2(2*rng.Float64()-1), math.Exp2(2*rng.Float64()-1)
	b, size := s.Bounds, &s.Size
	if size.CPULimit > 0 {
		limit := max(size.CPULimit*cpu, b.MinCPU)
		if b.MaxCPU > 0 {
			limit = min(limit, b.MaxCPU)
		}
		size.CPURequest = min(max(size.CPURequest*limit/size.CPULimit, b.MinCPU), limit)
		size.CPULimit = limit
	}
	if size.MemoryLimit > 0 {
		limit := max(float64(size.MemoryLimit)*memory, float64(b.MinMemory), 1.2*float64(s.Memory.Base))
		if b.MaxMemory > 0 {
			limit = min(limit, float64(b.MaxMemory))
		}
		request := max(float64(size.MemoryRequest)*limit/float64(size.MemoryLimit), float64(b.MinMemory))
		size.MemoryLimit, size.MemoryRequest = int64(limit), int64(min(request, limit))
	}
}

// randomCPU draws the CPU log-uniformly within the bounds.
func randomCPU(rng *rand.Rand, s *loadline.Service) loadline.Size {
	size := s.Size
	low, high := s.Bounds.MinCPU, s.Bounds.MaxCPU
	if low > 0 && high > low {
		cpu := math.Round(1000*low*math.Pow(high/low, rng.Float64())) / 1000
		size.CPURequest, size.CPULimit = cpu, cpu
	}
	return size
}
