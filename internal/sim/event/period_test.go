package event

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// pulses is a load in bursts: in the first millisecond of each interval.
type pulses struct {
	every time.Duration
	rate  float64
}

func (p pulses) Rate(_ int, t time.Duration) (float64, time.Duration) {
	start := t.Truncate(p.every)
	if t < start+time.Millisecond {
		return p.rate, start + time.Millisecond
	}
	return 0, start + p.every
}

// quotaApp has one service with half a core.
func quotaApp(cpu time.Duration) *loadline.App {
	return &loadline.App{
		Services: []loadline.Service{{
			Name: "a", CPU: loadline.Dist{Mean: cpu}, Workers: 100, Backlog: 100, Replicas: 1,
			Size: loadline.Size{CPURequest: 0.5, CPULimit: 0.5}, Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 1, MaxCPU: 1},
		}},
		Kinds: []loadline.Kind{{Name: "k", Share: 1, Root: loadline.Call{Probability: 1, Times: 1, Work: 1}}},
		Nodes: []loadline.Node{{Name: "n", Cores: 1, Memory: 1 << 30}},
	}
}

// The kernel's nr_periods: each period with work, and after it one that turns out to be idle.
func TestPeriodsAreCountedAsTheKernelDoes(t *testing.T) {
	for name, c := range map[string]struct {
		every    time.Duration
		perBurst float64
	}{
		"work in every period":        {sim.QuotaPeriod, 1},
		"work in every second period": {2 * sim.QuotaPeriod, 2},
		"work once in a second":       {time.Second, 2},
	} {
		// Some ten jobs of 0.1 ms per burst: nearly every burst has one and is in one period.
		const bursts = 500
		e := New(sim.Config{App: quotaApp(100 * time.Microsecond), Load: pulses{c.every, 10_000}, Seed: 1, CPU: sim.Quota})
		e.AdvanceTo(bursts * c.every)
		m := &e.Meter().Services[0]
		if got := m.Periods / bursts; math.Abs(got-c.perBurst) > 0.05 {
			t.Errorf("%s: %.2f periods per burst, want %.0f", name, got, c.perBurst)
		}
		if m.ThrottledPeriods > 0 {
			t.Errorf("%s: %.0f throttled periods, want none", name, m.ThrottledPeriods)
		}
	}
}

// A replica that has just become ready has its quota: its first requests are not throttled.
func TestANewReplicaHasItsQuota(t *testing.T) {
	for seed := range uint64(20) {
		e := New(sim.Config{App: quotaApp(5 * time.Millisecond), Load: pulses{time.Hour, 3000}, Seed: seed, CPU: sim.Quota})
		e.AdvanceTo(time.Second)
		if m := &e.Meter().Services[0]; m.ThrottledPeriods > 0 {
			t.Errorf("seed %d: %.0f throttled periods for %.0f requests of 5 ms at the start, with a quota of 50 ms",
				seed, m.ThrottledPeriods, m.Arrived)
		}
	}
}
