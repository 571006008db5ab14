// Package outlook is what the twin expects of a change: the capacity of a service's replicas at
// its SLO, the latency of its visits and of the users' requests, and its cost, with the plan
// and with the runner-up. All of it is estimated from the application's model, for any policy,
// and none of it is the policy's own reasoning.
//
// Reading order: twin.go (the outlook of a decision), service.go (one service, by its
// load-latency curve), users.go (the users' requests, in the fluid engine).
package outlook

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/sim/fluid"
	"github.com/loadline/loadline/internal/sim/pool"
)

// Twin estimates by an application's model. It is for one goroutine.
type Twin struct {
	App    *loadline.App
	Prices pool.Prices // zero fields: list prices
	// Budget of time for the users' latencies, by the clock Now; 0 = unlimited. Beyond it they are
	// not known, since decisions do not wait for them.
	Budget time.Duration
	Now    func() time.Time
	// WithoutUsers leaves the users' latencies out, which take a run of the fluid engine.
	WithoutUsers bool

	stations *fluid.Stations
	topology *formulation.Topology
	visits   []sorts // by service
	rate     []float64
	desired  []loadline.Allocation
}

// Known reports whether an application has a model: CPU demands of its services, and objectives.
func Known(app *loadline.App) bool {
	for i := range app.Services {
		if app.Services[i].CPU.Mean > 0 && len(app.Kinds) > 0 {
			return true
		}
	}
	return false
}

// Foresee adds the outlook to a decision that changes something.
func (t *Twin) Foresee(d *loadline.Decision, s loadline.Situation) {
	if len(d.Plan.Services) == 0 || len(s.Window) == 0 {
		return
	}
	o := &loadline.Outlook{Currency: t.Prices.WithDefaults().Currency}
	if !t.WithoutUsers {
		t.foreseeUsers(o, d.Plan, s)
	}
	for _, p := range d.Plan.Services {
		change := Change{Service: p.Service, Planned: s.InFlight[p.Service].With(p.Setting)}
		if of := proposalOf(d, p.Service); of != nil {
			change.Expects, change.RunnerUp = of.Expects, of.RunnerUp
		}
		if so, ok := t.Service(s, change); ok {
			so.Users = t.worstThrough(o.Users, p.Service)
			o.Services = append(o.Services, so)
		}
	}
	if len(o.Services) > 0 || len(o.Users) > 0 {
		d.Outlook = o
	}
}

func proposalOf(d *loadline.Decision, service int) *loadline.ServiceProposal {
	for i := range d.Proposal.Services {
		if d.Proposal.Services[i].Service == service {
			return &d.Proposal.Services[i]
		}
	}
	return nil
}

// worstThrough is the kind of request through a service that is worst relative to its SLO, or
// -1.
func (t *Twin) worstThrough(users []loadline.UserOutlook, service int) int {
	worst := -1
	for k := range users {
		if t.topology.Services[service].Visits[k] > 0 && (worst < 0 || users[k].OverSLO > users[worst].OverSLO) && users[k].OverSLO >= 0 {
			worst = k
		}
	}
	return worst
}
