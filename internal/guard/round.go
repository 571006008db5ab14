package guard

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Round is a guard that rounds sizes up to whole millicores and MiB. Without it a pod
// would never have exactly the desired size, and would be resized in every pass.
type Round struct{}

// Name returns the name of the guard in records.
func (Round) Name() string { return "round" }

// Check rounds the sizes of a setting up, within the bounds.
func (Round) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	b := s.App.Services[service].Bounds
	got := want
	for _, o := range []*loadline.Opt[float64]{&got.CPURequest, &got.CPULimit} {
		if o.Set {
			o.Value = atMost(math.Ceil(o.Value*1000-1e-6)/1000, b.MaxCPU)
		}
	}
	for _, o := range []*loadline.Opt[int64]{&got.MemoryRequest, &got.MemoryLimit} {
		if o.Set {
			o.Value = atMost((o.Value+1<<20-1)>>20<<20, b.MaxMemory)
		}
	}
	if got == want {
		return want, ""
	}
	return got, "rounded to whole millicores and MiB"
}

// atMost limits a value to an upper bound; 0 = none.
func atMost[T int64 | float64](v, most T) T {
	if most > 0 {
		return min(v, most)
	}
	return v
}
