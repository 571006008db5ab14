package fluid

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance*math.Abs(want)+1e-12 {
		t.Errorf("%s is %.6g, want %.6g within %.2g %%", what, got, want, 100*tolerance)
	}
}

func set(service int, s loadline.Setting) loadline.Plan {
	return loadline.Plan{Services: []loadline.ServicePlan{{Service: service, Setting: s}}}
}

func station(limit float64, replicas int) *loadline.App {
	app, _ := cell{limit: limit, demand: 10, cv: 1, replicas: replicas}.app()
	return app
}

// Requests neither vanish nor appear, whatever happens to the pods.
func TestEveryRequestIsAccountedFor(t *testing.T) {
	for name, c := range map[string]sim.Config{
		"steady":   {App: station40(), Load: constant{5, 5, 5, 5}},
		"overload": {App: station40(), Load: constant{60, 5, 60, 5}},
		"a wave":   {App: station40(), Load: wave{20, .9, 600}, CPU: sim.Shared},
		"held":     {App: holding40(), Load: wave{20, .9, 600}},
	} {
		t.Run(name, func(t *testing.T) {
			e := New(c, 15*time.Second)
			for i := range 40 {
				e.AdvanceTo(time.Duration(i+1) * 15 * time.Second)
				e.Apply(set(i, loadline.Setting{Replicas: loadline.Some(i % 4)}))
				for k := range e.kinds {
					m, kd := &e.meter.Kinds[k], &e.kinds[k]
					inside := kd.inside - kd.zombies - kd.ghosts
					if diff := math.Abs(m.InFlight() - inside); diff > 1e-9*m.Arrived || m.Completed < 0 || m.Failed < -1e-9 {
						t.Fatalf("step %d kind %d: arrived %v, completed %v, failed %v, but %v in flight", i, k, m.Arrived, m.Completed,
							m.Failed, inside)
					}
				}
				for s := range e.services {
					m := &e.meter.Services[s]
					if diff := math.Abs(m.Arrived - m.Ended - e.services[s].crowd); diff > 1e-6*m.Arrived+1e-6 {
						t.Fatalf("step %d service %d: arrived %v, ended %v, crowd %v", i, s, m.Arrived, m.Ended, e.services[s].crowd)
					}
				}
			}
		})
	}
}

func TestLittlesLawOnEveryService(t *testing.T) {
	e := New(sim.Config{App: station40(), Load: constant{5, 5, 5, 5}}, 15*time.Second)
	e.AdvanceTo(time.Hour)
	var r sim.Reading
	e.Read(&r)
	for i := range r.Services {
		if s := &r.Services[i]; s.Latency.Count > 0 {
			near(t, app40Name(i)+": visits in it", s.Of[loadline.ServiceConcurrency]/3600,
				s.Of[loadline.ServiceRate]/3600*s.Latency.SumSeconds/s.Latency.Count, .01)
		}
	}
}

// holding40 is station40 with a small queue for held requests at every service.
func holding40() *loadline.App {
	app := station40()
	for i := range app.Services {
		app.Services[i].Hold = 10 + 20*(i%3)
	}
	return app
}

func app40Name(i int) string { return station40().Services[i].Name }

func TestProcessorSharingIsInsensitiveToTheDistribution(t *testing.T) {
	for _, cv := range []float64{0, .5, 1, 2} {
		for _, load := range []float64{.2, .5, .8, .9} {
			app, rate := cell{load: load, limit: .5, demand: 10, cv: cv, replicas: 3}.app()
			e := New(sim.Config{App: app, Load: constant{rate}, CPU: sim.Shared}, 15*time.Second)
			e.AdvanceTo(10 * time.Minute)
			near(t, "mean sojourn", e.Meter().Kinds[0].Latency.Mean()/1e9, .02/(1-load), .05)
		}
	}
}

func TestSaturatedReplicasServeTheirCapacity(t *testing.T) {
	for _, model := range []sim.CPUModel{sim.Quota, sim.Shared} {
		e := New(sim.Config{App: station(.5, 2), Load: constant{300}, CPU: model}, 15*time.Second)
		e.AdvanceTo(5 * time.Minute)
		before, used := e.Meter().Kinds[0].Completed, e.services[0].cpuSeconds
		e.AdvanceTo(15 * time.Minute)
		near(t, "throughput", (e.Meter().Kinds[0].Completed-before)/600, 100, .01)
		near(t, "cores in use", (e.services[0].cpuSeconds-used)/600, 1, .01)
		near(t, "visits in a full replica", e.services[0].cohorts[0].crowd, 1200, .01)
		if m := e.Meter().Services[0]; model == sim.Quota && m.ThrottledPeriods < .9*m.Periods {
			t.Errorf("%.0f of %.0f periods throttled; a saturated replica is throttled in all", m.ThrottledPeriods, m.Periods)
		}
	}
}

func TestABacklogDrainsAtTheSpareCapacity(t *testing.T) {
	load := steps{{0, 50}, {time.Minute, 150}, {2 * time.Minute, 50}}
	e := New(sim.Config{App: station(1, 1), Load: load, CPU: sim.Shared}, 15*time.Second)
	e.AdvanceTo(2 * time.Minute)
	// 50 per second above capacity for a minute, less those refused by a full backlog.
	near(t, "crowd at the peak", e.services[0].cohorts[0].crowd, 1200, .01)
	e.AdvanceTo(2*time.Minute + 12*time.Second)
	near(t, "crowd half drained", e.services[0].cohorts[0].crowd, 600, .05)
	e.AdvanceTo(3 * time.Minute)
	if c := e.services[0].cohorts[0]; c.crowd > 2 || c.extra > 0 {
		t.Errorf("after the drain %v visits are left, %v of the overload", c.crowd, c.extra)
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	run := func(seed uint64) float64 {
		e := New(sim.Config{App: station40(), Load: constant{5, 5, 5, 5}, Seed: seed}, 15*time.Second)
		e.AddNoise()
		e.AdvanceTo(time.Hour)
		e.Finish()
		return e.Meter().Latency().Quantile(.99) + e.Meter().Services[3].CoreSeconds + e.Meter().Kinds[1].Over
	}
	if a, b := run(1), run(1); a != b {
		t.Errorf("one seed, two results: %v and %v", a, b)
	}
	if a, b := run(1), run(2); a == b {
		t.Errorf("two seeds, one result: %v", a)
	}
}

func TestSteppingDoesNotAllocate(t *testing.T) {
	for name, load := range map[string]sim.Arrivals{"steady": constant{5, 5, 5, 5}, "overload": constant{80, 80, 80, 80}} {
		e := New(sim.Config{App: station40(), Load: load}, 15*time.Second)
		var r sim.Reading
		at := 10 * time.Minute
		e.AdvanceTo(at)
		e.Read(&r)
		if n := testing.AllocsPerRun(100, func() {
			at += 15 * time.Second
			e.AdvanceTo(at)
			e.Read(&r)
		}); n > 0 {
			t.Errorf("%s: %v allocations per step", name, n)
		}
	}
}

// Stopping in between must not change the result of a run.
func TestPartialStepsAgree(t *testing.T) {
	run := func(every time.Duration) *sim.Meter {
		e := New(sim.Config{App: station(1, 2), Load: steps{{0, 60}, {2 * time.Minute, 260}, {3 * time.Minute, 60}}}, 15*time.Second)
		for at := every; at <= 6*time.Minute; at += every {
			e.AdvanceTo(at)
		}
		e.Finish()
		return e.Meter()
	}
	a, b := run(6*time.Minute), run(7*time.Second+500*time.Millisecond)
	near(t, "completed", b.Kinds[0].Completed, a.Kinds[0].Completed, .005)
	near(t, "over the SLO", b.Kinds[0].Over, a.Kinds[0].Over, .05)
	near(t, "cost", b.Services[0].CoreSeconds, a.Services[0].CoreSeconds, .001)
}

// A run begins with a jump of the load from zero. Services without a backlog from then on must
// get their latency too.
func TestCalmServicesHaveTheirLatencyFromTheStart(t *testing.T) {
	app := &loadline.App{
		Services: []loadline.Service{server("busy", lognormalCPU(10, 1), 1, 100, 100, 1),
			server("calm", lognormalCPU(1, 1), 1, 100, 100, 1)},
		Kinds: []loadline.Kind{{Name: "k", Share: 1, Root: tree(0, []loadline.Call{tree(1)})}},
	}
	e := New(sim.Config{App: app, Load: constant{50}}, 15*time.Second)
	e.AdvanceTo(5 * time.Minute)
	var r sim.Reading
	e.Read(&r)
	for i, least := range []float64{0.01, 0.00095} {
		if l := &r.Services[i].Latency; !(l.SumSeconds/l.Count >= least) || !(l.P99 > least) {
			t.Errorf("%s: mean %v, p99 %v, want at least its CPU time", app.Services[i].Name, l.SumSeconds/l.Count, l.P99)
		}
	}
}
