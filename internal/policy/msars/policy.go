package msars

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// Policy is Algorithm 1: a model at work on one application. It is for one goroutine.
type Policy struct {
	needs    loadline.Needs
	divider  *Divider
	watch    *watch
	steering *Steering
	ahead    *drpc.Foresight
	agent    *Agent

	seen  []float32
	wants []float32
}

// NewPolicy sets a model to work, with a delay from observing to applying; 0 = a
// second. The agent decides for exactly those services that it was taught on, in
// whichever order they are: its rows share their weights, and everything else goes by
// name.
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
	grus, err := forecasters(m, app)
	if err != nil {
		return nil, err
	}
	p.ahead = drpc.NewForesight(grus)
	return p, nil
}

// forecasters are copies of the model's, in the application's order: a forecaster
// remembers what it was shown.
func forecasters(m *Model, app *loadline.App) ([]*forecast.GRU, error) {
	own := make([]*forecast.GRU, len(app.Services))
	for i, gru := range m.Forecasts {
		if gru == nil {
			continue
		}
		file, err := gru.File(m.Services[i], nil)
		if err == nil {
			own[app.ServiceIndex(m.Services[i])], err = forecast.LoadGRU(file)
		}
		if err != nil {
			return nil, fmt.Errorf("msars: forecaster of %s: %w", m.Services[i], err)
		}
	}
	return own, nil
}

// Name implements loadline.Policy.
func (p *Policy) Name() string { return "msars" }

// Needs implements loadline.Policy.
func (p *Policy) Needs() loadline.Needs { return p.needs }

// Decide implements loadline.Policy, in the order of Algorithm 1: the monitor looks
// (line 4), the SLO is divided if something changed (5), the load is forecast (6), the
// agent sees the state and the parts and decides (7 to 9), and a vertical move divides
// anew (10 to 13).
func (p *Policy) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	p.watch.observe(s.Now())
	if len(s.Forecast) == 0 && p.ahead.Any() {
		p.ahead.Observe(s.Now())
		s.Forecast = p.ahead.Forecasts()
	}
	s, absent, err := p.steering.See(now, s)
	if err != nil {
		return loadline.Proposal{}, err
	}
	if absent != "" {
		return loadline.Proposal{}, fmt.Errorf("%w: %s was not measured", loadline.ErrNoData, absent)
	}
	p.seen = p.steering.Fill(s, p.seen[:0])
	p.agent.Decide(p.seen, p.wants)
	proposal, err := p.steering.Do(now, s, p.wants, true)
	return loadline.Proposal{Services: append([]loadline.ServiceProposal(nil), proposal.Services...)}, err
}

// Divider of the policy, for those who want to know the parts.
func (p *Policy) Divider() *Divider { return p.divider }

// Agent is an actor's network that decides: one row for each service. It is for one
// goroutine.
type Agent struct {
	rows int
	runs *nn.Context
}

// NewAgent lets a network decide for so many services.
func NewAgent(net *nn.Net, w *Steering, services int) (*Agent, error) {
	inputs := 0
	for _, l := range net.Design().Layers {
		if l.Kind == nn.KindInput {
			inputs += l.Width
		}
	}
	if inputs*services != w.Width() || net.Outputs() != drpc.Axes {
		return nil, fmt.Errorf("msars: an agent of %d inputs and %d outputs cannot decide on %d values for each of %d services; train it again", inputs, net.Outputs(), w.Width()/services, services)
	}
	return &Agent{rows: services, runs: net.NewContext()}, nil
}

// Decide fills in the actions, service by service.
func (a *Agent) Decide(seen, actions []float32) { copy(actions, a.runs.Forward(a.rows, seen)) }
