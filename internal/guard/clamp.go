package guard

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// Clamp limits every setting to the user's bounds. It is the last guard of every loop: no
// policy or guard can exceed them.
type Clamp struct{}

// Name returns the name of the guard in records.
func (Clamp) Name() string { return "clamp" }

// Check brings the setting within the service's bounds. A bound of 0 above is
// none. Something that is not a number is not set at all.
func (Clamp) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	b := s.App.Services[service].Bounds
	got := want
	var why reasons
	dropNaN(&got.CPURequest, "CPU request", &why)
	dropNaN(&got.CPULimit, "CPU limit", &why)
	within(&got.Replicas, max(b.MinReplicas, 0), b.MaxReplicas, false, "replicas", &why)
	within(&got.CPURequest, max(b.MinCPU, 0), b.MaxCPU, false, "CPU request", &why)
	within(&got.CPULimit, max(b.MinCPU, 0), b.MaxCPU, true, "CPU limit", &why)
	within(&got.MemoryRequest, max(b.MinMemory, 0), b.MaxMemory, false, "memory request", &why)
	within(&got.MemoryLimit, max(b.MinMemory, 0), b.MaxMemory, true, "memory limit", &why)

	// A request above its limit would be refused by the API.
	next := s.InFlight[service].With(got).Size
	if got.CPURequest.Set || got.CPULimit.Set {
		notAbove(&got.CPURequest, next.CPURequest, next.CPULimit, "CPU request", &why)
	}
	if got.MemoryRequest.Set || got.MemoryLimit.Set {
		notAbove(&got.MemoryRequest, next.MemoryRequest, next.MemoryLimit, "memory request", &why)
	}
	return got, strings.Join(why, "; ")
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
