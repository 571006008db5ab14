package resource

import (
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/loop"
)

// AllowedAxes are the axes on which a service may be changed. The zero value allows none.
type AllowedAxes struct {
	Replicas                   bool
	CPURequest, CPULimit       bool
	MemoryRequest, MemoryLimit bool
	Brownout                   bool
}

func allowedAxes(s *v1alpha1.Service) AllowedAxes {
	has := func(a v1alpha1.Axis) bool {
		return slices.Contains(s.Axes, a) || len(s.Axes) == 0 && a == v1alpha1.Horizontal
	}
	cpu, memory := s.Bounds.CPU != nil, s.Bounds.Memory != nil
	return AllowedAxes{
		Replicas:      has(v1alpha1.Horizontal),
		CPURequest:    cpu && has(v1alpha1.VerticalRequests),
		CPULimit:      cpu && has(v1alpha1.VerticalLimits),
		MemoryRequest: memory && has(v1alpha1.VerticalRequests),
		MemoryLimit:   memory && has(v1alpha1.VerticalLimits),
		Brownout:      s.Optional != nil && has(v1alpha1.Horizontal),
	}
}

// Axes is a guard: it drops changes that the user's axes do not allow, service by
// service.
type Axes []AllowedAxes

// Around puts the guard before the others, so that they consider only allowed
// changes, and after them, so that none of them adds a change that is not
// allowed.
func (g Axes) Around(guards []loop.Guard) []loop.Guard {
	return slices.Concat([]loop.Guard{g}, guards, []loop.Guard{g})
}

// Name returns the guard's name in records.
func (Axes) Name() string { return "axes" }

// Check drops changes that are not allowed. A request stays below a limit that
// may not be changed.
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
	return want, "not allowed by the resource's axes: " + strings.Join(kept, ", ")
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
