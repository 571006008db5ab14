package decisionlog

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

// Twin predicts the outcome of an allocation in the fluid engine, if the load stays as it
// is. It is for one goroutine.
type Twin struct {
	App *loadline.App
	// Budget of time for one prediction, by the clock Now; 0 = unlimited. Beyond it there is no
	// prediction, since decisions do not wait for it.
	Budget time.Duration
	Now    func() time.Time
}

// Outlook is an Expect. All pods are taken to be ready: it predicts the state that the
// allocation leads to, not the transition.
func (t *Twin) Outlook(perSecond []float64, desired []loadline.Allocation) (Outlook, bool) {
	if len(perSecond) != len(t.App.Kinds) || len(desired) != len(t.App.Services) || !positive(perSecond) {
		return Outlook{}, false
	}
	if fluid.Check(t.App) != nil {
		return Outlook{}, false // its clients would be simulated as other ones
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
			return Outlook{}, false
		}
		engine.AdvanceTo(at)
	}
	engine.Finish()
	return outlook(t.App, engine.Meter())
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

// outlook takes the kind of request with the highest latency relative to its SLO. A kind
// of which no request completes is worse than any latency.
func outlook(app *loadline.App, m *sim.Meter) (Outlook, bool) {
	o := Outlook{OverSLO: Number(-1)}
	var ended, failed float64
	for i := range m.Kinds {
		k, slo := &m.Kinds[i], app.Kinds[i].SLO
		if !(k.Ended > 0) || slo.Latency <= 0 {
			continue
		}
		ended += k.Ended
		failed += max(k.Ended-k.Latency.Count(), 0)
		latency, over := time.Duration(0), math.Inf(1)
		if k.Latency.Count() > 0 {
			ns := k.Latency.Quantile(slo.Percentile / 100)
			latency, over = time.Duration(ns), ns/float64(slo.Latency)
		}
		if over > float64(o.OverSLO) {
			o.Kind, o.Percentile, o.Latency, o.OverSLO = app.Kinds[i].Name, Number(slo.Percentile),
				Seconds(latency), Number(over)
		}
	}
	if ended == 0 {
		return Outlook{}, false
	}
	if failed > 1e-9*ended {
		o.Failed = Number(failed / ended)
	}
	for i := range m.Services {
		o.Cores += Number(m.Services[i].CoreSeconds / (outlookWarmUp + outlookSpan).Seconds())
	}
	return o, true
}
