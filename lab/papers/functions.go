package papers

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/internal/workload"
)

// functionSetup is the online shop's functions with the scaled axis free and the other one
// fixed, so that the reward charges only for what can be changed.
type functionSetup struct {
	app      *loadline.App
	topology *formulation.Topology
	kinds    []int // that are called; each calls the function with the same index
	problem  *formulation.Problem
}

// newFunctionSetup selects functions by name; none = all.
func newFunctionSetup(vertical bool, weight float64, names ...string) (*functionSetup, error) {
	app, err := appNamed("functions")
	if err != nil {
		return nil, err
	}
	s := &functionSetup{app: app}
	for k := range app.Kinds {
		i := app.Kinds[k].Root.Service
		if len(names) == 0 || slices.Contains(names, app.Services[i].Name) {
			s.kinds = append(s.kinds, k)
		}
	}
	for i := range app.Services {
		one := &app.Services[i]
		if vertical {
			one.Bounds.MinReplicas, one.Bounds.MaxReplicas, one.Replicas = 1, 1, 1
			one.Size.CPURequest, one.Size.CPULimit = 0.1, 0.1
			continue
		}
		one.Size.CPURequest = one.Size.CPULimit
		one.Bounds.MinCPU, one.Bounds.MaxCPU = one.Size.CPULimit, one.Size.CPULimit
		one.Bounds.MaxReplicas = 10
		if !slices.ContainsFunc(s.kinds, func(k int) bool { return app.Kinds[k].Root.Service == i }) {
			one.Replicas = 0
		}
	}
	s.topology = formulation.NewTopology(app)
	form := "serverless-horizontal"
	if vertical {
		form = "serverless-vertical"
	}
	s.problem, err = formulation.NewProblem(form, 0, map[string]float64{"cpu": weight})
	return s, err
}

// service of a kind.
func (s *functionSetup) service(kind int) int { return s.app.Kinds[kind].Root.Service }

// load gives every function as many requests as keep the given cores busy, times the shape.
// presence, if not nil, tells whether a function is present at an instant.
func (s *functionSetup) load(name string, cores float64, shape *workload.Workload,
	presence func(kind int, at time.Duration) bool) (*workload.Workload, error) {
	w := &workload.Workload{Name: name, Step: shape.Step, Mix: &workload.Mix{Step: shape.Step}}
	for _, k := range s.kinds {
		w.Mix.Kinds = append(w.Mix.Kinds, s.app.Kinds[k].Name)
	}
	for i, factor := range shape.Rates {
		sum := 0.0
		for _, k := range s.kinds {
			rate := cores * factor / s.topology.Services[s.service(k)].CPU
			if presence != nil && !presence(k, time.Duration(i)*shape.Step) {
				rate = 0
			}
			w.Mix.Shares = append(w.Mix.Shares, rate)
			sum += rate
		}
		w.Rates = append(w.Rates, sum)
	}
	return w, w.Validate()
}

// places are the training scenarios: the functions that are called.
func (s *functionSetup) places(w *workload.Workload) ([]train.ServiceScenario, error) {
	load, err := w.For(s.app)
	if err != nil {
		return nil, err
	}
	var places []train.ServiceScenario
	for _, k := range s.kinds {
		places = append(places, train.NewServiceScenario(s.topology, s.service(k), load, w.Duration()))
	}
	return places, nil
}

// train trains one network for each function in the fluid engine.
func (s *functionSetup) train(ctx context.Context, w *workload.Workload, steps int, seed uint64, restarts bool) (*formulation.Model,
	error) {
	places, err := s.places(w)
	if err != nil {
		return nil, err
	}
	return learning{
		problem: s.problem, scenarios: places, agent: serverlessAgent(), steps: steps, episode: 60, seed: seed, restarts: restarts,
	}.learnEach(ctx)
}

// learners makes one agent per function: from a model's networks, or untrained with scales from
// a short random walk in the fluid engine.
func (s *functionSetup) learners(w *workload.Workload, config rl.DQNConfig, from *formulation.Model, frozen bool,
	seed uint64) (*onlinePolicy,
	error) {
	n := &onlinePolicy{problem: s.problem, topology: s.topology, agents: make([]*onlineAgent, len(s.app.Services))}
	places, err := s.places(w)
	if err != nil {
		return nil, err
	}
	for at, k := range s.kinds {
		i := s.service(k)
		var network *formulation.Network
		var scales []formulation.Scale
		if from != nil {
			network = &from.Networks[slices.IndexFunc(from.Networks,
				func(b formulation.Network) bool { return b.Service == s.app.Services[i].Name })]
		} else {
			where, err := (learning{problem: s.problem, scenarios: places[at : at+1], episode: 30, seed: seed}).scaled()
			if err != nil {
				return nil, err
			}
			scales = where.Scales
		}
		if n.agents[i], err = newOnlineAgent(config, s.problem, network, scales, seed+uint64(i)); err != nil {
			return nil, err
		}
		n.agents[i].frozen = frozen
	}
	return n, nil
}

// scratch is the published code's exploration: from 0.9 to 0.05 over about 150 steps; ready is
// the exploration of a trained agent.
func scratch() rl.DQNConfig {
	c := serverlessAgent()
	c.Explore = rl.Schedule{Shape: rl.Exponential, From: 0.9, To: 0.05, Steps: 150}
	c.WarmUp, c.Updates = c.Batch, 4
	return c
}

func ready() rl.DQNConfig {
	c := scratch()
	c.Explore = rl.Schedule{Shape: rl.Constant, From: 0.02, To: 0.02}
	return c
}

// bootstrap trains the agents offline on the actions of another autoscaler.
func (s *functionSetup) bootstrap(n *onlinePolicy, h *history.History, w *workload.Workload, passes int) error {
	places, err := s.places(w)
	if err != nil {
		return err
	}
	for at, k := range s.kinds {
		one := n.agents[s.service(k)]
		past := train.Demonstrations{Problem: s.problem, Topology: formulation.NewTopology(places[at].App), History: h,
			Service: places[at].Service, Reference: places[at].Reference}
		known := past.Each(func(t rl.Transition) {
			t.Observation, t.Next = slices.Clone(t.Observation), slices.Clone(t.Next)
			formulation.Apply(one.scales, t.Observation)
			formulation.Apply(one.scales, t.Next)
			one.agent.Remember(t)
		})
		if known == 0 {
			return fmt.Errorf("the history of %s has no step to learn from", places[at].Service)
		}
		for range passes * known {
			one.agent.Update()
		}
	}
	return nil
}

// record records what an autoscaler does with the functions, at its scrape interval; a step of
// the agents is then 15 s instead of 10 s.
func (s *functionSetup) record(ctx context.Context, w *workload.Workload, policy string, seed uint64) (*history.History, error) {
	load, err := w.For(s.app)
	if err != nil {
		return nil, err
	}
	return simulate.RecordHistory(ctx, simulate.HistorySpec{
		App: s.app, Load: load, Workload: w.Name, Policy: policy, Engine: "event", Duration: w.Duration(), Step: max(s.problem.Period,
			simulate.DefaultHistoryStep), Seed: seed,
	})
}

// rewards of a function over a run, for any autoscaler: the paper's reward with the CPU term,
// from users' latencies. A step without completed requests counts as late.
func (s *functionSetup) rewards(out *simulate.Outcome, kind int) []float64 {
	i := s.service(kind)
	b := s.app.Services[i].Bounds
	rewards := make([]float64, len(out.Timeline.At))
	for t := range rewards {
		late := out.Timeline.Latency[kind][t] / s.app.Kinds[kind].SLO.Latency.Seconds()
		quality := -1.0
		if late <= 1 {
			quality = 1 - math.Pow(late, 0.4)
		}
		rewards[t] = quality - out.Timeline.Ready[i][t]/float64(b.MaxReplicas)
	}
	return rewards
}

// between is the mean of a timeline's values between two instants.
func between(out *simulate.Outcome, values []float64, from, to time.Duration) float64 {
	var some []float64
	for t, at := range out.Timeline.At {
		if at > from && at <= to {
			some = append(some, values[t])
		}
	}
	return mean(some)
}

// shapeOf is a load's shape from generators.
func shapeOf(spec string, duration time.Duration, seed uint64) (*workload.Workload, error) {
	return workload.Parse(spec, duration, 15*time.Second, seed)
}
