package simulate

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/calendar"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
)

// hill is a load that rises to its peak at half time and falls again.
type hill struct{ low, high, seconds float64 }

func (h hill) Rate(_ int, t time.Duration) (float64, time.Duration) {
	const step = 30 * time.Second
	phase := 2 * math.Pi * t.Truncate(step).Seconds() / h.seconds
	return h.low + (h.high-h.low)*(1-math.Cos(phase))/2, t.Truncate(step) + step
}

// mad is a normal policy except for some minutes, in which it does something else.
type mad struct {
	loadline.Policy
	from, to time.Duration
	do       func(s loadline.Situation) loadline.Proposal
}

func (m mad) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	p, err := m.Policy.Decide(now, s)
	if at := sim.Since(now); at >= m.from && at < m.to {
		return m.do(s), nil
	}
	return p, err
}

func toOne(loadline.Situation) loadline.Proposal {
	return loadline.Proposal{Services: []loadline.ServiceProposal{{Setting: loadline.Setting{Replicas: loadline.Some(1)}}}}
}

// asleep never proposes a change.
func asleep(loadline.Situation) loadline.Proposal { return loadline.Proposal{} }

func runMad(t *testing.T, m mad, edit func(*Spec)) *Outcome {
	t.Helper()
	spec := smallSpec()
	spec.Load, spec.Duration = hill{15, 90, 5400}, 90*time.Minute
	sound, err := policy.New("hpa", spec.App)
	if err != nil {
		t.Fatal(err)
	}
	m.Policy = sound
	spec.Decider, spec.Policy = m, "mad"
	edit(&spec)
	out, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.5f over the SLO, %.3f core-hours", float64(out.Result.OverSLORatio), float64(out.Result.CoreHours))
	for _, r := range out.Rungs {
		t.Logf("%v: %v", sim.Since(r.At), r)
	}
	return out
}

// TestGuardsHoldAMadPolicy: at the peak it wants one replica of eight. Without the guards the
// SLO is violated; with them it is met, because they reject the proposal.
func TestGuardsHoldAMadPolicy(t *testing.T) {
	m := mad{from: 40 * time.Minute, to: 60 * time.Minute, do: toOne}
	bare := runMad(t, m, func(*Spec) {})
	if over := float64(bare.Result.OverSLORatio); over < 0.1 {
		t.Fatalf("%v of the requests over the SLO without the guards: the policy is not mad enough to show anything", over)
	}
	held := runMad(t, m, func(s *Spec) { s.Guard = "hpa" })
	if over := float64(held.Result.OverSLORatio); over > 0.01 {
		t.Errorf("%v of the requests over the SLO with the guards, want at most 0.01", over)
	}
}

// TestLadderCatchesAMadPolicy tests the ladder alone: every guard that would limit the
// reductions is off. The burn rate switches the application to the rule within minutes, and
// recovery switches it back.
func TestLadderCatchesAMadPolicy(t *testing.T) {
	for name, m := range map[string]mad{
		"to one": {from: 20 * time.Minute, to: 48 * time.Minute, do: toOne},
		"asleep": {from: 5 * time.Minute, to: 60 * time.Minute, do: asleep},
	} {
		t.Run(name, func(t *testing.T) {
			out := runMad(t, m, func(s *Spec) {
				settings := guard.Defaults()
				settings.Off = []string{"disagreement", "observed", "starting", "burning", "gray", "cool-down", "step"}
				s.Guard, s.GuardSettings = "hpa", &settings
			})
			if over := float64(out.Result.OverSLORatio); over > 0.06 {
				t.Errorf("%v of the requests over the SLO, want at most 0.06: some minutes until the burn shows", over)
			}
			var caught, returned time.Duration
			for _, r := range out.Rungs {
				switch at := sim.Since(r.At); {
				case r.To == guard.Rule && caught == 0 && at > m.from:
					caught = at
					if !strings.Contains(r.Why, "burned its error budget") {
						t.Errorf("handed over because %s", r.Why)
					}
				case r.To == guard.Primary && caught > 0:
					returned = at
				}
			}
			if caught == 0 || caught > m.to {
				t.Errorf("caught after %v, want before %v", caught, m.to)
			}
			if returned < caught+guard.Defaults().Burn.Recovery {
				t.Errorf("handed back after %v, want after the recovery", returned)
			}
			if last := out.Rungs[len(out.Rungs)-1]; last.To != guard.Primary {
				t.Errorf("it ends on %v", last)
			}
		})
	}
}

// TestGuardsCostLittleAroundASoundPolicy: their cost when nothing is wrong.
func TestGuardsCostLittleAroundASoundPolicy(t *testing.T) {
	run := func(rule string) *Outcome {
		spec := smallSpec()
		spec.Load, spec.Duration, spec.Guard = hill{15, 90, 3600}, time.Hour, rule
		out, err := Run(context.Background(), spec)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	bare, guarded := run("").Result, run("hpa").Result
	t.Logf("%v core-hours bare, %v guarded", bare.CoreHours, guarded.CoreHours)
	if extra := float64(guarded.CoreHours/bare.CoreHours) - 1; extra > 0.05 {
		t.Errorf("%.1f%% dearer under the guards, want at most 5%%", 100*extra)
	}
	if float64(guarded.OverSLORatio) > float64(bare.OverSLORatio)+0.002 {
		t.Errorf("%v over the SLO under the guards, %v without", guarded.OverSLORatio, bare.OverSLORatio)
	}
}

// TestLostMetricsUnderTheGuards: without metrics nothing is scaled in, and after some time
// everything is at its floor.
func TestLostMetricsUnderTheGuards(t *testing.T) {
	spec := smallSpec()
	spec.Duration = 30 * time.Minute
	spec.Perturb.MetricsLoss = 1
	settings := guard.Defaults()
	settings.Floor = map[string]guard.Safe{"web": {Replicas: 5}}
	spec.Guard, spec.GuardSettings = "hpa", &settings
	out, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if last := out.Rungs[len(out.Rungs)-1]; last.To != guard.Floor {
		t.Errorf("it ends on %v", last)
	}
	ready := out.Timeline.Ready[0]
	for i := 1; i < len(ready); i++ {
		if ready[i] < ready[i-1] {
			t.Errorf("from %v to %v replicas with nothing to see", ready[i-1], ready[i])
		}
	}
	if end := ready[len(ready)-1]; end != 5 {
		t.Errorf("%v replicas in the end, want the floor of 5", end)
	}
}

func TestFaultyGuardsAreRefused(t *testing.T) {
	spec := smallSpec()
	settings := guard.Defaults()
	settings.Gray.Part = 3
	spec.Guard, spec.GuardSettings = "hpa", &settings
	if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), "gray.part 3") {
		t.Errorf("err %v", err)
	}
	spec.Guard = "hps"
	if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), `did you mean "hpa"`) {
		t.Errorf("err %v", err)
	}
}

// TestADeploymentStaysWithinItsAxes: what a LoadLine with these axes would not apply, a
// simulation does not apply either, with a guard and without.
func TestADeploymentStaysWithinItsAxes(t *testing.T) {
	run := func(rule string, axes ...string) *Outcome {
		t.Helper()
		spec := smallSpec()
		spec.Load, spec.Duration, spec.Policy, spec.Guard, spec.Axes = hill{15, 90, 1800}, 30*time.Minute, "vpa", rule, axes
		resized := false
		spec.Hooks.Decision = func(d *loadline.Decision) {
			for _, s := range d.Plan.Services {
				resized = resized || s.Setting.CPURequest.Set || s.Setting.MemoryRequest.Set
			}
		}
		out, err := Run(context.Background(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if may := len(axes) == 0 || len(axes) > 1; resized != may {
			t.Errorf("rule %q, axes %v: resized %v", rule, axes, resized)
		}
		return out
	}
	for _, rule := range []string{"", "static"} {
		run(rule)
		run(rule, guard.VerticalRequests, guard.VerticalLimits)
		if held := run(rule, guard.Horizontal); held.Result.Changes != 0 {
			t.Errorf("rule %q: %v changes of a policy that only resizes", rule, held.Result.Changes)
		}
	}
	bad := smallSpec()
	bad.Axes = []string{"Horizontl"}
	if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), `did you mean "Horizontal"`) {
		t.Error(err)
	}
}

// TestTheIntervalIsTheLoadLines: the controller asks at its interval, and a policy with a longer
// period at that.
func TestTheIntervalIsTheLoadLines(t *testing.T) {
	for interval, want := range map[time.Duration]int{0: 40, 30 * time.Second: 20, time.Minute: 10} {
		spec := smallSpec()
		spec.Load, spec.Duration, spec.Guard, spec.Interval = hill{15, 90, 600}, 10*time.Minute, "hpa", interval
		out, err := Run(context.Background(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if out.Effort.Decisions != want {
			t.Errorf("interval %v: %d decisions, want %d", interval, out.Effort.Decisions, want)
		}
	}
}

// jump is a load that changes once.
type jump struct {
	before, after float64
	at            time.Duration
}

func (j jump) Rate(_ int, t time.Duration) (float64, time.Duration) {
	if t < j.at {
		return j.before, j.at
	}
	return j.after, sim.Never
}

// TestGuardedPoliciesSeeWhatTheControllerReads: a policy behind the guard runs in the controller,
// which reads rates over four scrapes from Prometheus. HPA itself has the latest sample of
// metrics-server. 30 s after a jump, half of the controller's minute is of the time before it.
func TestGuardedPoliciesSeeWhatTheControllerReads(t *testing.T) {
	for _, c := range []struct {
		guard string
		want  float64
	}{{"", 40}, {"hpa", 25}} {
		spec := smallSpec()
		spec.Load, spec.Duration, spec.Engine = jump{10, 40, 5 * time.Minute}, 6*time.Minute, "fluid"
		spec.Policy, spec.Guard = "hpa", c.guard
		seen := math.NaN()
		spec.Hooks.Decided = func(d *loadline.Decision, s loadline.Situation) {
			if now := s.Now(); sim.Since(now.At) == 5*time.Minute+30*time.Second {
				seen = now.Services[0].Rate.Value
			}
		}
		if _, err := Run(context.Background(), spec); err != nil {
			t.Fatal(err)
		}
		if math.Abs(seen-c.want) > 0.5 {
			t.Errorf("guard %q: %.1f requests/s are seen 30 s after a jump from 10 to 40, want %v", c.guard, seen, c.want)
		}
	}
}

// TestCalendarHoldsWithoutData: least replicas by the calendar hold in simulation as in a cluster, also
// while there are no metrics, and end with their window.
func TestCalendarHoldsWithoutData(t *testing.T) {
	window, err := calendar.ParseWindow("10 0 * * *", "20 0 * * *", "UTC")
	if err != nil {
		t.Fatal(err)
	}
	replicas := map[bool]int{}
	run := func(lost bool) {
		spec := smallSpec()
		settings := guard.Defaults()
		settings.Calendar = map[string][]guard.Scheduled{spec.App.Services[0].Name: {{Window: window, Replicas: 7}}}
		spec.Load, spec.Duration, spec.Policy, spec.Guard, spec.GuardSettings = hill{15, 16, 5400}, 15*time.Minute, "static:replicas=2", "hpa",
			&settings
		if lost {
			spec.Perturb.MetricsLoss = 1
		}
		spec.Hooks.Decision = func(d *loadline.Decision) {
			for _, p := range d.Plan.Services {
				if at := sim.Since(d.At); p.Setting.Replicas.Set && p.Setting.Replicas.Value == 7 {
					if at < 10*time.Minute {
						t.Errorf("seven replicas at %v", at)
					}
					replicas[lost] = 7
				}
			}
		}
		if _, err := Run(context.Background(), spec); err != nil {
			t.Fatal(err)
		}
		if replicas[lost] != 7 {
			t.Errorf("metrics lost: %v: never seven replicas", lost)
		}
	}
	run(false)
	run(true)
}
