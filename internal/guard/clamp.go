package guard

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// Bounds brings what is wanted within the user's bounds, before the other guards: what
// it lowers passes them like any reduction. A service that is above its maximum is
// wanted at the maximum, even if the policy proposes nothing for it; so a maximum that
// was lowered is reached in guarded steps.
type Bounds struct{}

// Name returns the name of the guard in records.
func (Bounds) Name() string { return "bounds" }

// Check brings the setting within the service's bounds.
func (Bounds) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	b, is := s.App.Services[service].Bounds, &s.InFlight[service]
	if !want.Replicas.Set && b.MaxReplicas > 0 && is.Replicas > b.MaxReplicas && !is.Brownout {
		want.Replicas = loadline.Some(b.MaxReplicas)
		return want, fmt.Sprintf("%d replicas are above the maximum of %d", is.Replicas, b.MaxReplicas)
	}
	var why reasons
	inBounds(&want, b, &why)
	return want, strings.Join(why, "; ")
}

// Clamp holds every setting to the user's bounds. It is the last guard of every loop: no
// policy or guard can exceed them. A service that is above its maximum already, since
// that was lowered, stays where the guards before left it; AtOnce brings it down in one
// step instead.
type Clamp struct{ AtOnce bool }

// Name returns the name of the guard in records.
func (Clamp) Name() string { return "clamp" }

// Check brings the setting within the service's bounds. A bound of 0 above is
// none. Something that is not a number is not set at all.
func (g Clamp) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	b, is := s.App.Services[service].Bounds, &s.InFlight[service]
	if !g.AtOnce {
		b.MaxReplicas = reached(b.MaxReplicas, is.Replicas)
		b.MaxCPU = reached(b.MaxCPU, max(is.Size.CPURequest, is.Size.CPULimit))
		b.MaxMemory = reached(b.MaxMemory, max(is.Size.MemoryRequest, is.Size.MemoryLimit))
	}
	got := want
	if g.AtOnce && !got.Replicas.Set && !is.Brownout && b.MaxReplicas > 0 && is.Replicas > b.MaxReplicas {
		got.Replicas = loadline.Some(b.MaxReplicas)
	}
	if !g.AtOnce { // without a limit now, and none wanted: nothing to hold to a bound
		keepNone(&got.CPULimit, is.Size.CPULimit)
		keepNone(&got.MemoryLimit, is.Size.MemoryLimit)
	}
	var why reasons
	dropNaN(&got.CPURequest, "CPU request", &why)
	dropNaN(&got.CPULimit, "CPU limit", &why)
	inBounds(&got, b, &why)

	// A request above its limit would be refused by the API.
	next := is.With(got).Size
	if got.CPURequest.Set || got.CPULimit.Set {
		notAbove(&got.CPURequest, next.CPURequest, next.CPULimit, "CPU request", &why)
	}
	if got.MemoryRequest.Set || got.MemoryLimit.Set {
		notAbove(&got.MemoryRequest, next.MemoryRequest, next.MemoryLimit, "memory request", &why)
	}
	if got.Replicas.Set && !want.Replicas.Set {
		why = append(why, fmt.Sprintf("%d replicas are above the maximum of %d, which applies at once", is.Replicas, b.MaxReplicas))
	}
	return got, strings.Join(why, "; ")
}

// reached is the upper bound, or what is there already if that is more; 0 = none.
func reached[T int | int64 | float64](high, is T) T {
	if high <= 0 {
		return 0
	}
	return max(high, is)
}

// keepNone drops a limit of none where there is none.
func keepNone[T int64 | float64](o *loadline.Opt[T], is T) {
	if o.Set && o.Value == 0 && is == 0 {
		*o = loadline.Opt[T]{}
	}
}

// inBounds brings every axis of a setting within the bounds.
func inBounds(o *loadline.Setting, b loadline.Bounds, why *reasons) {
	within(&o.Replicas, max(b.MinReplicas, 0), b.MaxReplicas, false, "replicas", why)
	within(&o.CPURequest, max(b.MinCPU, 0), b.MaxCPU, false, "CPU request", why)
	within(&o.CPULimit, max(b.MinCPU, 0), b.MaxCPU, true, "CPU limit", why)
	within(&o.MemoryRequest, max(b.MinMemory, 0), b.MaxMemory, false, "memory request", why)
	within(&o.MemoryLimit, max(b.MinMemory, 0), b.MaxMemory, true, "memory limit", why)
}

type reasons []string

func dropNaN(o *loadline.Opt[float64], what string, why *reasons) {
	if o.Set && (math.IsNaN(o.Value) || math.IsInf(o.Value, 0)) {
		*why = append(*why, fmt.Sprintf("%s %v is not a number", what, o.Value))
		*o = loadline.Opt[float64]{}
	}
}

// within holds one axis. zeroIsNone: 0 means without a limit, which is above
// every bound, and without a bound is left as it is.
func within[T int | int64 | float64](o *loadline.Opt[T], low, high T, zeroIsNone bool, what string, why *reasons) {
	if !o.Set {
		return
	}
	v := o.Value
	switch {
	case zeroIsNone && v == 0:
		if high > 0 {
			v = high
		}
	case high > 0 && v > high:
		v = high
	case v < low:
		v = low
	}
	if v != o.Value {
		*why = append(*why, fmt.Sprintf("%s %v is outside %v to %v", what, o.Value, low, high))
		o.Value = v
	}
}

func notAbove[T cmp.Ordered](o *loadline.Opt[T], request, limit T, what string, why *reasons) {
	var none T
	if limit > none && request > limit {
		*why = append(*why, fmt.Sprintf("%s %v is above the limit %v", what, request, limit))
		*o = loadline.Some(limit)
	}
}
