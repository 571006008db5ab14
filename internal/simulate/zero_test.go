package simulate

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// spells is a load with pauses.
type spells struct {
	rate   float64
	on     time.Duration
	period time.Duration
}

func (s spells) Rate(_ int, t time.Duration) (float64, time.Duration) {
	begin := t.Truncate(s.period)
	if t < begin+s.on {
		return s.rate, begin + s.on
	}
	return 0, begin + s.period
}

func functionApp() *loadline.App {
	app := smallApp()
	s := &app.Services[0]
	s.Hold, s.Replicas, s.Bounds.MinReplicas = 1000, 0, 0
	return app
}

// Knative's autoscaler scales a function to zero after its stable window and its grace period,
// and the first request of the next burst waits for a cold start.
func TestAFunctionGoesToZeroAndComesBack(t *testing.T) {
	for _, engine := range Engines() {
		t.Run(engine, func(t *testing.T) {
			var ready []int
			spec := smallSpec()
			spec.App, spec.Engine, spec.Policy = functionApp(), engine, "kpa:target=10"
			spec.Load = spells{rate: 40, on: 2 * time.Minute, period: 10 * time.Minute}
			spec.Duration = 30 * time.Minute
			spec.Hooks.Scrape = func(r *sim.Reading, cp *sim.ControlPlane) {
				if r.At%time.Second == 0 {
					ready = append(ready, cp.Ready(0))
				}
			}
			out, err := Run(context.Background(), spec)
			if err != nil {
				t.Fatal(err)
			}
			at := func(d time.Duration) int { return ready[int(d.Seconds())] }
			for spell := range 3 {
				begin := time.Duration(spell) * 10 * time.Minute
				end := begin + 2*time.Minute
				if at(begin+3*time.Second) != 0 || at(begin+7*time.Second) == 0 {
					t.Errorf("spell %d: %d replicas after 3 s, %d after 7; a start takes 5", spell, at(begin+3*time.Second),
						at(begin+7*time.Second))
				}
				// Two hundred are held by then: the autoscaler does not stop at the one replica
				// that they have woken.
				if at(begin+15*time.Second) < 5 {
					t.Errorf("spell %d: %d replicas after 15 s", spell, at(begin+15*time.Second))
				}
				// The stable window and the grace period, in ticks of two seconds.
				if at(end+80*time.Second) == 0 || at(end+100*time.Second) != 0 {
					t.Errorf("spell %d: %d replicas 80 s after its end, %d after 100", spell, at(end+80*time.Second),
						at(end+100*time.Second))
				}
			}
			m := out.Meter
			if k := &m.Kinds[0]; k.Failed > 0.001*k.Arrived {
				t.Errorf("%v of %v failed, though all could be held", k.Failed, k.Arrived)
			}
			// Of each burst's 120 s, five wait for the start, and a few drain after them.
			if over := out.Meter.Kinds[0].Over / out.Meter.Kinds[0].Ended; over < 0.035 || over > 0.15 {
				t.Errorf("%.3f of the requests were over the SLO", over)
			}
			// In ten minutes a burst keeps pods for less than four.
			if got := float64(m.Services[0].ReplicaSeconds); got <= 0 || got > 3*230*10 {
				t.Errorf("%.0f replica-seconds", got)
			}
		})
	}
}

// A policy that does not handle zero replicas wakes no service: the request itself does, and
// the policy continues from the one replica.
func TestTheFirstRequestWakesUnderAnyPolicy(t *testing.T) {
	for _, engine := range Engines() {
		for _, policy := range []string{"static:replicas=0", "hpa"} {
			t.Run(engine+" "+policy, func(t *testing.T) {
				spec := smallSpec()
				spec.App, spec.Engine, spec.Policy = functionApp(), engine, policy
				spec.Load = spells{rate: 5, on: 2 * time.Minute, period: time.Hour}
				out, err := Run(context.Background(), spec)
				if err != nil {
					t.Fatal(err)
				}
				if k := &out.Meter.Kinds[0]; k.Completed < 0.99*k.Arrived || k.Arrived < 400 {
					t.Errorf("%v of %v completed", k.Completed, k.Arrived)
				}
			})
		}
	}
}

// Late metrics must not scale a service that was just woken to zero again: its cold start would
// never end.
func TestLateMetricsDoNotUndoAWake(t *testing.T) {
	spec := smallSpec()
	spec.App, spec.Policy = functionApp(), "kpa:target=10"
	spec.Load = spells{rate: 5, on: 2 * time.Minute, period: 10 * time.Minute}
	spec.Duration = 22 * time.Minute
	spec.Perturb = Perturb{MetricsLate: 4}
	out, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if worst := out.Meter.Kinds[0].Latency.Quantile(1) / 1e9; worst > 7 {
		t.Errorf("a request waited %.1f s for a start that takes 5", worst)
	}
}

// A resize that restarts the pod loses its requests.
func TestAResizeMayRestart(t *testing.T) {
	run := func(restarts bool) *Outcome {
		spec := smallSpec()
		spec.Policy, spec.Perturb.ResizeRestarts = "vpa", restarts
		spec.Load, spec.Duration = steady{30, 7200}, 2*time.Hour
		out, err := Run(context.Background(), spec)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	in, restarted := run(false), run(true)
	if in.Meter.Changes == 0 {
		t.Fatal("nothing was resized: this test no longer tests that")
	}
	if a, b := in.Meter.Kinds[0].Failed, restarted.Meter.Kinds[0].Failed; b <= a {
		t.Errorf("%v failed in place, %v with restarts", a, b)
	}
}

// Rare requests: in both engines the function scales to zero and wakes, at the same cost and
// with the same share of cold starts.
func TestTheEnginesAgreeOnATrickle(t *testing.T) {
	const seeds = 4
	run := func(engine string) (of [5]float64) {
		for seed := range uint64(seeds) {
			spec := smallSpec()
			spec.App, spec.Engine, spec.Policy, spec.Seed = functionApp(), engine, "kpa:target=10", seed
			spec.Load, spec.Duration = spells{rate: 0.01, on: 48 * time.Hour, period: 48 * time.Hour}, 24*time.Hour
			out, err := Run(context.Background(), spec)
			if err != nil {
				t.Fatal(err)
			}
			m, k := out.Meter, &out.Meter.Kinds[0]
			for i, x := range [...]float64{k.Arrived, k.Over / k.Ended, m.ReplicaSeconds / 3600, m.Services[0].CoreSeconds,
				k.Latency.Mean() / 1e9} {
				of[i] += x / seeds
			}
		}
		return of
	}
	truth, fluid := run("event"), run("fluid")
	for i, what := range []string{"requests", "cold starts", "replica-hours", "core-seconds", "mean latency"} {
		t.Logf("%s: fluid %.4g, event %.4g", what, fluid[i], truth[i])
		if math.Abs(fluid[i]/truth[i]-1) > 0.1 {
			t.Errorf("%s: the fluid engine says %.4g, the event engine %.4g", what, fluid[i], truth[i])
		}
	}
}
