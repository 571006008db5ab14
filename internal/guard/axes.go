package guard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/suggest"
)

// Axes of a deployment, named as in the custom resource.
const (
	Horizontal       = "Horizontal"       // replicas
	VerticalRequests = "VerticalRequests" // CPU and memory requests of a replica
	VerticalLimits   = "VerticalLimits"   // CPU and memory limits of a replica
)

// AxisNames are the axes that a deployment can have.
func AxisNames() []string { return []string{Horizontal, VerticalRequests, VerticalLimits} }

// ParseAxes reads names of axes in any case. The result is without repetitions, in the order of
// AxisNames.
func ParseAxes(names []string) ([]string, error) {
	given := map[string]bool{}
	for _, name := range names {
		i := slices.IndexFunc(AxisNames(), func(known string) bool { return strings.EqualFold(known, strings.TrimSpace(name)) })
		if i < 0 {
			return nil, fmt.Errorf("unknown axis %q%s", name, suggest.Hint(name, AxisNames()))
		}
		given[AxisNames()[i]] = true
	}
	return slices.DeleteFunc(AxisNames(), func(name string) bool { return !given[name] }), nil
}

// AllowedAxes are the axes on which a service may be changed. The zero value allows none.
type AllowedAxes struct {
	Replicas                   bool
	CPURequest, CPULimit       bool
	MemoryRequest, MemoryLimit bool
	Brownout                   bool
}

// Allow is what a service may be changed on, given the names of its axes: resources without
// bounds are not scaled, and only an optional service is browned out.
func Allow(names []string, cpuBounds, memoryBounds, optional bool) AllowedAxes {
	has := func(name string) bool { return slices.Contains(names, name) }
	return AllowedAxes{
		Replicas:      has(Horizontal),
		CPURequest:    cpuBounds && has(VerticalRequests),
		CPULimit:      cpuBounds && has(VerticalLimits),
		MemoryRequest: memoryBounds && has(VerticalRequests),
		MemoryLimit:   memoryBounds && has(VerticalLimits),
		Brownout:      optional && has(Horizontal),
	}
}

// AxesFor gives every service of an application the named axes. Services named as optional may
// be browned out.
func AxesFor(app *loadline.App, names, optional []string) Axes {
	axes := make(Axes, len(app.Services))
	for i := range app.Services {
		s := &app.Services[i]
		axes[i] = Allow(names, s.Bounds.MaxCPU > 0, s.Bounds.MaxMemory > 0, slices.Contains(optional, s.Name))
	}
	return axes
}

// Axes is a guard: it drops changes that the user's axes do not allow, service by
// service.
type Axes []AllowedAxes

// AxesGuard is the name of the guard in records.
const AxesGuard = "axes"

// Around puts the guard before the others, so that they consider only allowed
// changes, and after them, so that none of them adds a change that is not
// allowed.
func (g Axes) Around(guards []loop.Guard) []loop.Guard {
	return slices.Concat([]loop.Guard{g}, guards, []loop.Guard{g})
}

// Name returns the guard's name in records.
func (Axes) Name() string { return AxesGuard }

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
