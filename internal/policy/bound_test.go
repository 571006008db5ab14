package policy

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

func boundApp() *loadline.App {
	call := func(service int, stages ...[]loadline.Call) loadline.Call {
		return loadline.Call{Service: service, Probability: 1, Times: 1, Work: 1, Stages: stages}
	}
	stars := call(2)
	stars.Optional = true
	service := func(name string, cpu time.Duration) loadline.Service {
		return loadline.Service{
			Name: name, CPU: loadline.Dist{Mean: cpu}, Workers: 10, Startup: loadline.Dist{Mean: 10 * time.Second},
			Size:   loadline.Size{CPURequest: 0.2, CPULimit: 0.5},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 20, MinCPU: 0.05, MaxCPU: 2},
		}
	}
	return &loadline.App{
		Services: []loadline.Service{service("web", 10*time.Millisecond), service("db", time.Millisecond),
			service("stars", 10*time.Millisecond)},
		Kinds: []loadline.Kind{{
			Name: "get", SLO: loadline.SLO{Percentile: 99, Latency: 600 * time.Millisecond},
			Root: call(0, []loadline.Call{call(1)}, []loadline.Call{stars}),
		}},
	}
}

func constantRate(perSecond float64) Rate {
	return func(int, time.Duration) (float64, time.Duration) { return perSecond, math.MaxInt64 }
}

func TestBoundByHand(t *testing.T) {
	const hour = time.Hour
	// web works 100/s * 10 ms = 1 core, of which each minute sees all but 0.6 s and
	// 1 % may fail; db needs less than its request; stars is optional.
	got := LowerBound(boundApp(), false, 0, hour, constantRate(100))
	if want := 0.99 - 0.01 + 0.2 + 0.2; math.Abs(got.CoreHours-want) > 1e-9 {
		t.Errorf("%v core-hours, want %v", got.CoreHours, want)
	}
	// Poisson arrivals of constant work: the deviation of 356,400 times 10 ms, twice
	// as much variance by the estimate, which allows for visits that are not alike.
	if want := math.Sqrt(2*356400) * 0.01 / 3600; math.Abs(got.Deviation-want) > 1e-9 {
		t.Errorf("deviation %v, want %v", got.Deviation, want)
	}
	// Half of the run is not evaluated: there web costs at least its request.
	if got, want := LowerBound(boundApp(), false, hour/2, hour,
		constantRate(100)).CoreHours, (0.99-0.01)/2+0.2/2+0.2+0.2; math.Abs(got-want) > 1e-9 {
		t.Errorf("%v core-hours with a warm-up, want %v", got, want)
	}
	got = LowerBound(boundApp(), true, 0, hour, constantRate(0))
	if want := 3 * 0.05; math.Abs(got.CoreHours-want) > 1e-9 || got.Deviation != 0 {
		t.Errorf("without load %+v, want %v", got, want)
	}
}
