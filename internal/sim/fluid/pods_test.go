package fluid

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

func TestScaleOutServesAfterStartUp(t *testing.T) {
	e := New(sim.Config{App: station(1, 1), Load: constant{150}}, 15*time.Second)
	e.AdvanceTo(15 * time.Second)
	e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(3)}))
	e.AdvanceTo(24 * time.Second)
	if n := e.cp.Ready(0); n != 1 {
		t.Fatalf("%d replicas are ready before the start-up time has passed", n)
	}
	e.AdvanceTo(25 * time.Second)
	if n := e.cp.Ready(0); n != 3 {
		t.Fatalf("%d replicas are ready after the start-up time, want 3", n)
	}
	if n := len(e.services[0].cohorts); n != 2 {
		t.Errorf("%d cohorts: new replicas must not share the backlog of the old one", n)
	}
	e.AdvanceTo(5 * time.Minute)
	if n := len(e.services[0].cohorts); n != 1 || e.services[0].cohorts[0].pods != 3 {
		t.Errorf("%d cohorts after the backlog is gone, want one of all 3", n)
	}
	near(t, "work per replica", e.services[0].cohorts[0].out, 50, .01)
}

func TestScaleInDrainsFirst(t *testing.T) {
	e := New(sim.Config{App: station(1, 4), Load: constant{100}}, 15*time.Second)
	e.AdvanceTo(time.Minute)
	e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(2)}))
	if n := e.cp.Ready(0); n != 2 {
		t.Fatalf("%d replicas in routing after the plan, want 2", n)
	}
	e.AdvanceTo(2 * time.Minute)
	if n := len(e.cp.Slots(0)); n != 2 {
		t.Errorf("%d pods are left a minute later, want 2", n)
	}
	if m := e.Meter().Kinds[0]; m.Failed > 0 {
		t.Errorf("%v requests failed by draining", m.Failed)
	}
}

func TestResizeTakesEffect(t *testing.T) {
	e := New(sim.Config{App: station(.5, 2), Load: constant{150}}, 15*time.Second)
	e.AdvanceTo(time.Minute)
	e.Apply(set(0, loadline.Setting{CPULimit: loadline.Some(2.0)}))
	e.AdvanceTo(2 * time.Minute)
	c := e.services[0].cohorts[0]
	if len(e.services[0].cohorts) != 1 || c.limit != 2 || c.extra > 0 {
		t.Errorf("a minute after the resize: %d cohorts, limit %v, backlog %v", len(e.services[0].cohorts), c.limit, c.extra)
	}
}

func optional() *loadline.App {
	app, _ := cell{limit: 1, demand: 10, cv: 1, replicas: 1, fan: 1}.app()
	app.Kinds[0].Root.Stages[0][0].Optional = true
	return app
}

func TestBrownoutDropsOptionalCallsOnly(t *testing.T) {
	e := New(sim.Config{App: optional(), Load: constant{20}}, 15*time.Second)
	e.AdvanceTo(time.Minute)
	e.Apply(set(1, loadline.Setting{Brownout: loadline.Some(true)}))
	before := e.Meter().Services[1].Arrived
	mean := e.Meter().Kinds[0].Latency.Mean()
	e.AdvanceTo(2 * time.Minute)
	m := e.Meter()
	near(t, "dropped calls", m.Services[1].OptionalDropped, 1200, .001)
	near(t, "asked calls", m.Services[1].OptionalAsked, 2400, .01)
	near(t, "visits after the brownout", m.Services[1].Arrived-before, 0, 0)
	near(t, "requests that failed", m.Kinds[0].Failed, 0, 0)
	if m.Kinds[0].Latency.Mean() > .8*mean {
		t.Errorf("requests did not become faster: mean %v before, %v in all", mean, m.Kinds[0].Latency.Mean())
	}
}

func TestOptionalCallsMayFail(t *testing.T) {
	e := New(sim.Config{App: optional(), Load: constant{20}}, 15*time.Second)
	e.Apply(set(1, loadline.Setting{Replicas: loadline.Some(0)}))
	e.AdvanceTo(5 * time.Minute)
	m := e.Meter()
	near(t, "requests that failed", m.Kinds[0].Failed, 0, 0)
	if m.Services[1].Refused < .9*m.Services[1].Arrived {
		t.Errorf("%v of %v visits to a service without replicas were refused", m.Services[1].Refused, m.Services[1].Arrived)
	}
}

func TestTheWorkOfThoseWhoGaveUpIsWasted(t *testing.T) {
	app := station(1, 1)
	app.Kinds[0].Timeout = 2 * time.Second
	e := New(sim.Config{App: app, Load: constant{150}}, 15*time.Second)
	e.AdvanceTo(2 * time.Minute)
	before, used := e.Meter().Kinds[0], e.services[0].cpuSeconds
	e.AdvanceTo(4 * time.Minute)
	m := e.Meter().Kinds[0]
	near(t, "cores in use", (e.services[0].cpuSeconds-used)/120, 1, .01)
	// Processor sharing still serves the smallest in time.
	if good := (m.Completed - before.Completed) / (m.Arrived - before.Arrived); good > .25 {
		t.Errorf("%.0f %% of requests completed in time in an overload of half as much again", 100*good)
	}
}

func TestTooMuchMemoryKillsAndRestarts(t *testing.T) {
	app := station(1, 2)
	app.Services[0].Memory = loadline.Memory{Base: 100 << 20, PerRequest: 1 << 20}
	app.Services[0].Size.MemoryLimit = 400 << 20
	load := steps{{0, 100}, {time.Minute, 300}, {2 * time.Minute, 100}}
	e := New(sim.Config{App: app, Load: load}, 15*time.Second)
	e.AdvanceTo(time.Minute)
	near(t, "restarts before the overload", e.Meter().Services[0].Restarts, 0, 0)
	e.AdvanceTo(2 * time.Minute)
	m := e.Meter()
	if m.Services[0].Restarts == 0 || m.Kinds[0].Failed == 0 {
		t.Errorf("%v restarts and %v failed requests in an overload", m.Services[0].Restarts, m.Kinds[0].Failed)
	}
	e.AdvanceTo(20 * time.Minute)
	if n := e.cp.Ready(0); n != 2 {
		t.Errorf("%d replicas are ready long after the overload, want 2", n)
	}
}

func TestAVersionThatCostsTwiceTheCPU(t *testing.T) {
	e := New(sim.Config{App: station(1, 1), Load: constant{40}, Disturbances: []sim.Disturbance{
		{At: time.Minute, Version: &sim.VersionChange{Service: 0, CPUFactor: 2}},
	}}, 15*time.Second)
	e.AdvanceTo(time.Minute)
	first := e.services[0].cpuSeconds
	e.AdvanceTo(2 * time.Minute)
	near(t, "CPU after the change", e.services[0].cpuSeconds-first, 2*first, .02)
}

func TestCallsToALostNodeFailUntilTheLossIsNoticed(t *testing.T) {
	app := station(1, 2)
	app.Nodes = []loadline.Node{{Name: "a", Cores: 2, Memory: 1 << 30}, {Name: "b", Cores: 2, Memory: 1 << 30}}
	node := 0
	e := New(sim.Config{App: app, Load: constant{100}, Disturbances: []sim.Disturbance{{At: time.Minute, LoseNode: &node}}},
		15*time.Second)
	e.AdvanceTo(time.Minute)
	before := e.Meter().Kinds[0].Failed
	e.AdvanceTo(110 * time.Second)
	near(t, "calls that fail in 50 s", e.Meter().Kinds[0].Failed-before, 50*100/2, .02)
	if n := e.cp.Ready(0); n != 1 {
		t.Errorf("%d replicas are ready after the loss was noticed, want 1", n)
	}
	before = e.Meter().Kinds[0].Failed
	e.AdvanceTo(3 * time.Minute)
	if failed := e.Meter().Kinds[0].Failed - before; failed > 1 {
		t.Errorf("%v calls fail after the loss was noticed", failed)
	}
	e.AdvanceTo(8 * time.Minute)
	if n := e.cp.Ready(0); n != 2 {
		t.Errorf("%d replicas are ready after the toleration, want 2", n)
	}
}

func TestCrowdedNodeSharesByRequest(t *testing.T) {
	app := station(0, 1)
	app.Services = append(app.Services, app.Services[0])
	app.Kinds = append(app.Kinds, app.Kinds[0])
	app.Kinds[1].Root.Service = 1
	app.Services[0].Size.CPURequest, app.Services[1].Size.CPURequest = 1.5, .5
	app.Nodes = []loadline.Node{{Name: "a", Cores: 2, Memory: 1 << 30}}
	e := New(sim.Config{App: app, Load: constant{400, 400}}, 15*time.Second)
	e.AdvanceTo(10 * time.Minute)
	a, b := e.services[0].cpuSeconds, e.services[1].cpuSeconds
	near(t, "cores in use", (a+b)/600, 2, .03)
	near(t, "ratio of shares", a/b, 3, .1)
}

func TestLeastRequestRoutingBeatsRandom(t *testing.T) {
	p99 := func(r loadline.Routing) float64 {
		app, rate := cell{load: .8, limit: 1, demand: 10, cv: 1, replicas: 4, routing: r}.app()
		e := New(sim.Config{App: app, Load: constant{rate}}, 15*time.Second)
		e.AdvanceTo(5 * time.Minute)
		return e.Meter().Kinds[0].Latency.Quantile(.99)
	}
	if random, least := p99(loadline.RouteRandom), p99(loadline.RouteLeastRequest); least > .8*random {
		t.Errorf("p99 %v with the better of two, %v at random", least, random)
	}
}

func TestCostIsTheLargerOfRequestAndUsage(t *testing.T) {
	app := station(1, 2)
	app.Services[0].Size.CPURequest = .25
	e := New(sim.Config{App: app, Load: steps{{0, 20}, {5 * time.Minute, 120}}}, 15*time.Second)
	e.AdvanceTo(5 * time.Minute)
	e.cp.Settle(e.now)
	near(t, "cost while idle", e.Meter().Services[0].CoreSeconds, 150, .01)
	e.AdvanceTo(10 * time.Minute)
	e.Finish()
	near(t, "cost while busy", e.Meter().Services[0].CoreSeconds, 150+1.2*300, .01)
}

// A service may have a draining pod and newer ones that have never been ready.
func TestDrainingBesidePodsThatHaveNeverBeenReady(t *testing.T) {
	app := station(0.5, 2)
	app.Services[0].Startup = loadline.Dist{Mean: time.Minute}
	e := New(sim.Config{App: app, Load: constant{30}, Grace: time.Minute}, 5*time.Second)
	e.AdvanceTo(time.Minute)
	replicas := func(n int) { e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(n)})) }
	replicas(1)
	replicas(6)
	for s := range 30 {
		e.AdvanceTo(time.Minute + time.Duration(s)*time.Second)
	}
	if got := e.ControlPlane().Ready(0); got != 1 {
		t.Errorf("%d ready, want the one that was left", got)
	}
}

// TestNextToNothingIsNoFlow: the remainder in replicas without visits halves in every step, and
// must not become NaN.
func TestNextToNothingIsNoFlow(t *testing.T) {
	e := New(sim.Config{App: station(1, 2), Load: constant{50}}, 5*time.Second)
	e.AdvanceTo(time.Minute)
	s := &e.services[0]
	s.cohorts = append(s.cohorts, s.cohorts[0])
	for i := range s.cohorts {
		s.cohorts[i].pods, s.cohorts[i].out = 1, 100*math.SmallestNonzeroFloat64
	}
	e.ownLatency(s, 0, 0)
	if mean := e.own[0].mean; math.IsNaN(mean) || mean <= 0 {
		t.Errorf("visits take %v s", mean)
	}
}
