package formulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/rl"
)

// Policy runs a model on one application. It is for one goroutine.
type Policy struct {
	problem  *Problem
	topology *Topology
	networks []serviceNetwork // by service
	parts    []loadline.SLO   // of the SLO, that the model was trained with
	values   []float32
}

// serviceNetwork decides for one service; without a network the service stays unchanged.
type serviceNetwork struct {
	net    *rl.NetPolicy
	scales []Scale
}

// NewPolicy makes the policy of a model for an application. Services without a network
// stay unchanged; it is an error if no service has one.
func NewPolicy(m *Model, app *loadline.App) (*Policy, error) {
	p := &Policy{problem: m.Problem, topology: NewTopology(app).With(m.Problem.Shares),
		networks: make([]serviceNetwork, len(app.Services))}
	p.parts = p.topology.Partial()
	spaces := m.Problem.Spaces()
	found := false
	for i := range app.Services {
		b := m.network(app.Services[i].Name)
		if b == nil {
			continue
		}
		p.networks[i] = serviceNetwork{rl.NewNetPolicy(b.Net, spaces), b.Scales}
		found = true
	}
	if !found {
		var known []string
		for _, b := range m.Networks {
			known = append(known, b.Service)
		}
		return nil, fmt.Errorf("the model was trained for %s, which %s does not have; train one on its history",
			strings.Join(known, ", "), app.Name)
	}
	return p, nil
}

func (m *Model) network(service string) *Network {
	for _, name := range []string{service, Every} {
		if i := slices.IndexFunc(m.Networks, func(b Network) bool { return b.Service == name }); i >= 0 {
			return &m.Networks[i]
		}
	}
	return nil
}

// Spaces are those of one service.
func (p *Problem) Spaces() rl.Spaces {
	return rl.Spaces{Observation: len(p.features), Choices: len(p.form.Moves)}
}

// Name implements loadline.Policy.
func (p *Policy) Name() string { return p.problem.Formulation }

// Partial are the parts of the SLO that it was trained with.
func (p *Policy) Partial() []loadline.SLO { return p.parts }

// Split implements loop.Splitter: the policy sees the parts that it was trained with.
func (p *Policy) Split(time.Time, loadline.Situation) []loadline.SLO { return p.parts }

// Needs implements loadline.Policy.
func (p *Policy) Needs() loadline.Needs { return p.problem.Needs() }

// Decide implements loadline.Policy. A service stays unchanged if a
// feature of it was not measured.
func (p *Policy) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	var proposal loadline.Proposal
	absent := ""
	for i := range p.networks {
		m := &p.networks[i]
		if m.net == nil {
			continue
		}
		var missing string
		p.values, missing = p.problem.Observe(p.topology, s, i, p.values[:0])
		if missing != "" {
			absent = fmt.Sprintf("%s of %s", missing, s.App.Services[i].Name)
			continue
		}
		seen := slices.Clone(p.values)
		Apply(m.scales, p.values)
		proposal.Services = append(proposal.Services, p.choose(s, i, seen, m.net.Outputs(p.values)))
	}
	if len(proposal.Services) == 0 {
		return proposal, fmt.Errorf("%w: %s was not measured", loadline.ErrNoData, absent)
	}
	return proposal, nil
}

// choose proposes the move with the highest value. The runner-up is the next best move
// with another setting.
func (p *Policy) choose(s loadline.Situation, service int, seen, values []float32) loadline.ServiceProposal {
	best := rl.ArgMax(values)
	setting := p.problem.Setting(p.topology, s, service, best)
	proposal := loadline.ServiceProposal{Service: service, Setting: setting, Reason: p.reason(s, service, seen, best, values[best])}
	next := -1
	for i, v := range values {
		if i != best && (next < 0 || v > values[next]) && p.problem.Setting(p.topology, s, service, i) != setting {
			next = i
		}
	}
	if next >= 0 {
		proposal.RunnerUp = &loadline.Alternative{
			Setting: p.problem.Setting(p.topology, s, service, next),
			Reason:  fmt.Sprintf("%s, valued %.3g less", describeMove(p.problem.form.Moves[next].Name), values[best]-values[next]),
		}
	}
	return proposal
}

// reason states what the network was given and what it chose, with the value that it gives that.
func (p *Policy) reason(s loadline.Situation, service int, seen []float32, choice int, value float32) string {
	given := Describe(s.Now().Services[service].Rate, p.problem.form.Features, func(i int) float64 { return float64(seen[i]) })
	return fmt.Sprintf("%s: the network chose %s, valued %.3g", given, describeMove(p.problem.form.Moves[choice].Name), value)
}
