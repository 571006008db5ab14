package guard_test

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

var bounded = loadline.Situation{
	App: &loadline.App{Services: []loadline.Service{{Bounds: loadline.Bounds{
		MinReplicas: 2, MaxReplicas: 10, MinCPU: 0.1, MaxCPU: 2, MinMemory: 1 << 20, MaxMemory: 1 << 30,
	}}}},
	InFlight: []loadline.Allocation{{Replicas: 3, Size: loadline.Size{CPURequest: 0.5, CPULimit: 1}}},
}

func TestClamp(t *testing.T) {
	some, cpu, mem := loadline.Some[int], loadline.Some[float64], loadline.Some[int64]
	for name, row := range map[string]struct{ want, got loadline.Setting }{
		"what is within the bounds passes":   {loadline.Setting{Replicas: some(4)}, loadline.Setting{Replicas: some(4)}},
		"unset stays unset":                  {loadline.Setting{}, loadline.Setting{}},
		"too few replicas become the fewest": {loadline.Setting{Replicas: some(-1)}, loadline.Setting{Replicas: some(2)}},
		"too many replicas become the most":  {loadline.Setting{Replicas: some(99)}, loadline.Setting{Replicas: some(10)}},
		"no limit is more than the bound":    {loadline.Setting{CPULimit: cpu(0)}, loadline.Setting{CPULimit: cpu(2)}},
		"not a number is not set":            {loadline.Setting{CPULimit: cpu(math.NaN())}, loadline.Setting{}},
		"infinite is not set":                {loadline.Setting{CPURequest: cpu(math.Inf(1))}, loadline.Setting{}},
		"a request stays below its limit":    {loadline.Setting{CPURequest: cpu(1.5)}, loadline.Setting{CPURequest: cpu(1)}},
		"a lower limit takes the request down": {loadline.Setting{CPULimit: cpu(0.3)},
			loadline.Setting{CPULimit: cpu(0.3), CPURequest: cpu(0.3)}},
		"memory has bounds too": {loadline.Setting{MemoryLimit: mem(1 << 40)}, loadline.Setting{MemoryLimit: mem(1 << 30)}},
	} {
		t.Run(name, func(t *testing.T) {
			got, why := guard.Clamp{}.Check(time.Time{}, bounded, 0, row.want)
			if got != row.got {
				t.Errorf("got %+v, want %+v", got, row.got)
			}
			if changed := row.want != row.got; changed != (why != "") {
				t.Errorf("changed: %v, and the reason is %q", changed, why)
			}
		})
	}
}

func FuzzClamp(f *testing.F) {
	f.Add(5, 0.5, 1.0, int64(1), int64(2))
	f.Add(-5, math.NaN(), math.Inf(-1), int64(-1), int64(0))
	f.Fuzz(func(t *testing.T, replicas int, request, limit float64, memRequest, memLimit int64) {
		got, _ := guard.Clamp{}.Check(time.Time{}, bounded, 0, loadline.Setting{
			Replicas: loadline.Some(replicas), CPURequest: loadline.Some(request), CPULimit: loadline.Some(limit),
			MemoryRequest: loadline.Some(memRequest), MemoryLimit: loadline.Some(memLimit),
		})
		next := bounded.InFlight[0].With(got)
		b := bounded.App.Services[0].Bounds
		if next.Replicas < b.MinReplicas || next.Replicas > b.MaxReplicas {
			t.Errorf("replicas %d", next.Replicas)
		}
		for _, cpu := range []float64{next.Size.CPURequest, next.Size.CPULimit} {
			if !(cpu >= b.MinCPU && cpu <= b.MaxCPU) {
				t.Errorf("CPU %v", cpu)
			}
		}
		if next.Size.CPURequest > next.Size.CPULimit || next.Size.MemoryLimit > 0 && next.Size.MemoryRequest > next.Size.MemoryLimit {
			t.Errorf("a request above its limit: %+v", next.Size)
		}
		if again, why := (guard.Clamp{}).Check(time.Time{}, bounded, 0, got); again != got {
			t.Errorf("a second look changes it again: %s", why)
		}
	})
}
