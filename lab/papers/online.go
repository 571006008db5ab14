package papers

import (
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/rl"
)

// onlinePolicy is a policy that learns online, one agent for each function, and records a
// trail. A frozen agent does not learn. Services without an agent, or whose agent has not
// begun, are not changed.
type onlinePolicy struct {
	problem  *formulation.Problem
	topology *formulation.Topology
	agents   []*onlineAgent // by service
}

// onlineAgent is one function's agent.
type onlineAgent struct {
	agent  *rl.DQN
	scales []formulation.Scale
	frozen bool
	begin  time.Time // does not act before

	observed []float32 // at the last decision, scaled; empty = none
	choice   int
	desired  loadline.Allocation // by the last decision
	trail    []mark
}

// mark is one step of an agent's trail.
type mark struct {
	at       time.Time
	replicas float64
	cpu      float64 // limit in cores
	late     float64 // p90 over the objective; NaN = not measured
	reward   float64 // of the step that led here; NaN = none
}

// Name implements loadline.Policy.
func (n *onlinePolicy) Name() string { return n.problem.Formulation + " that learns" }

// Needs implements loadline.Policy.
func (n *onlinePolicy) Needs() loadline.Needs { return n.problem.Needs() }

// Decide implements loadline.Policy.
func (n *onlinePolicy) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	var p loadline.Proposal
	for i, one := range n.agents {
		if one == nil || now.Before(one.begin) {
			continue
		}
		if setting, ok := n.turn(one, now, s, i); ok {
			p.Services = append(p.Services, loadline.ServiceProposal{Service: i, Setting: setting,
				Reason: formulation.Describe(s.Now().Services[i].Rate, nil, nil) + ": the choice of what is learned so far"})
		}
	}
	return p, nil
}

// turn is one step of one agent: it learns from the result of the last choice and makes the
// next.
func (n *onlinePolicy) turn(one *onlineAgent, now time.Time, s loadline.Situation, service int) (loadline.Setting, bool) {
	values, absent := n.problem.Observe(n.topology, s, service, nil)
	if absent != "" {
		one.observed = one.observed[:0]
		return loadline.Setting{}, false
	}
	formulation.Apply(one.scales, values)
	reward := math.NaN()
	if len(one.observed) > 0 {
		reward = n.problem.Reward(n.topology, s, service, formulation.Spend{Replicas: float64(one.desired.Replicas),
			CPU: one.desired.Size.CPURequest})
		if !one.frozen {
			one.agent.Learn(rl.Transition{Observation: one.observed, Action: rl.Action{Choice: one.choice},
				Result: rl.Result{Reward: reward}, Next: values})
		}
	}
	var action rl.Action
	if one.frozen {
		one.agent.Decide(values, &action)
	} else {
		one.agent.Explore(values, &action)
	}
	setting := n.problem.Setting(n.topology, s, service, action.Choice)
	one.observed, one.choice, one.desired = slices.Clone(values), action.Choice, s.InFlight[service].With(setting)
	seen := &s.Now().Services[service]
	late := math.NaN()
	if seen.Latency.P90.Present() {
		late = seen.Latency.P90.Value / n.topology.Services[service].Budget.Latency.Seconds()
	}
	one.trail = append(one.trail, mark{now, float64(one.desired.Replicas), one.desired.Size.CPULimit, late, reward})
	return setting, true
}

// newOnlineAgent makes an agent, from a network if there is one.
func newOnlineAgent(config rl.DQNConfig, problem *formulation.Problem, from *formulation.Network, scales []formulation.Scale,
	seed uint64) (*onlineAgent, error) {
	agent, err := rl.NewDQN(config, problem.Spaces(), seed)
	if err != nil {
		return nil, err
	}
	if from != nil {
		scales = from.Scales
		if err := agent.Adopt(from.Net); err != nil {
			return nil, err
		}
	}
	return &onlineAgent{agent: agent, scales: scales}, nil
}

// field extracts one value of a trail.
func field(trail []mark, of func(mark) float64) []float64 {
	out := make([]float64, len(trail))
	for i, m := range trail {
		out[i] = of(m)
	}
	return out
}
