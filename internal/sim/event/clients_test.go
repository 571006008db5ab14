package event

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

func plain(app *loadline.App) *loadline.App { return app }

// impatient gives the shop every option of its clients.
func impatient(app *loadline.App) *loadline.App {
	app.Routing = loadline.RouteKeepAlive
	app.KeepAlive = loadline.KeepAlive{Connections: 3, Users: 20, Lifetime: 20 * time.Second}
	app.Services[0].RetryBudget = 0.5
	browse := &app.Kinds[0]
	browse.Retries, browse.RetryBudget = loadline.Retries{Attempts: 2, Backoff: 50 * time.Millisecond}, 0.5
	browse.Users = loadline.Users{Requests: 6, Think: loadline.Dist{Mean: 2 * time.Second, CV: 1}, Patience: ms(250), Leave: 0.3}
	cart := &browse.Root.Stages[0][0]
	cart.Timeout, cart.Retries = ms(60), loadline.Retries{Attempts: 1, Backoff: ms(10)}
	db := &cart.Stages[0][0]
	db.Timeout, db.Retries = ms(20), loadline.Retries{Attempts: 2, Backoff: ms(5)}
	return app
}

// slowCall is a service that calls another one, which needs 100 ms of CPU time for each visit; the
// caller gives the call up after 50 ms.
func slowCall() *loadline.App {
	app := station(loadline.Dist{Mean: ms(1)}, 1, many, 0, 1)
	app.Services = append(app.Services, server("b", loadline.Dist{Mean: ms(100)}, 10, many, 0, 1))
	call := leaf(1)
	call.Timeout = ms(50)
	app.Kinds[0].Root = tree(0, []loadline.Call{call})
	return app
}

func TestACallThatTimesOutFailsWhileItsWorkContinues(t *testing.T) {
	e := run(sim.Config{App: slowCall(), Load: constant{4}, Seed: 1, CPU: sim.Shared}, 10*time.Minute)
	k := &e.Meter().Kinds[0]
	if k.Completed != 0 || k.Failed < 2000 || k.TimedOut != 0 {
		t.Errorf("%v completed, %v failed, %v timed out at the client", k.Completed, k.Failed, k.TimedOut)
	}
	var r sim.Reading
	e.Read(&r)
	c := r.Calls[0]
	if c.Failed != c.Count || math.Abs(c.SumSeconds-0.05*c.Count) > 1e-6*c.Count {
		t.Errorf("calls %+v: each should fail after 50 ms", c)
	}
	near(t, "cores of the callee", r.Services[1].Of[loadline.ServiceCPU]/600, k.Arrived/600*0.1, 0.01)
}

func TestATimeOutOfAnOptionalCallIsNoFailure(t *testing.T) {
	app := slowCall()
	app.Kinds[0].Root.Stages[0][0].Optional = true
	e := run(sim.Config{App: app, Load: constant{4}, Seed: 1, CPU: sim.Shared}, 10*time.Minute)
	k := &e.Meter().Kinds[0]
	if k.Failed != 0 {
		t.Errorf("%v failed", k.Failed)
	}
	near(t, "mean latency in ms", k.Latency.Mean()/1e6, 51, 0.01)
}

// Three attempts of 50 ms, and back-offs of 5 ms and 15 ms on average between them.
func TestRetriesFollowTheirBackOff(t *testing.T) {
	app := slowCall()
	call := &app.Kinds[0].Root.Stages[0][0]
	call.Optional, call.Retries = true, loadline.Retries{Attempts: 2, Backoff: ms(10)}
	e := run(sim.Config{App: app, Load: constant{2}, Seed: 1, CPU: sim.Shared}, 20*time.Minute)
	m := e.Meter()
	near(t, "mean latency in ms", m.Kinds[0].Latency.Mean()/1e6, 1+3*50+5+15, 0.01)
	near(t, "visits for each request", m.Services[1].Arrived/m.Kinds[0].Arrived, 3, 0.001)
	near(t, "retries for each request", m.Services[1].Retried/m.Kinds[0].Arrived, 2, 0.001)
	if longest := m.Kinds[0].Latency.Quantile(1) / 1e6; longest > 1+150+10+30+2 {
		t.Errorf("a request took %.1f ms", longest)
	}
}

func TestABudgetLimitsRetries(t *testing.T) {
	app := slowCall()
	app.Kinds[0].Root.Stages[0][0].Retries = loadline.Retries{Attempts: 5, Backoff: ms(10)}
	app.Services[0].RetryBudget = 0.2
	e := run(sim.Config{App: app, Load: constant{4}, Seed: 1, CPU: sim.Shared}, 10*time.Minute)
	m := e.Meter()
	if want := 0.2*m.Kinds[0].Arrived + maxTokens; m.Services[1].Retried > want || m.Services[1].Retried < want-maxTokens {
		t.Errorf("%v retries of %v calls, want at most %v", m.Services[1].Retried, m.Kinds[0].Arrived, want)
	}
}

// surge is a load that is higher for half a minute.
type surge struct{ usual, high float64 }

func (s surge) Rate(_ int, t time.Duration) (float64, time.Duration) {
	switch {
	case t < time.Minute:
		return s.usual, time.Minute
	case t < 90*time.Second:
		return s.high, 90 * time.Second
	}
	return s.usual, sim.Never
}

// A service of 10 requests/s receives 5, and 20 for half a minute. Clients retry three times: 20
// attempts per second keep the backlog full ever after. With a budget of 10 % it is 5.5, and
// the service recovers.
func TestABudgetEndsARetryStorm(t *testing.T) {
	failed := func(budget float64) float64 {
		app := station(loadline.Dist{Mean: ms(100)}, 1, 1, 20, 1)
		app.Kinds[0].Timeout = 500 * time.Millisecond
		app.Kinds[0].Retries = loadline.Retries{Attempts: 3, Backoff: ms(100)}
		app.Kinds[0].RetryBudget = budget
		e := New(sim.Config{App: app, Load: surge{5, 20}, Seed: 1, CPU: sim.Shared})
		e.AdvanceTo(5 * time.Minute)
		k := &e.Meter().Kinds[0]
		before, arrived := k.Failed, k.Arrived
		e.AdvanceTo(15 * time.Minute)
		return (k.Failed - before) / (k.Arrived - arrived)
	}
	if storm := failed(0); storm < 0.9 {
		t.Errorf("without a budget %.2f of the requests fail long after the surge: the storm ended", storm)
	}
	if calm := failed(0.1); calm > 0.1 {
		t.Errorf("with a budget %.2f of the requests fail long after the surge", calm)
	}
}

// A user who needs a second attempt has waited for both; exporters see two requests.
func TestARetriedRequestTakesAllItsAttempts(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(100)}, 1, 1, 0, 1) // refuses while it is busy
	app.Kinds[0].Retries = loadline.Retries{Attempts: 1}
	e := run(sim.Config{App: app, Load: constant{2}, Seed: 1, CPU: sim.Shared}, 10*time.Minute)
	m := e.Meter()
	k := &m.Kinds[0]
	if k.Retried == 0 || m.Services[0].Refused < k.Retried {
		t.Fatalf("%v retried, %v refused", k.Retried, m.Services[0].Refused)
	}
	var r sim.Reading
	e.Read(&r)
	if got := r.Kinds[0].Arrived; got != k.Arrived+k.Retried || got != m.Services[0].Arrived {
		t.Errorf("exporters show %v requests of %v and %v retries", got, k.Arrived, k.Retried)
	}
	if got := r.Kinds[0].Failed; got != m.Services[0].Refused {
		t.Errorf("exporters show %v failures of %v", got, m.Services[0].Refused)
	}
}

func browsers(requests int, leave float64) loadline.Users {
	return loadline.Users{Requests: requests, Think: loadline.Dist{Mean: 5 * time.Second, CV: 1}, Patience: time.Second, Leave: leave}
}

// As long as replies are fast, users send what the load says, from the first minute.
func TestUsersSendTheLoad(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(1)}, 1, many, 0, 1)
	app.Kinds[0].Users = browsers(10, 1)
	e := New(sim.Config{App: app, Load: constant{100}, Seed: 1, CPU: sim.Shared})
	k := &e.Meter().Kinds[0]
	e.AdvanceTo(time.Minute)
	near(t, "requests in the first minute", k.Arrived, 6000, 0.04)
	e.AdvanceTo(30 * time.Minute)
	near(t, "requests in half an hour", k.Arrived, 180000, 0.02)
	if k.Left != 0 {
		t.Errorf("%v requests lost although replies are fast", k.Left)
	}
}

// A service of 10 requests/s meets a demand of 20. Users who leave relieve it, and what they would
// have sent is lost demand, over the SLO.
func TestUsersLeaveAnOverloadedService(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(100)}, 1, 1, many, 1)
	app.Kinds[0].Users = browsers(10, 0.5)
	e := run(sim.Config{App: app, Load: constant{20}, Seed: 1, CPU: sim.Shared}, time.Hour)
	k := &e.Meter().Kinds[0]
	near(t, "completed per second", k.Completed/3600, 10, 0.05) // it is idle now and then
	near(t, "demand per second", (k.Arrived+k.Left)/3600, 20, 0.02)
	if k.Ended != k.Completed+k.Failed+k.Left || k.Over < k.Left {
		t.Errorf("%v ended, %v over: %v completed, %v failed, %v left", k.Ended, k.Over, k.Completed, k.Failed, k.Left)
	}
	if worst := k.Latency.Quantile(1) / 1e9; worst > 30 {
		t.Errorf("a request took %.0f s: users who leave should keep the backlog short", worst)
	}
	open := *app
	open.Kinds = append([]loadline.Kind(nil), app.Kinds...)
	open.Kinds[0].Users = loadline.Users{}
	o := run(sim.Config{App: &open, Load: constant{20}, Seed: 1, CPU: sim.Shared}, time.Hour)
	if mean := o.Meter().Kinds[0].Latency.Mean() / 1e9; mean < 600 {
		t.Errorf("an open loop waits %.0f s on average: it should have no bound", mean)
	}
}

// cpuOf is the CPU time of each ready replica of the first service, in seconds.
func cpuOf(e *Engine) []float64 {
	var list []float64
	for _, slot := range e.services[0].ready {
		e.sync(&e.replicas[slot])
		list = append(list, e.replicas[slot].cpuNs/1e9)
	}
	return list
}

func TestConnectionsStayWithOldReplicas(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(1)}, 1, many, 0, 1)
	app.Routing, app.KeepAlive = loadline.RouteKeepAlive, loadline.KeepAlive{Connections: 10, Users: 1000}
	second := func(lifetime time.Duration) []float64 {
		app.KeepAlive.Lifetime = lifetime
		e := New(sim.Config{App: app, Load: constant{500}, Seed: 1, CPU: sim.Shared})
		e.AdvanceTo(300 * time.Second)
		e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(2)}))
		e.AdvanceTo(310*time.Second + 100*time.Second) // 10 s to start
		return cpuOf(e)
	}
	if cpu := second(0); len(cpu) != 2 || cpu[1] != 0 {
		t.Errorf("CPU seconds %v: a new replica gets no requests while connections never expire", cpu)
	}
	// After 100 s of a lifetime of 400 s a quarter of the connections was opened anew, half of them to
	// the new replica: its share grows to an eighth, a sixteenth on average.
	cpu := second(400 * time.Second)
	near(t, "CPU seconds of the new replica", cpu[1], 100*0.5/16, 0.1)
}

func TestConnectionsOfAStoppedReplicaMove(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(1)}, 1, many, 0, 2)
	app.Routing, app.KeepAlive = loadline.RouteKeepAlive, loadline.KeepAlive{Connections: 10, Users: 1000}
	e := New(sim.Config{App: app, Load: constant{500}, Seed: 1, CPU: sim.Shared})
	e.AdvanceTo(time.Minute)
	e.Apply(set(0, loadline.Setting{Replicas: loadline.Some(1)}))
	e.AdvanceTo(2 * time.Minute)
	if k := &e.Meter().Kinds[0]; k.Failed != 0 {
		t.Errorf("%v requests failed while a replica was drained", k.Failed)
	}
	before := cpuOf(e)[0]
	e.AdvanceTo(3 * time.Minute)
	near(t, "CPU seconds of the replica that remains", cpuOf(e)[0]-before, 30, 0.05)
}

// Each calling replica has connections of its own: a caller with one connection uses one replica
// of its callee.
func TestEachCallerHasItsConnections(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(1)}, 1, many, 0, 1)
	app.Services = append(app.Services, server("b", loadline.Dist{Mean: ms(1)}, 1, many, 0, 4))
	app.Services = append(app.Services, server("c", loadline.Dist{Mean: ms(1)}, 1, many, 0, 1))
	app.Kinds[0].Root = tree(0, []loadline.Call{leaf(2)}, []loadline.Call{leaf(1)})
	app.Routing, app.KeepAlive = loadline.RouteKeepAlive, loadline.KeepAlive{Connections: 1, Users: 10}
	e := run(sim.Config{App: app, Load: constant{100}, Seed: 1, CPU: sim.Shared}, time.Minute)
	busy := 0
	for _, slot := range e.services[1].ready {
		if e.replicas[slot].cpuNs > 0 {
			busy++
		}
	}
	if busy != 1 || e.Meter().Kinds[0].Failed > 0 {
		t.Errorf("%d of 4 replicas are used over one connection, %v failed", busy, e.Meter().Kinds[0].Failed)
	}
}
