package event

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

func set(service int, s loadline.Setting) loadline.Plan {
	return loadline.Plan{Services: []loadline.ServicePlan{{Service: service, Setting: s}}}
}

func TestAFullBacklogRefuses(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(100)}, 1, 1, 2, 1)
	e := run(sim.Config{App: app, Load: constant{50}, Seed: 1, CPU: sim.Shared}, 10*time.Minute)
	m := e.Meter()
	near(t, "throughput", m.Kinds[0].Completed/600, 10, 0.01)
	near(t, "refused", m.Services[0].Refused, m.Kinds[0].Arrived-6000, 0.01)
	// One in service and two waiting: no visit stays in the replica for longer than 0.3 s.
	if max := e.Meter().Kinds[0].Latency.Quantile(1); max > 0.3001e9 {
		t.Errorf("a visit took %.3f s", max/1e9)
	}
}

func TestTheWorkOfThoseWhoGaveUpIsWasted(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(100)}, 1, 1, 1000, 1)
	app.Kinds[0].Timeout = 500 * time.Millisecond
	e := run(sim.Config{App: app, Load: constant{12}, Seed: 1, CPU: sim.Shared}, 10*time.Minute)
	m := e.Meter()
	near(t, "cores in use", m.Services[0].CPUSeconds/600, 1, 0.01)
	if m.Kinds[0].TimedOut < 0.5*m.Kinds[0].Arrived {
		t.Errorf("%v of %v gave up; an overloaded queue should serve hardly anyone in time", m.Kinds[0].TimedOut, m.Kinds[0].Arrived)
	}
	if m.Kinds[0].Latency.Quantile(1) > 0.5e9 {
		t.Errorf("a request completed after %v ms although its user gives up after 500", m.Kinds[0].Latency.Quantile(1)/1e6)
	}
}

func TestTooMuchMemoryKillsAndRestarts(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(100)}, 0.5, 100, 0, 1)
	app.Services[0].Memory = loadline.Memory{Base: 100 << 20, PerRequest: 10 << 20}
	app.Services[0].Size.MemoryLimit = 200 << 20 // ten requests at once, not eleven
	e := New(sim.Config{App: app, Load: constant{40}, Seed: 1, CPU: sim.Shared})
	e.AdvanceTo(3 * time.Second)
	m := e.Meter()
	if m.Services[0].Restarts != 1 {
		t.Fatalf("%v restarts in 3 s of overload, want 1 (it takes 10 s to start again)", m.Services[0].Restarts)
	}
	if e.cp.Ready(0) != 0 {
		t.Error("a killed pod is ready at once")
	}
	failed := m.Kinds[0].Failed
	e.AdvanceTo(5 * time.Second)
	if m.Kinds[0].Failed <= failed {
		t.Error("without a ready replica requests should be refused")
	}
	e.AdvanceTo(14 * time.Second)
	if m.Services[0].Restarts < 2 {
		t.Error("it did not start again and fill up again")
	}
}

func TestScaleOutServesAfterStartUp(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(100)}, 1, 10, 1000, 1)
	app.Services[0].Startup = loadline.Dist{Mean: 20 * time.Second, CV: 0.2}
	e := New(sim.Config{App: app, Load: constant{1}, Seed: 1})
	e.AdvanceTo(time.Minute)
	e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(40)}))
	e.AdvanceTo(65 * time.Second)
	if got := e.cp.Ready(0); got != 1 {
		t.Fatalf("%d ready after 5 s", got)
	}
	e.AdvanceTo(80 * time.Second)
	if got := e.cp.Ready(0); got < 5 || got > 35 {
		t.Errorf("%d of 40 ready after the mean start-up time: it should vary from pod to pod", got)
	}
	e.AdvanceTo(2 * time.Minute)
	if got := e.cp.Ready(0); got != 40 {
		t.Errorf("%d ready after a minute", got)
	}
}

func TestDrainingFinishesWhatItHasAndGraceEndsIt(t *testing.T) {
	app := station(loadline.Dist{Mean: 10 * time.Second}, 1, 10, 0, 2)
	app.Services[0].Size.CPULimit = 0 // no limit: one core each
	e := New(sim.Config{App: app, Load: constant{0.5}, Seed: 1, Grace: 15 * time.Second})
	e.AdvanceTo(time.Minute)
	e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(1)}))
	if len(e.cp.Slots(0)) != 2 || e.cp.Ready(0) != 1 {
		t.Fatalf("%d pods, %d ready; one should drain", len(e.cp.Slots(0)), e.cp.Ready(0))
	}
	e.AdvanceTo(90 * time.Second)
	if len(e.cp.Slots(0)) != 1 {
		t.Error("the drained pod is still there")
	}
	if e.meter.Kinds[0].Failed > 0 {
		t.Errorf("%v requests failed although draining gave them time", e.meter.Kinds[0].Failed)
	}

	hasty := New(sim.Config{App: app, Load: constant{0.5}, Seed: 1, Grace: time.Second})
	hasty.AdvanceTo(time.Minute)
	hasty.Apply(set(0, loadline.Setting{Replicas: loadline.Some(0)}))
	hasty.AdvanceTo(62 * time.Second)
	if hasty.meter.Kinds[0].Failed == 0 {
		t.Error("a grace of one second should have cost requests of ten")
	}
}

func TestInPlaceResizeTakesEffectWithoutRestart(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(100)}, 0.5, 100, 1000, 1)
	e := New(sim.Config{App: app, Load: constant{8}, Seed: 1})
	e.AdvanceTo(2 * time.Minute)
	before := e.inTree(0)
	e.Apply(set(0, loadline.Setting{CPULimit: loadline.Some(2.0)}))
	e.AdvanceTo(4 * time.Minute)
	if before < 100 || e.inTree(0) > 20 {
		t.Errorf("%v waited before the resize and %v two minutes after it", before, e.inTree(0))
	}
	if e.meter.Services[0].Restarts != 0 || e.meter.Kinds[0].Failed != 0 {
		t.Error("an in-place resize restarted something")
	}
	restarting := New(sim.Config{App: app, Load: constant{8}, Seed: 1, ResizeRestarts: true})
	restarting.AdvanceTo(time.Minute)
	restarting.Apply(set(0, loadline.Setting{CPULimit: loadline.Some(2.0)}))
	restarting.AdvanceTo(2 * time.Minute)
	if restarting.meter.Kinds[0].Failed == 0 {
		t.Error("a resize with restart cost nothing")
	}
}

func TestBrownoutDropsOptionalCallsOnly(t *testing.T) {
	app := shop()
	e := New(sim.Config{App: app, Load: constant{10, 5}, Seed: 1})
	e.AdvanceTo(time.Minute)
	visits := e.meter.Services[3].Arrived
	e.Apply(set(3, loadline.Setting{Brownout: loadline.Some(true), Replicas: loadline.Some(0)}))
	e.AdvanceTo(2 * time.Minute)
	if e.meter.Services[3].Arrived != visits {
		t.Error("ads were called in brownout")
	}
	near(t, "dropped", e.meter.Services[3].OptionalDropped, 600, 0.15)
	if e.meter.Kinds[0].Failed > 0 {
		t.Errorf("%v requests failed because an optional service was missing", e.meter.Kinds[0].Failed)
	}
	e.Apply(set(0, loadline.Setting{Brownout: loadline.Some(true)}))
	arrived := e.meter.Services[0].Arrived
	e.AdvanceTo(3 * time.Minute)
	if e.meter.Services[0].Arrived <= arrived {
		t.Error("brownout of a service whose calls are not optional stopped them")
	}
}

func TestNodesShareByRequestWhenCrowded(t *testing.T) {
	busy := loadline.Dist{Mean: time.Hour}
	app := station(busy, 0, 4, 1000, 1)
	app.Services = append(app.Services, server("b", busy, 0, 4, 1000, 1))
	app.Services[0].Size.CPURequest, app.Services[1].Size.CPURequest = 0.5, 1.5
	app.Kinds = append(app.Kinds, loadline.Kind{Name: "b", SLO: app.Kinds[0].SLO, Root: leaf(1)})
	app.Nodes = []loadline.Node{{Name: "n", Cores: 2, Memory: 1 << 30}}
	e := New(sim.Config{App: app, Load: constant{10, 10}, Seed: 1})
	e.AdvanceTo(10 * time.Second)
	var r sim.Reading
	e.Read(&r)
	a, b := r.Services[0].Of[loadline.ServiceCPU], r.Services[1].Of[loadline.ServiceCPU]
	e.AdvanceTo(70 * time.Second)
	e.Read(&r)
	near(t, "cores of a", (r.Services[0].Of[loadline.ServiceCPU]-a)/60, 0.5, 0.01)
	near(t, "cores of b", (r.Services[1].Of[loadline.ServiceCPU]-b)/60, 1.5, 0.01)
	near(t, "cores of the node", r.Nodes[0].CPUSeconds, r.Services[0].Of[loadline.ServiceCPU]+r.Services[1].Of[loadline.ServiceCPU], 1e-6)
}

func TestPodsWithoutRoomStayPending(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(10)}, 1, 10, 10, 1)
	app.Nodes = []loadline.Node{{Name: "n", Cores: 3, Memory: 1 << 30}}
	e := New(sim.Config{App: app, Load: constant{1}, Seed: 1})
	e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(5)}))
	e.AdvanceTo(time.Minute)
	if got := e.cp.Ready(0); got != 3 {
		t.Fatalf("%d ready on three cores", got)
	}
	pending := 0
	for _, slot := range e.cp.Slots(0) {
		if e.cp.Pod(slot).Phase == loadline.PodPending {
			pending++
		}
	}
	if pending != 2 {
		t.Errorf("%d pending, want 2", pending)
	}
}

func TestLeastRequestRoutingBeatsRandom(t *testing.T) {
	mean := func(r loadline.Routing) float64 {
		app := station(loadline.Dist{Mean: ms(10), CV: 1}, 1, many, 0, 4)
		app.Routing = r
		return run(sim.Config{App: app, Load: constant{320}, Seed: 1, CPU: sim.Shared}, 10*time.Minute).Meter().Kinds[0].Latency.Mean()
	}
	random, least := mean(loadline.RouteRandom), mean(loadline.RouteLeastRequest)
	// Random: four M/G/1-PS at 80 %.
	near(t, "mean with random routing", random, 50e6, 0.03)
	if least > 0.6*random {
		t.Errorf("the better of two: %.1f ms, random: %.1f ms", least/1e6, random/1e6)
	}
}

func TestAVersionThatCostsTwiceTheCPU(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(10)}, 1, many, 0, 1)
	e := New(sim.Config{App: app, Load: constant{20}, Seed: 1, Disturbances: []sim.Disturbance{
		{At: 10 * time.Minute, Version: &sim.VersionChange{Service: 0, CPUFactor: 2}},
	}})
	e.AdvanceTo(10 * time.Minute)
	var r sim.Reading
	e.Read(&r)
	before := r.Services[0].Of[loadline.ServiceCPU]
	e.AdvanceTo(20 * time.Minute)
	e.Read(&r)
	near(t, "CPU after over before", (r.Services[0].Of[loadline.ServiceCPU]-before)/before, 2, 0.05)
}

// Cost is the larger of request and usage, from binding to deletion.
func TestCostIsTheLargerOfRequestAndUsage(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(100)}, 1, many, 0, 1)
	app.Services[0].Size = loadline.Size{CPURequest: 0.1, CPULimit: 1, MemoryRequest: 1 << 30}
	e := run(sim.Config{App: app, Load: constant{5}, Seed: 1}, time.Hour)
	m := e.Meter().Services[0]
	near(t, "core seconds", m.CoreSeconds, m.CPUSeconds, 0.005)
	near(t, "byte seconds", m.ByteSeconds, float64(1<<30)*3600, 1e-9)
	app.Services[0].Size.CPURequest = 0.9
	m = run(sim.Config{App: app, Load: constant{5}, Seed: 1}, time.Hour).Meter().Services[0]
	near(t, "core seconds of a large request", m.CoreSeconds, 0.9*3600, 0.01)
	// Billing starts with binding: a pod that starts up costs its request.
	slow := station(loadline.Dist{Mean: ms(1)}, 1, many, 0, 1)
	slow.Services[0].Startup = loadline.Dist{Mean: 2 * time.Hour}
	e = New(sim.Config{App: slow, Load: constant{1}, Seed: 1})
	e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(2)}))
	e.AdvanceTo(time.Hour)
	e.Finish()
	near(t, "core seconds of one serving and one starting", e.Meter().Services[0].CoreSeconds, 7200, 1e-6)
}

// A minute is in violation when more than 1 % of a kind's requests in it were late.
func TestWindowsAreJudgedByTheMinute(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(10)}, 10, many, 0, 1)
	app.Kinds[0].SLO = loadline.SLO{Percentile: 99, Latency: ms(15)}
	e := run(sim.Config{App: app, Load: constant{50}, Seed: 1, CPU: sim.Shared, Disturbances: []sim.Disturbance{
		{At: 5 * time.Minute, Version: &sim.VersionChange{CPUFactor: 2}},
		{At: 7 * time.Minute, Version: &sim.VersionChange{CPUFactor: 0.5}},
	}}, 10*time.Minute)
	m := e.Meter()
	if m.Windows != 10 || math.Abs(m.WindowsViolated-2) > 1 {
		t.Errorf("%v of %v windows violated, want about 2 of 10", m.WindowsViolated, m.Windows)
	}
	near(t, "share over the SLO", m.Kinds[0].Over/m.Kinds[0].Ended, 0.2, 0.05)
}
