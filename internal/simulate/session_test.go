package simulate

import (
	"context"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
)

// liveSteady is a load that engines must not read ahead.
type liveSteady struct{ steady }

func (liveSteady) Live() {}

// outcome of a run that is advanced in bits of a length; 0 = at once.
func outcome(t *testing.T, spec Spec, bit time.Duration) string {
	t.Helper()
	if bit == 0 {
		out, err := Run(context.Background(), spec)
		if err != nil {
			t.Fatal(err)
		}
		return printed(t, out)
	}
	s, err := Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	for at := bit; s.At() < spec.Duration; at += bit {
		if err := s.AdvanceTo(context.Background(), at); err != nil {
			t.Fatal(err)
		}
	}
	return printed(t, s.Finish())
}

func printed(t *testing.T, out *Outcome) string {
	t.Helper()
	text, err := json.Marshal([]any{out.Result, out.Timeline.Changes, out.Effort.Decisions, out.Rungs, out.Meter.Kinds[0].Latency.Sum()})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestBitsAreTheWhole: a session is the run that Run makes, in however many bits it is advanced, and
// whether or not the engine may read the load ahead.
func TestBitsAreTheWhole(t *testing.T) {
	for _, policy := range []string{"hpa", "planner"} {
		for _, engine := range Engines() {
			t.Run(policy+" "+engine, func(t *testing.T) {
				spec := smallSpec()
				spec.Policy, spec.Guard, spec.Engine = policy, "hpa", engine
				want := outcome(t, spec, 0)
				bits := []time.Duration{15 * time.Second, 7001 * time.Millisecond}
				if engine == "fluid" {
					bits = bits[:1] // its steps are 5 s
				}
				for _, bit := range bits {
					if got := outcome(t, spec, bit); got != want {
						t.Errorf("in bits of %v:\n%s\nat once:\n%s", bit, got, want)
					}
				}
				spec.Load = liveSteady{steady{30, 600}}
				if got := outcome(t, spec, 0); got != want {
					t.Errorf("with a live load:\n%s\notherwise:\n%s", got, want)
				}
			})
		}
	}
}

// shared is a cluster of an elastic pool with neighbours.
func sharedSpec(engine string) Spec {
	spec := smallSpec()
	spec.Engine = engine
	p, _ := pool.Named("eks-2")
	spec.Cluster = pool.Cluster{Pools: []pool.Pool{p}, Neighbours: pool.Neighbours{Use: 0.1, Request: 0.3}}
	return spec
}

// TestADisturbanceNowIsOneOfThePlan: what happens by Disturb is what Spec.Perturb plans for the same
// instant.
func TestADisturbanceNowIsOneOfThePlan(t *testing.T) {
	first, use := 0, 0.9
	for name, d := range map[string]sim.Disturbance{
		"a version":    {Version: &sim.VersionChange{CPUFactor: 2}},
		"a lost node":  {LoseNode: &first},
		"a neighbour":  {NeighbourUse: &use},
		"nothing else": {},
	} {
		for _, engine := range Engines() {
			t.Run(name+" "+engine, func(t *testing.T) {
				const at = 5 * time.Minute
				planned, now := sharedSpec(engine), sharedSpec(engine)
				d.At = at
				planned.Perturb.Disturbances = []sim.Disturbance{d}
				s, err := Open(now)
				if err != nil {
					t.Fatal(err)
				}
				for _, until := range []time.Duration{at, now.Duration} {
					if err := s.AdvanceTo(context.Background(), until); err != nil {
						t.Fatal(err)
					}
					if until == at {
						s.Disturb(d)
					}
				}
				calm := outcome(t, now, 0)
				got, want := printed(t, s.Finish()), outcome(t, planned, 0)
				if got != want {
					t.Errorf("now:\n%s\nplanned:\n%s", got, want)
				}
				if changed := got != calm; changed == (d == sim.Disturbance{At: at}) {
					t.Errorf("the run is changed: %v", changed)
				}
			})
		}
	}
}

// TestStoppedMetricsAreAbsent: a policy without metrics holds, and sees them again afterwards.
func TestStoppedMetricsAreAbsent(t *testing.T) {
	spec := smallSpec()
	seen := math.NaN()
	spec.Hooks.Decided = func(_ *loadline.Decision, s loadline.Situation) {
		rate := s.Window[len(s.Window)-1].Services[0].Rate
		if seen = math.NaN(); rate.Present() {
			seen = rate.Value
		}
	}
	s, err := Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	advance := func(by time.Duration) {
		t.Helper()
		if err := s.AdvanceTo(context.Background(), s.At()+by); err != nil {
			t.Fatal(err)
		}
	}
	advance(2 * time.Minute)
	if !(seen > 0) {
		t.Fatalf("a rate of %v is seen", seen)
	}
	s.StopMetrics(true)
	advance(2 * time.Minute)
	if !math.IsNaN(seen) {
		t.Errorf("without metrics a rate of %v is seen", seen)
	}
	s.StopMetrics(false)
	advance(2 * time.Minute)
	if !(seen > 0) {
		t.Errorf("with metrics again a rate of %v is seen", seen)
	}
	s.Finish()
}
