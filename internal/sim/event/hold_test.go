package event

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// asleep is a service at zero replicas that holds requests.
func asleep(workers, hold int, startup time.Duration) *loadline.App {
	app := station(loadline.Dist{Mean: ms(10)}, 1, workers, 0, 0)
	s := &app.Services[0]
	s.Hold, s.Startup, s.Bounds.MinReplicas = hold, loadline.Dist{Mean: startup}, 0
	return app
}

// burst is about twenty requests within ten milliseconds.
type burst struct{ at time.Duration }

func (b burst) Rate(_ int, t time.Duration) (float64, time.Duration) {
	switch end := b.at + 10*time.Millisecond; {
	case t < b.at:
		return 0, b.at
	case t < end:
		return 2000, end
	}
	return 0, sim.Never
}

// The first held request wakes the service; all wait for the rest of the start-up and are
// served in order of arrival.
func TestHeldRequestsWaitForTheColdStart(t *testing.T) {
	e := New(sim.Config{App: asleep(1, 1000, 3*time.Second), Load: burst{time.Second}, Seed: 1, CPU: sim.Shared})
	e.AdvanceTo(time.Second + 500*time.Millisecond)
	k, s := &e.Meter().Kinds[0], &e.services[0]
	came := k.Arrived
	if came < 10 || k.InFlight() != came || float64(s.held.count) != came {
		t.Fatalf("%v came, %v are in flight, %v held", came, k.InFlight(), s.held.count)
	}
	if got := e.cp.Allocation()[0].Replicas; got != 1 {
		t.Fatalf("%d replicas were asked for", got)
	}
	if e.Meter().Changes != 0 {
		t.Error("waking counts as a change of the policy's")
	}
	var r sim.Reading
	e.Read(&r)
	// The half second since the first arrival, less 10 ms.
	near(t, "held", r.Services[0].Of[loadline.ServiceHeld], came*.495, .02)
	near(t, "queueing", r.Services[0].Of[loadline.ServiceQueue], r.Services[0].Of[loadline.ServiceHeld], 1e-9)
	near(t, "inside", r.Services[0].Of[loadline.ServiceConcurrency], r.Services[0].Of[loadline.ServiceHeld], 1e-9)
	e.AdvanceTo(time.Minute)
	if k.Completed != came || k.Failed != 0 {
		t.Fatalf("%v of %v completed, %v failed", k.Completed, came, k.Failed)
	}
	// One worker, 10 ms each: the first request waits for the start-up only, the last one also
	// for all others.
	near(t, "quickest", k.Latency.Quantile(0)/1e9, 3.01, .01)
	near(t, "slowest", k.Latency.Quantile(1)/1e9, 3+.01*came, .01)
	near(t, "own latency", e.Meter().Services[0].Own.Mean(), k.Latency.Mean(), .05)
	if s.held.count != 0 || s.held.head != none || s.held.tail != none {
		t.Errorf("something is left: %+v", s.held)
	}
}

func TestAFullHoldRefuses(t *testing.T) {
	e := New(sim.Config{App: asleep(1, 5, 3*time.Second), Load: burst{0}, Seed: 1, CPU: sim.Shared})
	e.AdvanceTo(time.Minute)
	m := e.Meter()
	if k := &m.Kinds[0]; k.Completed != 5 || m.Services[0].Refused != k.Arrived-5 {
		t.Errorf("%v arrived, %v completed, %v refused", k.Arrived, k.Completed, m.Services[0].Refused)
	}
}

// A request that times out while held costs no CPU: its work was never started.
func TestHeldRequestsAreDroppedWhenTheirUserGivesUp(t *testing.T) {
	app := asleep(1, 1000, 3*time.Second)
	app.Kinds[0].Timeout = 2 * time.Second
	e := New(sim.Config{App: app, Load: burst{0}, Seed: 1, CPU: sim.Shared})
	e.AdvanceTo(time.Minute)
	e.Finish()
	m := e.Meter()
	if k := &m.Kinds[0]; k.TimedOut != k.Arrived || k.InFlight() != 0 {
		t.Errorf("%v arrived, %v timed out", k.Arrived, k.TimedOut)
	}
	if s := &m.Services[0]; s.CPUSeconds != 0 || s.Ended != s.Arrived || s.Failed != s.Arrived {
		t.Errorf("%v core-seconds, %v of %v ended, %v failed", s.CPUSeconds, s.Ended, s.Arrived, s.Failed)
	}
}

// A plan for zero replicas does not drop held requests.
func TestAHeldRequestWakesAgain(t *testing.T) {
	e := New(sim.Config{App: asleep(1, 1000, 3*time.Second), Load: burst{0}, Seed: 1, CPU: sim.Shared})
	e.AdvanceTo(time.Second)
	e.Apply(loadline.Plan{Services: []loadline.ServicePlan{{Service: 0, Setting: loadline.Setting{Replicas: loadline.Some(0)}}}})
	e.AdvanceTo(time.Minute)
	if k := &e.Meter().Kinds[0]; k.Completed != k.Arrived {
		t.Errorf("%v of %v completed", k.Completed, k.Arrived)
	}
}

// A service that holds no requests refuses them at zero replicas, and nothing wakes it.
func TestWithoutAHoldNothingWakes(t *testing.T) {
	e := New(sim.Config{App: asleep(1, 0, 3*time.Second), Load: burst{0}, Seed: 1, CPU: sim.Shared})
	e.AdvanceTo(time.Minute)
	m := e.Meter()
	if m.Services[0].Refused != m.Kinds[0].Arrived || e.cp.Allocation()[0].Replicas != 0 {
		t.Errorf("%v of %v refused, %d replicas", m.Services[0].Refused, m.Kinds[0].Arrived, e.cp.Allocation()[0].Replicas)
	}
}

// A second replica that becomes ready takes its part of the held requests.
func TestEveryReplicaTakesFromTheHold(t *testing.T) {
	e := New(sim.Config{App: asleep(1, 1000, 3*time.Second), Load: burst{0}, Seed: 1, CPU: sim.Shared})
	e.AdvanceTo(100 * time.Millisecond)
	e.Apply(loadline.Plan{Services: []loadline.ServicePlan{{Service: 0, Setting: loadline.Setting{Replicas: loadline.Some(2)}}}})
	e.AdvanceTo(time.Minute)
	k := &e.Meter().Kinds[0]
	near(t, "slowest", k.Latency.Quantile(1)/1e9, 3+.01*k.Arrived/2+.05, .03)
}
