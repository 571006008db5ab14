package msars

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// Policy is Algorithm 1: it runs a model on one application. It is for one goroutine.
type Policy struct {
	needs    loadline.Needs
	divider  *Divider
	watch    *watch
	steering *Steering
	rates    *forecast.Rates
	agent    *Agent
	unsplit  error // why the SLO is currently not split

	seen  []float32
	wants []float32
}

// NewPolicy makes the policy of a model, with a delay from observing to applying; 0 = a second.
// The agent decides for exactly the services that it was trained on, in any order: its rows
// share their weights, and everything else is matched by name.
func NewPolicy(m *Model, app *loadline.App, delay time.Duration) (*Policy, error) {
	if err := m.fits(app); err != nil {
		return nil, err
	}
	if delay == 0 {
		delay = time.Second
	}
	p := &Policy{needs: drpc.NeedsOf(m.Period, delay), wants: make([]float32, drpc.Axes*len(app.Services))}
	var err error
	if p.divider, err = NewDivider(app, m.Division, p.needs.Window); err != nil {
		return nil, err
	}
	if p.watch, err = newWatch(p.divider, p.needs.Window); err != nil {
		return nil, err
	}
	if p.steering, err = NewSteering(app, p.divider, m.Steps, m.Reward); err != nil {
		return nil, err
	}
	if p.agent, err = NewAgent(m.Actor, p.steering, len(app.Services)); err != nil {
		return nil, err
	}
	if p.rates, err = drpc.NewRates(app, m.Services, m.Forecasts); err != nil {
		return nil, fmt.Errorf("msars: %w", err)
	}
	p.needs.Forecast, p.needs.PartialSLO = p.rates.Horizon(), true
	return p, nil
}

// Name implements loadline.Policy.
func (p *Policy) Name() string { return "msars" }

// Needs implements loadline.Policy.
func (p *Policy) Needs() loadline.Needs { return p.needs }

// Split implements loop.Splitter: the monitor observes (line 4 of Algorithm 1), and the SLO is
// divided if something changed (5).
func (p *Policy) Split(now time.Time, s loadline.Situation) []loadline.SLO {
	p.watch.observe(s.Now())
	parts, err := p.steering.Split(now, s)
	p.unsplit = err
	return parts
}

// Forecast implements loop.Forecaster with the model's forecasters (line 6).
func (p *Policy) Forecast(now time.Time, window []loadline.Observation) []loadline.Forecast {
	return p.rates.Forecast(now, window)
}

// Decide implements loadline.Policy: the agent decides by the state and the parts (lines 7 to
// 9), and a vertical move divides again (10 to 13).
func (p *Policy) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	switch {
	case p.unsplit != nil:
		return loadline.Proposal{}, p.unsplit
	case len(s.PartialSLO) == 0:
		return loadline.Proposal{}, fmt.Errorf("%w: the SLO is not split", loadline.ErrNoData)
	}
	if absent := p.steering.Observe(s); absent != "" {
		return loadline.Proposal{}, fmt.Errorf("%w: %s was not measured", loadline.ErrNoData, absent)
	}
	p.seen = p.steering.Fill(s, p.seen[:0])
	p.agent.Decide(p.seen, p.wants)
	proposal, err := p.steering.Propose(now, s, p.wants, true)
	return loadline.Proposal{Services: append([]loadline.ServiceProposal(nil), proposal.Services...)}, err
}

// Divider of the policy, for callers that read the parts.
func (p *Policy) Divider() *Divider { return p.divider }

// Agent runs an actor's network, one row for each service. It is for one goroutine.
type Agent struct {
	rows int
	runs *nn.Context
}

// NewAgent makes the agent of a network for the given number of services.
func NewAgent(net *nn.Net, w *Steering, services int) (*Agent, error) {
	inputs := 0
	for _, l := range net.Design().Layers {
		if l.Kind == nn.KindInput {
			inputs += l.Width
		}
	}
	if inputs*services != w.Width() || net.Outputs() != drpc.Axes {
		return nil, fmt.Errorf("msars: an agent of %d inputs and %d outputs cannot decide on %d values for each of %d services; "+
			"train it again", inputs, net.Outputs(), w.Width()/services, services)
	}
	return &Agent{rows: services, runs: net.NewContext()}, nil
}

// Decide fills in the actions, service by service.
func (a *Agent) Decide(seen, actions []float32) { copy(actions, a.runs.Forward(a.rows, seen)) }
