package policy

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// crowded is an observation of a callee of one pod: its CPU time of a visit is cost*(1 + slope*n) with
// n visits at work.
func crowded(rng *rand.Rand, rate, inside, cost, slope float64) *loadline.ServiceObservation {
	at := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: plannerStart} }
	cpu := rate * cost * (1 + slope*inside) * (1 + 0.05*rng.NormFloat64())
	return &loadline.ServiceObservation{
		Rate: at(rate), CPU: at(max(cpu, 0)), Concurrency: at(inside), Queue: at(0),
		Pods: []loadline.PodObservation{{Phase: loadline.PodReady}},
	}
}

// TestCalleeLimitIsLearnedFromItsCPU: visits at work in a database make each other dearer by 2 %, or
// do not.
func TestCalleeLimitIsLearnedFromItsCPU(t *testing.T) {
	for _, c := range []struct {
		name        string
		slope       float64
		least, most float64 // visits at once that it bears at 175/s with 2 cores
	}{
		{"visits hinder each other", 0.02, 9, 26}, // (0.85*2/175 - 8 ms) / 0.16 ms = 10.7
		{"visits do not", 0, 60, math.Inf(1)},
	} {
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, 1))
			var limit calleeLimit
			limit.begin(0.008)
			d := serviceDemand{own: 0.01}
			for i := range 240 {
				rate, inside := 60.0, 0.7
				if i%30 >= 20 {
					rate, inside = 170, 3+3*rng.Float64()
				}
				limit.learn(plannerStart, crowded(rng, rate, inside, 0.008, c.slope), &d, 15)
			}
			limit.bear(175, 1, 2)
			if limit.most < c.least || limit.most > c.most {
				t.Errorf("%s, seed %d: it bears %.1f visits at once, want %v to %v (slope %.6f +- %.6f)", c.name, seed, limit.most, c.least,
					c.most, limit.model.idle, math.Sqrt(limit.model.ii))
			}
		}
	}
}

func TestCalleeLimitFallsAtOnceAndRisesSlowly(t *testing.T) {
	var limit calleeLimit
	limit.begin(0.01)
	limit.model.idle, limit.model.ii = 0.001, 0
	limit.bear(20, 1, 1) // (0.85/20 - 0.01) / 0.001
	if math.Abs(limit.most-32.5) > 0.1 {
		t.Fatalf("it bears %v, want 32.5", limit.most)
	}
	limit.bear(100, 1, 1) // more than its CPU: as many as keep its core busy
	if limit.most != busyCores {
		t.Fatalf("it bears %v, want %v", limit.most, busyCores)
	}
	decisions := 0
	for ; limit.most < 2*busyCores; decisions++ {
		limit.bear(1, 1, 1)
	}
	if decisions < 60 || decisions > 80 {
		t.Errorf("the limit doubled in %d decisions, want about 70: a quarter of an hour", decisions)
	}
}

// ledger is a front door with four workers of a replica that calls a database of one replica.
func ledgerRun(t *testing.T, spec string) *shopRun {
	t.Helper()
	r := newShopRun(t, spec, 2)
	app := r.app
	app.Services[0].Workers, app.Services[0].Replicas = 10, 2
	app.Services[0].Bounds.MaxCPU = 2
	app.Services[1].Bounds = loadline.Bounds{MinReplicas: 1, MaxReplicas: 1, MinCPU: 1, MaxCPU: 2}
	app.Services[1].Replicas, app.Services[1].Size = 1, loadline.Size{CPURequest: 2, CPULimit: 2}
	call := loadline.Call{Service: 1, Probability: 1, Times: 2, Work: 1}
	app.Kinds[0].Root = loadline.Call{Probability: 1, Times: 1, Work: 1, Stages: [][]loadline.Call{{call}}}
	policy, err := New(spec, app)
	if err != nil {
		t.Fatal(err)
	}
	r.policy = policy
	for i, s := range app.Services {
		r.alloc[i] = loadline.Allocation{Replicas: s.Replicas, Size: s.Size}
	}
	return r
}

// TestPlannerHoldsCallersOfADatabaseThatIsFull: at 160 req/s the database has 320 visits/s of 5 ms on
// two cores, which is 80 % of them; at 200 req/s all. More replicas of its caller would not help, and
// fewer have the CPU with larger requests.
func TestPlannerHoldsCallersOfADatabaseThatIsFull(t *testing.T) {
	r := ledgerRun(t, "planner:feedback=off,forecast=off,down-window=1m")
	for range 40 {
		r.step(t, 80)
	}
	reason := ""
	for range 60 {
		for _, sp := range r.step(t, 200).Services {
			if sp.Service == 0 && reason == "" {
				reason = sp.Reason
			}
		}
	}
	// 200/s * 5 ms = 1 core, of pods with at most 2 * 0.9 - 0.01; 200/s * 20 ms = 4 of 10 * 0.7 workers.
	if got := r.alloc[0].Replicas; got != 1 {
		t.Errorf("%d replicas of the caller, want 1: %s", got, reason)
	}
	if got, want := r.alloc[0].Size.CPURequest, (1.0+shopIdle)/0.9; math.Abs(got-want) > 0.1 {
		t.Errorf("a CPU request of %.2f, want %.2f", got, want)
	}
	if !strings.Contains(reason, "at this load sba bears 4 visits at once") {
		t.Errorf("reason %q does not say what limits it", reason)
	}
	before := r.alloc[0]
	for range 20 { // without the caller's CPU nothing is removed
		r.alloc[0].Replicas = 3
		r.observe(200)
		r.o.Services[0].CPU = loadline.Sample{}
		r.o.Kinds[0].OverSLO.Value = 0.2
		proposal, err := r.decide()
		if err != nil {
			t.Fatal(err)
		}
		for _, sp := range proposal.Services {
			if sp.Service == 0 && sp.Setting.Replicas.Or(3) < 3 {
				t.Fatalf("%d replicas without figures of CPU: %s", sp.Setting.Replicas.Value, sp.Reason)
			}
		}
	}
	r.alloc[0] = before
}

// TestPlannerScalesCallersOfADatabaseThatGrows: the same with a database that may have more replicas.
func TestPlannerScalesCallersOfADatabaseThatGrows(t *testing.T) {
	r := ledgerRun(t, "planner:feedback=off,forecast=off,down-window=1m,vertical=off")
	r.app.Services[1].Bounds.MaxReplicas = 10
	for range 40 {
		r.step(t, 80)
	}
	for range 60 {
		r.step(t, 200)
	}
	if got, want := r.alloc[0].Replicas, whole(200*shopCost/0.17); got != want {
		t.Errorf("%d replicas of the caller, want %d by its CPU", got, want)
	}
}

// TestPlannerDoesNotScaleAServiceBehindASlowCallee: all workers of the caller wait for a callee whose
// own time is ten times the usual, and requests are over the SLO.
func TestPlannerDoesNotScaleAServiceBehindASlowCallee(t *testing.T) {
	for _, slow := range []bool{true, false} {
		r := ledgerRun(t, "planner:forecast=off,vertical=off,limits=keep")
		r.app.Services[1].Bounds.MaxReplicas = 10
		for range 40 {
			r.step(t, 60)
		}
		before, reason := r.alloc[0].Replicas, ""
		for range 20 {
			r.observe(60)
			r.o.Kinds[0].OverSLO.Value = 0.5
			r.o.Services[0].Concurrency.Value = 10 * float64(before)
			r.o.Services[0].Queue.Value = 5
			if slow {
				r.o.Services[1].Own.Mean.Value = 0.1
			}
			proposal, err := r.decide()
			if err != nil {
				t.Fatal(err)
			}
			for _, sp := range proposal.Services {
				r.alloc[sp.Service] = r.alloc[sp.Service].With(sp.Setting)
				if sp.Service == 0 {
					reason = sp.Reason
				}
			}
		}
		got := r.alloc[0].Replicas
		if slow && (got > before || !strings.Contains(reason, "its workers wait for sba, which is slow")) {
			t.Errorf("%d replicas behind a slow callee, were %d: %s", got, before, reason)
		}
		if !slow && got <= before {
			t.Errorf("%d replicas of a service without free workers, were %d: %s", got, before, reason)
		}
	}
}

func TestCalleesWithoutAModelOfCallsLimitNobody(t *testing.T) {
	p := plannerIn(newShopRun(t, "planner", 3).policy)
	for i := range 3 {
		if _, _, ok := p.scarce(i, 10); ok || len(p.callers.calls[i]) > 0 {
			t.Errorf("service %d is limited by a callee, although no calls are known", i)
		}
	}
	var limit calleeLimit
	limit.begin(0)
	limit.learn(plannerStart.Add(time.Minute), &loadline.ServiceObservation{}, &serviceDemand{}, 15)
	if limit.model.known || !math.IsInf(limit.most, 1) {
		t.Errorf("something was learned from an observation without figures: %+v", limit)
	}
}
