package train

import (
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/rl"
)

// Demonstrations convert a recorded history of another autoscaler to transitions, from
// which an agent learns before it acts. The application consists of the service alone.
type Demonstrations struct {
	Problem  *formulation.Problem
	Topology *formulation.Topology // of the service alone
	History  *history.History
	Service  string
	// Reference is the mean CPU demand of the service, in cores.
	Reference float64
}

// Each calls see for every step of the history whose features are all present, in
// chronological order, and returns their number.
func (p *Demonstrations) Each(see func(rl.Transition)) int {
	service := p.History.Service(p.Service)
	if service == nil {
		return 0
	}
	every := max(1, int(math.Round(float64(p.Problem.Period)/float64(p.History.Step))))
	count := 0
	var before, after moment
	haveBefore := false
	for i := 0; i+every <= p.History.Steps; i += every {
		ok := after.fill(p, service, i, every)
		if haveBefore && ok {
			did := after.allocation[0]
			choice := p.Problem.ChoiceOf(p.Topology, before.situation(p.Topology.App), 0, did)
			see(rl.Transition{
				Observation: before.features, Action: rl.Action{Choice: choice}, Next: after.features,
				Result: rl.Result{Reward: p.Problem.Reward(p.Topology, after.situation(p.Topology.App), 0,
					formulation.Spend{Replicas: float64(did.Replicas), CPU: did.Size.CPURequest, Memory: float64(did.Size.MemoryRequest),
						Changed: did.Replicas != before.allocation[0].Replicas, Reference: p.Reference})},
			})
			count++
		}
		haveBefore = ok
		before, after = after, before
	}
	return count
}

// moment is one step of the history as the loop would have observed it.
type moment struct {
	window     []loadline.Observation
	allocation []loadline.Allocation
	features   []float32
}

func (s *moment) situation(app *loadline.App) loadline.Situation {
	return loadline.Situation{App: app, Window: s.window, Allocation: s.allocation, InFlight: s.allocation}
}

// fill sets the moment that ends with step first+steps-1, with means over the steps, and
// reports whether all features are present.
func (s *moment) fill(p *Demonstrations, service *history.Service, first, steps int) bool {
	at := p.History.At(first + steps - 1)
	mean := func(m history.ServiceMetric) loadline.Sample { return meanOf(service.Series[m], first, steps, at) }
	last := func(m history.ServiceMetric) (float64, bool) { return lastOf(service.Series[m], first, steps) }

	ready, known := last(history.Ready)
	desired, asked := last(history.Desired)
	if !known {
		ready, known = desired, asked
	}
	if !asked {
		desired = ready
	}
	if !known {
		return false
	}
	now := loadline.Allocation{Replicas: int(math.Round(desired)), Size: p.Topology.App.Services[0].Size}
	if v, ok := last(history.CPURequest); ok {
		now.Size.CPURequest = v
	}
	if v, ok := last(history.CPULimit); ok {
		now.Size.CPULimit = v
	}
	s.allocation = append(s.allocation[:0], now)

	if len(s.window) == 0 {
		s.window = []loadline.Observation{{Services: make([]loadline.ServiceObservation, 1), Kinds: make([]loadline.KindObservation, 1)}}
	}
	o := &s.window[0]
	o.At = at
	seen := &o.Services[0]
	pods := seen.Pods[:0]
	*seen = loadline.ServiceObservation{
		Rate: mean(history.Rate), Errors: mean(history.Errors), Concurrency: mean(history.Concurrency), Queue: mean(history.Queue),
		CPU: mean(history.CPU), Memory: mean(history.Memory), Throttled: mean(history.Throttled), Restarts: mean(history.Restarts),
		Latency: loadline.Latency{
			Mean: mean(history.LatencyMean), P50: mean(history.LatencyP50), P90: mean(history.LatencyP90),
			P95: mean(history.LatencyP95), P99: mean(history.LatencyP99),
		},
	}
	for i := range int(math.Round(ready)) {
		pods = append(pods, loadline.PodObservation{ID: int64(i), Phase: loadline.PodReady, Size: now.Size})
	}
	seen.Pods = pods
	o.Kinds[0] = loadline.KindObservation{Rate: seen.Rate, Failed: seen.Errors, Latency: seen.Latency}
	var absent string
	s.features, absent = p.Problem.Observe(p.Topology, s.situation(p.Topology.App), 0, s.features[:0])
	return absent == ""
}

func meanOf(s history.Series, first, steps int, at time.Time) loadline.Sample {
	sum, n := 0.0, 0
	for i := first; i < first+steps; i++ {
		if v, ok := s.Get(i); ok {
			sum += v
			n++
		}
	}
	if n == 0 {
		return loadline.Sample{}
	}
	return loadline.Sample{Value: sum / float64(n), At: at}
}

func lastOf(s history.Series, first, steps int) (float64, bool) {
	for i := first + steps - 1; i >= first; i-- {
		if v, ok := s.Get(i); ok {
			return v, true
		}
	}
	return 0, false
}
