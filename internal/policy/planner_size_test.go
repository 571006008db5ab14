package policy

import (
	"math"
	"testing"
)

func TestPlannerSizesPodsForTheirIdleCPU(t *testing.T) {
	r := newShopRun(t, "planner:feedback=off,forecast=off", 1)
	r.alloc[0].Size.CPURequest, r.alloc[0].Size.MemoryLimit = 0.05, 100<<20
	resized := 0
	for range 480 {
		for _, sp := range r.step(t, 400).Services {
			if sp.Setting.CPURequest.Set {
				resized++
			}
		}
	}
	// Pods have 0.9 of their request less 0.01 cores for 2 cores of demand, and half of one is spare.
	cost := func(request float64) float64 { return (2/(request*0.9-0.01) + 0.5) * request }
	least := math.Inf(1)
	for request := 0.02; request < 0.5; request += 0.01 {
		least = min(least, cost(request))
	}
	if got := r.alloc[0].Size.CPURequest; cost(got) > 1.05*least || cost(0.05) < 1.05*least {
		t.Errorf("request %.3f costs %.2f cores, want at most 5 %% more than %.2f", got, cost(got), least)
	}
	if got, want := r.alloc[0].Size.MemoryLimit>>20, int64(100*r.alloc[0].Size.CPURequest/0.05); math.Abs(float64(got-want)) > 8 {
		t.Errorf("memory limit %d MiB with %v cores, was 100 MiB with 0.05", got, r.alloc[0].Size.CPURequest)
	}
	if resized > 8 {
		t.Errorf("%d resizes within two hours of constant load, at most every 15 minutes", resized)
	}
	if got, want := r.alloc[0].Replicas, whole(2/(r.alloc[0].Size.CPURequest*0.9-0.01)); math.Abs(float64(got-want)) > 1 {
		t.Errorf("%d replicas of that size, want %d", got, want)
	}
}

func TestPlannerGivesUpResizesThatAreNotApplied(t *testing.T) {
	r := newShopRun(t, "planner:feedback=off,forecast=off", 1)
	r.alloc[0].Size.CPURequest = 0.05
	proposed := 0
	for range 400 {
		size := r.alloc[0].Size
		for _, sp := range r.step(t, 400).Services {
			if sp.Setting.CPURequest.Set {
				proposed++
			}
		}
		r.alloc[0].Size = size // the axes allow replicas only
	}
	if proposed != 1 {
		t.Errorf("%d resizes proposed, want one", proposed)
	}
	if got, want := r.alloc[0].Replicas, whole(2/(0.05*0.9-0.01)); math.Abs(float64(got-want)) > 0.1*float64(want) {
		t.Errorf("%d replicas at the present size, want %d", got, want)
	}
}
