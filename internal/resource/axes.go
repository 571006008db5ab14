package resource

import (
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/loop"
)

// Permit is what may be moved of a service. The zero Permit is nothing.
type Permit struct {
	Replicas                   bool
	CPURequest, CPULimit       bool
	MemoryRequest, MemoryLimit bool
	Brownout                   bool
}

func permit(s *v1alpha1.Service) Permit {
	has := func(a v1alpha1.Axis) bool {
		return slices.Contains(s.Axes, a) || len(s.Axes) == 0 && a == v1alpha1.Horizontal
	}
	cpu, memory := s.Bounds.CPU != nil, s.Bounds.Memory != nil
	return Permit{
		Replicas:      has(v1alpha1.Horizontal),
		CPURequest:    cpu && has(v1alpha1.VerticalRequests),
		CPULimit:      cpu && has(v1alpha1.VerticalLimits),
		MemoryRequest: memory && has(v1alpha1.VerticalRequests),
		MemoryLimit:   memory && has(v1alpha1.VerticalLimits),
		Brownout:      s.Optional != nil && has(v1alpha1.Horizontal),
	}
}

// Axes is a guard: it leaves as it is what the user did not give into our hands,
// service by service.
type Axes []Permit

// Around puts the guard before the others, so that they reckon with what can be
// done, and behind them, so that none of them adds what may not be.
func (g Axes) Around(guards []loop.Guard) []loop.Guard {
	return slices.Concat([]loop.Guard{g}, guards, []loop.Guard{g})
}

// Name of the guard in records.
func (Axes) Name() string { return "axes" }

// Check takes out what may not be moved. A request stays under a limit that cannot
// follow it.
func (g Axes) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	p := g[service]
	var kept []string
	drop(&want.Replicas, p.Replicas, "replicas", &kept)
	drop(&want.CPULimit, p.CPULimit, "CPU limit", &kept)
	drop(&want.MemoryLimit, p.MemoryLimit, "memory limit", &kept)
	drop(&want.CPURequest, p.CPURequest, "CPU request", &kept)
	drop(&want.MemoryRequest, p.MemoryRequest, "memory request", &kept)
	drop(&want.Brownout, p.Brownout, "brownout", &kept)
	is := s.InFlight[service].Size
	under(&want.CPURequest, p.CPULimit, is.CPULimit, "CPU request above its limit", &kept)
	under(&want.MemoryRequest, p.MemoryLimit, is.MemoryLimit, "memory request above its limit", &kept)
	if len(kept) == 0 {
		return want, ""
	}
	return want, "not ours to move by the resource's axes: " + strings.Join(kept, ", ")
}

func drop[T any](o *loadline.Opt[T], allowed bool, name string, kept *[]string) {
	if o.Set && !allowed {
		*o = loadline.Opt[T]{}
		*kept = append(*kept, name)
	}
}

func under[T int64 | float64](request *loadline.Opt[T], limitMoves bool, limit T, name string, kept *[]string) {
	if request.Set && !limitMoves && limit > 0 && request.Value > limit {
		request.Value = limit
		*kept = append(*kept, name)
	}
}
