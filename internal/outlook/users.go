package outlook

import (
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// How long the load is simulated. An allocation that is too small has no stationary state: the
// prediction is its latency within these two minutes, which is far over its SLO and still
// growing.
const (
	outlookStep   = 5 * time.Second
	outlookWarmUp = time.Minute // not evaluated
	outlookSpan   = time.Minute
)

// foreseeUsers predicts the users' latencies with a plan in the fluid engine, if the load stays
// as it is. All pods are taken to be ready: it predicts the state that the allocation leads to,
// not the transition.
func (t *Twin) foreseeUsers(o *loadline.Outlook, plan loadline.Plan, s loadline.Situation) {
	t.prepare()
	t.rate = t.rate[:0]
	for i := range s.Now().Kinds {
		rate := s.Now().Kinds[i].Rate
		if !rate.Present() {
			return // an unmeasured load is not zero
		}
		t.rate = append(t.rate, rate.Value)
	}
	t.desired = append(t.desired[:0], s.InFlight...)
	for _, p := range plan.Services {
		t.desired[p.Service] = t.desired[p.Service].With(p.Setting)
	}
	if m := t.settle(t.rate, t.desired); m != nil {
		t.readUsers(o, m)
	}
}

// settle simulates a constant load on an allocation; nil = that cannot be done, or takes longer
// than the budget.
func (t *Twin) settle(perSecond []float64, desired []loadline.Allocation) *sim.Meter {
	if len(perSecond) != len(t.App.Kinds) || len(desired) != len(t.App.Services) || !positive(perSecond) {
		return nil
	}
	if fluid.Check(t.App) != nil {
		return nil // its clients would be simulated as other ones
	}
	late := func() bool { return false }
	if t.Budget > 0 && t.Now != nil {
		until := t.Now().Add(t.Budget)
		late = func() bool { return t.Now().After(until) }
	}
	engine := fluid.New(sim.Config{App: t.as(desired), Load: constantLoad(perSecond), WarmUp: outlookWarmUp}, outlookStep)
	engine.Apply(brownouts(desired))
	for at := outlookStep; at <= outlookWarmUp+outlookSpan; at += outlookStep {
		if late() {
			return nil
		}
		engine.AdvanceTo(at)
	}
	engine.Finish()
	return engine.Meter()
}

// positive reports whether there is a finite, positive load.
func positive(perSecond []float64) bool {
	sum := 0.0
	for _, r := range perSecond {
		if !(r >= 0) || math.IsInf(r, 1) {
			return false
		}
		sum += r
	}
	return sum > 0
}

// as is the application with services in the desired state from the start.
func (t *Twin) as(desired []loadline.Allocation) *loadline.App {
	app := *t.App
	app.Services = append([]loadline.Service(nil), t.App.Services...)
	for i := range app.Services {
		app.Services[i].Replicas, app.Services[i].Size = desired[i].Replicas, desired[i].Size
	}
	return &app
}

func brownouts(desired []loadline.Allocation) loadline.Plan {
	var p loadline.Plan
	for i := range desired {
		if desired[i].Brownout {
			p.Services = append(p.Services, loadline.ServicePlan{Service: i, Setting: loadline.Setting{Brownout: loadline.Some(true)}})
		}
	}
	return p
}

// constantLoad is a load that never changes.
type constantLoad []float64

func (c constantLoad) Rate(kind int, _ time.Duration) (float64, time.Duration) {
	return c[kind], sim.Never
}

// readUsers takes the latency of each kind of request. A kind of which no request completes is
// worse than any latency.
func (t *Twin) readUsers(o *loadline.Outlook, m *sim.Meter) {
	o.Users = make([]loadline.UserOutlook, len(m.Kinds))
	var ended, failed float64
	for i := range m.Kinds {
		k, slo, user := &m.Kinds[i], t.App.Kinds[i].SLO, &o.Users[i]
		user.OverSLO = math.NaN()
		if !(k.Ended > 0) || slo.Latency <= 0 {
			continue
		}
		ended += k.Ended
		failed += max(k.Ended-k.Latency.Count(), 0)
		user.OverSLO = math.Inf(1)
		if k.Latency.Count() > 0 {
			ns := k.Latency.Quantile(slo.Percentile / 100)
			user.Latency, user.OverSLO = time.Duration(ns), ns/float64(slo.Latency)
		}
	}
	if ended == 0 {
		o.Users = nil
		return
	}
	if failed > 1e-9*ended {
		o.Failed = failed / ended
	}
	for i := range m.Services {
		o.Cores += m.Services[i].CoreSeconds / (outlookWarmUp + outlookSpan).Seconds()
	}
}
