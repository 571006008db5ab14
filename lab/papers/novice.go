package papers

import (
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/rl/dqn"
)

// novice is a policy that learns while it works, one agent for each function, and
// keeps a trail of what it did. A pupil that is frozen only acts. Services without
// a pupil, or whose pupil has not begun, are left as they are.
type novice struct {
	problem *formulation.Problem
	ground  *formulation.Ground
	pupils  []*pupil // by service
}

// pupil is one function's agent.
type pupil struct {
	agent  *dqn.Agent
	scales []formulation.Scale
	frozen bool
	begin  time.Time // leaves the function alone before

	seen   []float32 // at the last decision, scaled; empty = there was none
	choice int
	told   loadline.Allocation // by it
	trail  []mark
}

// mark is one step of a pupil's trail.
type mark struct {
	at       time.Time
	replicas float64
	cpu      float64 // limit in cores
	late     float64 // p90 over the objective; NaN = not measured
	reward   float64 // of the step that led here; NaN = none
}

// Name implements loadline.Policy.
func (n *novice) Name() string { return n.problem.Formulation + " that learns" }

// Needs implements loadline.Policy.
func (n *novice) Needs() loadline.Needs { return n.problem.Needs() }

// Decide implements loadline.Policy.
func (n *novice) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	var p loadline.Proposal
	for i, one := range n.pupils {
		if one == nil || now.Before(one.begin) {
			continue
		}
		if setting, ok := n.turn(one, now, s, i); ok {
			p.Services = append(p.Services, loadline.ServiceProposal{Service: i, Setting: setting, Reason: "learned so far"})
		}
	}
	return p, nil
}

// turn is one step of one pupil: what came of the last choice is learned, and the
// next is made.
func (n *novice) turn(one *pupil, now time.Time, s loadline.Situation, service int) (loadline.Setting, bool) {
	values, absent := n.problem.See(n.ground, s, service, nil)
	if absent != "" {
		one.seen = one.seen[:0]
		return loadline.Setting{}, false
	}
	formulation.Apply(one.scales, values)
	reward := math.NaN()
	if len(one.seen) > 0 {
		reward = n.problem.Reward(n.ground, s, service, formulation.Paid{Replicas: float64(one.told.Replicas),
			CPU: one.told.Size.CPURequest})
		if !one.frozen {
			one.agent.Learn(rl.Transition{Observation: one.seen, Action: rl.Action{Choice: one.choice},
				Result: rl.Result{Reward: reward}, Next: values})
		}
	}
	var action rl.Action
	if one.frozen {
		one.agent.Decide(values, &action)
	} else {
		one.agent.Explore(values, &action)
	}
	setting := n.problem.Setting(n.ground, s, service, action.Choice)
	one.seen, one.choice, one.told = slices.Clone(values), action.Choice, s.InFlight[service].With(setting)
	seen := &s.Now().Services[service]
	late := math.NaN()
	if seen.Latency.P90.Present() {
		late = seen.Latency.P90.Value / n.ground.Services[service].Budget.Latency.Seconds()
	}
	one.trail = append(one.trail, mark{now, float64(one.told.Replicas), one.told.Size.CPULimit, late, reward})
	return setting, true
}

// newPupil makes an agent, from a network if there is one.
func newPupil(config dqn.Config, problem *formulation.Problem, from *formulation.Brain, scales []formulation.Scale,
	seed uint64) (*pupil, error) {
	agent, err := dqn.New(config, problem.Spaces(), seed)
	if err != nil {
		return nil, err
	}
	if from != nil {
		scales = from.Scales
		if err := agent.Adopt(from.Net); err != nil {
			return nil, err
		}
	}
	return &pupil{agent: agent, scales: scales}, nil
}

// field of a trail.
func field(trail []mark, of func(mark) float64) []float64 {
	out := make([]float64, len(trail))
	for i, m := range trail {
		out[i] = of(m)
	}
	return out
}
