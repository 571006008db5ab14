package policy_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
)

// wave is a load that rises and falls between two rates in half an hour.
type wave struct{ low, high float64 }

func (w wave) Rate(_ int, t time.Duration) (float64, time.Duration) {
	step := 10 * time.Second
	phase := 2 * math.Pi * t.Truncate(step).Seconds() / (30 * time.Minute).Seconds()
	return w.low + (w.high-w.low)*(1-math.Cos(phase))/2, t.Truncate(step) + step
}

// TestEveryPolicyOnBookinfo runs each policy for half an hour of a load that grows fourfold and
// falls again. The bounds are loose: they show that it works, not how well.
func TestEveryPolicyOnBookinfo(t *testing.T) {
	for _, c := range []struct {
		spec    string
		over    float64 // requests over the SLO, at most
		changes float64 // at least
	}{
		{"static", 0.15, 0}, // too small at the peak: the others must do better
		{"hpa", 0.01, 5},
		{"hpa:target=off,rps-target=25", 0.01, 5},
		{"hpa:limits=lifted,request=p95", 0.01, 10},
		{"keda", 0.01, 5},
		{"keda:trigger=entry,target=80", 0.01, 5},
		{"phpa", 0.01, 5},
		{"phpa:model=traffic", 0.01, 5},
		{"phpa:model=holt-winters,season=10m", 0.01, 5},
		{"sre", 0.01, 5},
		{"kpa", 1, 5}, // 100 requests in flight are far too many for these services
		{"kpa:target=1", 0.01, 5},
		{"vpa", 0.06, 5},
		{"vpa:min-memory=0,history=192h,percentile=99", 0.01, 5},
		{"hpa+vpa", 0.01, 5},
		{"hpa+vpa:target=off,rps-target=25,cpu=on", 0.01, 5},
		{"ursa", 0.01, 5},
		{"autothrottle", 0.01, 50},
	} {
		t.Run(c.spec, func(t *testing.T) {
			model, err := apps.Load("bookinfo")
			if err != nil {
				t.Fatal(err)
			}
			out, err := simulate.Run(context.Background(), simulate.Spec{
				App: model.App, Load: wave{30, 120}, Workload: "wave", Policy: c.spec, Engine: "event",
				Duration: 30 * time.Minute, Seed: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			r := out.Result
			t.Logf("%.4f over the SLO, %.3f core-hours, %.3f GiB-hours, %.1f replicas, %v changes",
				float64(r.OverSLORatio), float64(r.CoreHours), float64(r.GiBHours), float64(r.MeanReplicas), r.Changes)
			if over := float64(r.OverSLORatio); !(over <= c.over) {
				t.Errorf("%v of the requests over the SLO, want at most %v", over, c.over)
			}
			if changes := float64(r.Changes); changes < c.changes {
				t.Errorf("%v changes: it does not react", changes)
			}
			if out.Effort.Held > out.Effort.Decisions/10 {
				t.Errorf("%d of %d decisions held without data", out.Effort.Held, out.Effort.Decisions)
			}
		})
	}
}

// TestReserveIsInTheCluster: the placeholder pods that a rule asks for are there during the run.
func TestReserveIsInTheCluster(t *testing.T) {
	model, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]bool{"hpa:reserve=2": true, "sre": true, "hpa": false} {
		there := false
		_, err = simulate.Run(context.Background(), simulate.Spec{
			App: model.App, Load: wave{5, 5}, Workload: "wave", Policy: spec, Engine: "fluid", Duration: time.Minute, Seed: 1,
			Hooks: simulate.Hooks{Scrape: func(_ *sim.Reading, cp *sim.ControlPlane) {
				_, each := cp.ReservePending()
				there = each.Cores > 0
			}},
		})
		if err != nil || there != want {
			t.Errorf("%s: placeholders %v, want %v, %v", spec, there, want, err)
		}
	}
}

// TestPlannerKeepsTheSLOBeforeADatabaseThatManyConnectionsSlowDown: with three or more replicas of
// the interface, a burst of 70 requests/s makes the database of ledger slower than its load, and it
// does not recover before the burst ends. HPA gives it three.
func TestPlannerKeepsTheSLOBeforeADatabaseThatManyConnectionsSlowDown(t *testing.T) {
	over := func(policy string, seed uint64) float64 {
		model, err := apps.Load("ledger")
		if err != nil {
			t.Fatal(err)
		}
		out, err := simulate.Run(context.Background(), simulate.Spec{
			App: model.App, Load: squares{25, 70, 6 * time.Minute, 90 * time.Second}, Workload: "squares", Policy: policy, Engine: "event",
			Duration: time.Hour, Seed: seed,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s, seed %d: %.4f over the SLO, %.2f replicas", policy, seed, float64(out.Result.OverSLORatio), float64(out.Result.MeanReplicas))
		return float64(out.Result.OverSLORatio)
	}
	hpa := 0.0
	for seed := range uint64(3) {
		hpa += over("hpa", seed+1) / 3
		if planner := over("planner", seed+1); planner > 0.01 {
			t.Errorf("seed %d: %.4f of the requests over the SLO, want at most 1 %%", seed+1, planner)
		}
	}
	if hpa < 0.01 {
		t.Errorf("HPA has %.4f over the SLO: the database is not what limits it", hpa)
	}
}

// squares is a load with bursts of one length at equal distances.
type squares struct {
	low, high   float64
	calm, burst time.Duration
}

func (q squares) Rate(kind int, t time.Duration) (float64, time.Duration) {
	cycle, share := q.calm+q.burst, []float64{0.75, 0.25}[kind] // as ledger's
	if in := t % cycle; in < q.calm {
		return share * q.low, t - in + q.calm
	}
	return share * q.high, t - t%cycle + cycle
}

// TestPlannerKeepsAQuotaThatHPAExhausts: the namespace has less CPU than HPA requests for this
// load. Under HPA pods are refused as they come; the planner's are all admitted, and its decisions
// say what is short.
func TestPlannerKeepsAQuotaThatHPAExhausts(t *testing.T) {
	model, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	quota, err := pool.ParseQuota("cpu=2")
	if err != nil {
		t.Fatal(err)
	}
	missing := func(policy string) (pods int, limited string) {
		_, err = simulate.Run(context.Background(), simulate.Spec{
			App: model.App, Load: wave{30, 240}, Workload: "wave", Policy: policy, Engine: "event", Duration: 30 * time.Minute, Seed: 1,
			Cluster: pool.Cluster{Quota: quota},
			Hooks: simulate.Hooks{
				Decision: func(d *loadline.Decision) {
					if d.Proposal.Limited != "" {
						limited = d.Proposal.Limited
					}
				},
				Scrape: func(_ *sim.Reading, cp *sim.ControlPlane) {
					used, short := 0.0, 0
					for service, want := range cp.Allocation() {
						short += max(want.Replicas-len(cp.Slots(service)), 0)
						for _, slot := range cp.Slots(service) {
							used += cp.Pod(slot).Size.CPURequest
						}
					}
					if used > 2+1e-9 {
						t.Fatalf("%s: pods request %v cores of a quota of 2", policy, used)
					}
					pods = max(pods, short)
				},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return pods, limited
	}
	if pods, _ := missing("hpa"); pods < 5 {
		t.Errorf("HPA lacks %d pods: the quota does not limit it", pods)
	}
	// A pod that terminates counts until it is gone: the one that replaces it is late, not lost.
	if pods, limited := missing("planner"); pods > 3 ||
		!strings.Contains(limited, "the quota the namespace allows requests.cpu 2 cores in all") {
		t.Errorf("the planner lacks %d pods; limited by %q", pods, limited)
	}
}
