package policy

import (
	"math"
	"strings"
	"testing"

	"github.com/loadline/loadline"
)

func quotaOf(r loadline.QuotaResource, amount float64) loadline.Quota {
	q := loadline.Quota{Name: "team"}
	q.Hard[r] = loadline.Some(amount)
	return q
}

// TestPlannerSharesAQuotaInProportionToNeed: service i needs 5 ms * 400/s * (i+1) of 0.17 cores a
// replica: 12, 24 and 36 replicas of 0.2 cores, 0.4 with their sidecar.
func TestPlannerSharesAQuotaInProportionToNeed(t *testing.T) {
	for _, c := range []struct {
		name  string
		quota loadline.Quota
		want  []int
	}{
		{"enough", quotaOf(loadline.QuotaCPURequests, 100), []int{12, 24, 36}},
		{"half of the CPU", quotaOf(loadline.QuotaCPURequests, 14.4), []int{6, 12, 18}},
		{"half of the pods", quotaOf(loadline.QuotaPods, 36), []int{6, 12, 18}},
		{"memory for one third", quotaOf(loadline.QuotaMemoryRequests, 24<<30), []int{4, 8, 12}},
		{"limits of 0.8 cores for half", quotaOf(loadline.QuotaCPULimits, 28.8), []int{6, 12, 18}},
		{"less than the least replicas", quotaOf(loadline.QuotaPods, 2), []int{1, 1, 1}},
	} {
		r := newShopRun(t, "planner:vertical=off,feedback=off,forecast=off,limits=keep", 3)
		for i := range r.alloc {
			r.alloc[i].Size = loadline.Size{CPURequest: 0.2, CPULimit: 0.8, MemoryRequest: 1 << 30}
		}
		r.constraints = loadline.Constraints{Quota: c.quota, Services: make([]loadline.ServiceConstraints, 3)}
		if c.quota.Hard[loadline.QuotaCPURequests].Set {
			for i := range 3 {
				r.constraints.Services[i].Others.CPURequest = 0.2
			}
		}
		var proposal loadline.Proposal
		for range 40 {
			proposal = r.step(t, 400)
		}
		limited := c.name != "enough"
		used := 0.0
		for i := range r.alloc {
			if math.Abs(float64(r.alloc[i].Replicas-c.want[i])) > 1 {
				t.Errorf("%s: %d replicas of service %d, want %d", c.name, r.alloc[i].Replicas, i, c.want[i])
			}
			if says := strings.Contains(proposal.Services[i].Reason, "; the quota team allows "); says != limited {
				t.Errorf("%s: reason %q", c.name, proposal.Services[i].Reason)
			}
			for q, hard := range c.quota.Hard {
				if hard.Set {
					used += float64(r.alloc[i].Replicas) * r.alloc[i].Size.Plus(r.constraints.Services[i].Others).Uses()[q] / hard.Value
				}
			}
		}
		if used > 1+1e-9 && c.name != "less than the least replicas" {
			t.Errorf("%s: %.3f of the quota is planned", c.name, used)
		}
		if (proposal.Limited != "") != limited {
			t.Errorf("%s: limited by %q", c.name, proposal.Limited)
		}
	}
}

// TestPlannerGivesUpSpareReplicasBeforeNeededOnes: a service keeps replicas of a burst for its
// down-window; another one needs them.
func TestPlannerGivesUpSpareReplicasBeforeNeededOnes(t *testing.T) {
	r := newShopRun(t, "planner:vertical=off,feedback=off,forecast=off,limits=keep", 2)
	r.alloc[0].Replicas = 40
	r.constraints = loadline.Constraints{Quota: quotaOf(loadline.QuotaPods, 40), Services: make([]loadline.ServiceConstraints, 2)}
	var proposal loadline.Proposal
	for range 4 { // within the down-window
		proposal = r.step(t, 400)
	}
	if got, need := r.alloc[1].Replicas, whole(800*shopCost/0.17); got < need-1 {
		t.Errorf("%d replicas of the second service, which needs %d: %s", got, need, proposal.Services[1].Reason)
	}
	if sum := r.alloc[0].Replicas + r.alloc[1].Replicas; sum > 40 || sum < 39 || proposal.Limited != "" {
		t.Errorf("%d replicas in all of 40; limited by %q", sum, proposal.Limited)
	}
}

func TestPlannerKeepsReplicasForAvailability(t *testing.T) {
	r := newShopRun(t, "planner:feedback=off,forecast=off,down-window=0s", 2)
	r.constraints.Services = make([]loadline.ServiceConstraints, 2)
	r.constraints.Services[0] = loadline.ServiceConstraints{Bounds: loadline.Bounds{MinReplicas: 2}, Why: "PodDisruptionBudget web"}
	r.app.Services[1].Bounds.MaxReplicas = 1
	r.constraints.Services[1].Bounds.MinReplicas = 2 // the user's upper bound wins
	var proposal loadline.Proposal
	for range 40 {
		proposal = r.step(t, 1)
	}
	if r.alloc[0].Replicas != 2 || r.alloc[1].Replicas != 1 {
		t.Errorf("%d and %d replicas, want 2 and 1", r.alloc[0].Replicas, r.alloc[1].Replicas)
	}
	if reason := proposal.Services[0].Reason; !strings.Contains(reason, "; the lower bound is 2: PodDisruptionBudget web") {
		t.Errorf("reason %q", reason)
	}
}

// TestPlannerKeepsPodsWithinALimitRange: the cheapest pods of this load have 0.2 cores or more.
func TestPlannerKeepsPodsWithinALimitRange(t *testing.T) {
	for _, c := range []struct {
		name string
		by   loadline.ServiceConstraints
		ok   func(size loadline.Size) bool
	}{
		{"max", loadline.ServiceConstraints{Bounds: loadline.Bounds{MaxCPU: 0.1, MaxMemory: 256 << 20}, NeedsCPULimit: true},
			func(size loadline.Size) bool {
				return size.CPURequest > 0.08 && size.CPURequest <= 0.1 && size.CPULimit <= 0.1 && size.MemoryLimit == 256<<20
			}},
		{"min", loadline.ServiceConstraints{Bounds: loadline.Bounds{MinCPU: 0.4}},
			func(size loadline.Size) bool { return size.CPURequest >= 0.4 }},
		{"none", loadline.ServiceConstraints{}, func(size loadline.Size) bool { return size.CPURequest > 0.12 && size.CPULimit == 2 }},
		{"ratio", loadline.ServiceConstraints{CPURatio: 2, MemoryRatio: 1, NeedsCPULimit: true},
			func(size loadline.Size) bool {
				return size.CPULimit <= 2*size.CPURequest+1e-9 && size.CPULimit >= size.CPURequest && size.MemoryLimit == size.MemoryRequest
			}},
	} {
		r := newShopRun(t, "planner:feedback=off,forecast=off", 1)
		r.alloc[0].Size = loadline.Size{CPURequest: 0.05, CPULimit: 0.05, MemoryRequest: 200 << 20, MemoryLimit: 200 << 20}
		r.constraints.Services = []loadline.ServiceConstraints{c.by}
		for range 480 {
			r.step(t, 400)
			if r.now.Sub(plannerStart).Minutes() > 1 && !c.ok(r.alloc[0].Size) && c.name == "ratio" {
				t.Fatalf("%s: size %+v", c.name, r.alloc[0].Size)
			}
		}
		if !c.ok(r.alloc[0].Size) {
			t.Errorf("%s: size %+v", c.name, r.alloc[0].Size)
		}
	}
}

// TestLiftedLimitsStayWithinAQuotaOfLimits: limits are required, and are as high as the quota allows
// for half as many pods again.
func TestLiftedLimitsStayWithinAQuotaOfLimits(t *testing.T) {
	r := newShopRun(t, "planner:vertical=off,feedback=off,forecast=off", 2)
	for i := range r.app.Services {
		r.app.Services[i].Bounds.MaxCPU = 0 // without a quota, limits are removed
	}
	r.constraints = loadline.Constraints{Quota: quotaOf(loadline.QuotaCPULimits, 18), Services: make([]loadline.ServiceConstraints, 2)}
	for i := range 2 {
		r.constraints.Services[i].NeedsCPULimit = true
	}
	for step := range 120 {
		load := 100.0
		if step >= 60 {
			load = 300
		}
		r.step(t, load)
		sum := 0.0
		for i := range r.alloc {
			sum += float64(r.alloc[i].Replicas) * r.alloc[i].Size.CPULimit
			if limit := r.alloc[i].Size.CPULimit; limit < r.alloc[i].Size.CPURequest {
				t.Fatalf("step %d: service %d has a limit of %v with a request of %v", step, i, limit, r.alloc[i].Size.CPURequest)
			}
		}
		if sum > 18+1e-9 {
			t.Fatalf("step %d: limits of %.2f cores of 18: %+v", step, sum, r.alloc)
		}
		if step == 59 && sum < 9 {
			t.Errorf("limits of %.2f cores, want about 12 of 18: %+v", sum, r.alloc)
		}
	}
	unlimited := newShopRun(t, "planner:vertical=off", 1)
	unlimited.app.Services[0].Bounds.MaxCPU = 0
	unlimited.step(t, 100)
	if got := unlimited.alloc[0].Size.CPULimit; got != 0 {
		t.Errorf("a limit of %v without a namespace that asks for one", got)
	}
}
