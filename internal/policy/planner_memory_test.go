package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

const mib = 1 << 20

// memoryRun is a shop of one service whose pods use some memory.
func memoryRun(t *testing.T, request, limit int64) *shopRun {
	r := newShopRun(t, "planner:feedback=off,forecast=off,limits=keep", 1)
	r.alloc[0].Size.MemoryRequest, r.alloc[0].Size.MemoryLimit = request*mib, limit*mib
	r.alloc[0].Size.CPURequest = 0.5 // the size that the planner would choose
	return r
}

func (r *shopRun) remember(t *testing.T, used int64, restarts float64) string {
	t.Helper()
	r.observe(400)
	sample := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: r.now} }
	r.o.Services[0].Restarts = sample(restarts)
	for i := range r.o.Services[0].Pods {
		r.o.Services[0].Pods[i].Memory = sample(float64(used * mib))
	}
	proposal, err := r.decide()
	if err != nil {
		t.Fatal(err)
	}
	r.alloc[0] = r.alloc[0].With(proposal.Services[0].Setting)
	return proposal.Services[0].Reason
}

func TestMemoryRequestIsNotBelowUse(t *testing.T) {
	r := memoryRun(t, 300, 1000)
	reason := r.remember(t, 760, 0)
	if got := r.alloc[0].Size; got.MemoryRequest < 760*mib || got.MemoryRequest > 900*mib || got.MemoryLimit != 1000*mib {
		t.Errorf("request %d MiB, limit %d, with 760 in use", got.MemoryRequest/mib, got.MemoryLimit/mib)
	}
	if !strings.Contains(reason, "memory request 300 -> ") || !strings.Contains(reason, "pods use 760 MiB") {
		t.Errorf("reason %q does not say why", reason)
	}
	for range 20 {
		r.remember(t, 1200, 0)
	}
	if got := r.alloc[0].Size; got.MemoryLimit < got.MemoryRequest || got.MemoryRequest < 1200*mib {
		t.Errorf("request %d MiB above the limit of %d", got.MemoryRequest/mib, got.MemoryLimit/mib)
	}
}

func TestMemoryRequestFallsSlowlyAndNotWhereAHeapStays(t *testing.T) {
	for _, c := range []struct {
		name string
		used func(minute int) int64
		want [2]int64 // MiB, after two hours
	}{
		{"little use", func(int) int64 { return 100 }, [2]int64{100, 140}},
		{"a heap that has grown and stays", func(minute int) int64 { return int64(min(400, 100+10*minute)) }, [2]int64{400, 500}},
		{"a peak an hour ago", func(minute int) int64 {
			if minute == 30 {
				return 450
			}
			return 100
		}, [2]int64{450, 600}},
	} {
		r := memoryRun(t, 700, 0)
		changes := 0
		for i := range 480 {
			before := r.alloc[0].Size.MemoryRequest
			r.remember(t, c.used(i/4), 0)
			if r.alloc[0].Size.MemoryRequest != before {
				changes++
			}
			if i == 200 && before != 700*mib {
				t.Errorf("%s: lowered within 50 minutes", c.name)
			}
		}
		if got := r.alloc[0].Size.MemoryRequest / mib; got < c.want[0] || got > c.want[1] || changes > 2 {
			t.Errorf("%s: request %d MiB after %d changes, want %v", c.name, got, changes, c.want)
		}
	}
}

func TestMemoryOfKilledPodsRises(t *testing.T) {
	r := memoryRun(t, 300, 400)
	for i := range 8 {
		restarts := 0.0
		if i > 3 {
			restarts = 1
		}
		r.remember(t, 280, restarts)
	}
	if got := r.alloc[0].Size; got.MemoryLimit < 480*mib || got.MemoryRequest < 480*mib {
		t.Errorf("request %d MiB, limit %d after a kill at 400", got.MemoryRequest/mib, got.MemoryLimit/mib)
	}
	calm := memoryRun(t, 300, 400)
	for i := range 8 {
		calm.remember(t, 20, float64(i))
	}
	if got := calm.alloc[0].Size.MemoryLimit; got != 400*mib {
		t.Errorf("limit %d MiB: restarts with little memory in use are not for memory", got/mib)
	}
}

func TestMemoryThatIsNotAppliedIsGivenUp(t *testing.T) {
	r := memoryRun(t, 300, 0)
	proposed := 0
	for range 100 {
		size := r.alloc[0].Size
		if reason := r.remember(t, 700, 0); strings.Contains(reason, "memory request") {
			proposed++
		}
		r.alloc[0].Size = size // the axes do not allow it
	}
	if proposed != 1 {
		t.Errorf("proposed %d times, want once", proposed)
	}
	if r.now.Sub(plannerStart) < 3*refusedAfter || time.Minute > refusedAfter {
		t.Fatal("the test is too short")
	}
}
