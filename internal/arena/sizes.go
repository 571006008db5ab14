package arena

import (
	"math"
	"math/rand/v2"

	"github.com/loadline/loadline"
)

// AnySize is from half to twice of what the application says, so that an agent sees
// what smaller and larger replicas do.
func AnySize(rng *rand.Rand, _ int, s *loadline.Service) {
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
