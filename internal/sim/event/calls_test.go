package event

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// until is a load that stops at an instant.
type until struct {
	constant
	at time.Duration
}

func (u until) Rate(kind int, t time.Duration) (float64, time.Duration) {
	if t >= u.at {
		return 0, sim.Never
	}
	return u.constant[kind], u.at
}

// Every visit is a user's request or a call of some caller: once all is over,
// the calls into a service and the requests that begin there are its arrivals,
// whatever was done to the cluster.
func TestCallsAndRequestsAreTheArrivals(t *testing.T) {
	t.Run("plain clients", func(t *testing.T) { checkCallsAreArrivals(t, shop()) })
	t.Run("impatient clients", func(t *testing.T) { checkCallsAreArrivals(t, impatient(shop())) })
}

func checkCallsAreArrivals(t *testing.T, app *loadline.App) {
	t.Helper()
	app.Services[1].Backlog = 30
	app.Services[1].Size.MemoryLimit = 65 << 20
	e := New(sim.Config{App: app, Load: until{constant{90, 40}, 100 * time.Second}, Seed: 3, Grace: 2 * time.Second})
	rng := sim.Stream(3, sim.StreamPolicy, 0)
	for s := range 50 {
		e.AdvanceTo(time.Duration(s) * 2 * time.Second)
		e.Apply(loadline.Plan{Services: []loadline.ServicePlan{{Service: rng.IntN(4), Setting: loadline.Setting{
			Replicas: loadline.Some(rng.IntN(5)),
			Brownout: loadline.Some(rng.IntN(2) == 0),
		}}}})
	}
	e.AdvanceTo(10 * time.Minute)
	var r sim.Reading
	e.Read(&r)
	edges := sim.Edges(app)
	came, failed := make([]float64, len(app.Services)), 0.0
	for k := range app.Kinds {
		came[app.Kinds[k].Root.Service] += r.Kinds[k].Arrived
	}
	for i, c := range r.Calls {
		came[edges[i].To] += c.Count
		failed += c.Failed
		if c.Count == 0 || c.SumSeconds <= 0 || c.Failed > c.Count {
			t.Errorf("calls %v: %+v", edges[i], c)
		}
	}
	if len(r.Calls) != len(edges) || failed == 0 {
		t.Fatalf("%d calls for %d edges, %v failed", len(r.Calls), len(edges), failed)
	}
	for i := range app.Services {
		if got := r.Services[i].Of[loadline.ServiceRate]; got != came[i] {
			t.Errorf("%s: %v arrived, %v were sent", app.Services[i].Name, got, came[i])
		}
	}
}

// The caller sees the whole time at the callee, its queue included: where one
// service alone calls another, that is the callee's own latency.
func TestACallTakesAsLongAsTheVisit(t *testing.T) {
	app := station(loadline.Dist{Mean: ms(1)}, 1, many, 0, 1)
	app.Services = append(app.Services, server("b", loadline.Dist{Mean: ms(5), CV: 1}, 1, 1, many, 1))
	app.Kinds[0].Root = tree(0, []loadline.Call{leaf(1)})
	e := run(sim.Config{App: app, Load: constant{120}, Seed: 1}, 5*time.Minute)
	var r sim.Reading
	e.Read(&r)
	if b := r.Services[1]; r.Calls[0].Count != b.Ended {
		t.Errorf("%v calls, %v visits ended", r.Calls[0].Count, b.Ended)
	}
	near(t, "time in calls", r.Calls[0].SumSeconds, r.Services[1].Latency.SumSeconds, 1e-9)
	if r.Services[1].Of[loadline.ServiceQueue] < 0.2*r.Calls[0].SumSeconds {
		t.Error("hardly any queueing: this test no longer tests that the queue counts")
	}
}
