package validate

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/loadline/loadline/internal/sim"
)

// FaaSModel is the model that is fitted to the OpenFaaS data: a node with some of its cores
// always in use; a gateway in front; functions that fork for every request.
type FaaSModel struct {
	Machines  map[string]FaaSMachine  `json:"machines"` // by class
	GatewayMs float64                 `json:"gateway_ms"`
	Functions map[string]FaaSFunction `json:"functions"`
}

// FaaSMachine is a size of node.
type FaaSMachine struct {
	Cores float64 `json:"cores"` // usable, as measured
	Base  float64 `json:"base"`  // cores in use without any request
}

// FaaSFunction is a function's demand.
type FaaSFunction struct {
	CPUMs  float64 `json:"cpu_ms"`  // per request
	Base   float64 `json:"base"`    // cores in use at any rate
	IdleMs float64 `json:"idle_ms"` // latency on an idle node
	Hidden float64 `json:"hidden"`  // CPU that a request takes from the node, over CPUMs
}

// Below this share of the node's cores there is hardly any queueing, and usage is demand.
const idleShare = 0.6

func fitFaaS(samples []faasSample, seed uint64) FaaSModel {
	rng := sim.Stream(seed, sim.StreamMetrics, 0)
	m := FaaSModel{Machines: map[string]FaaSMachine{}, Functions: map[string]FaaSFunction{}}
	byClass := map[string][]float64{}
	for i := range samples {
		byClass[samples[i].Class] = append(byClass[samples[i].Class], samples[i].Node)
	}
	for class, usage := range byClass {
		m.Machines[class] = FaaSMachine{Cores: quantile(usage, 0.995)}
	}
	idle := slices.DeleteFunc(slices.Clone(samples), func(s faasSample) bool {
		return s.Node > idleShare*m.Machines[s.Class].Cores || slices.ContainsFunc(s.Functions,
			func(f faasFunction) bool { return f.Success < 1 })
	})
	m.fitFunctions(idle, rng)
	m.fitGateway(idle, rng)
	m.fitLatencies(idle)
	return m
}

// fitFunctions: a function's usage is a base and a demand per request.
func (m *FaaSModel) fitFunctions(idle []faasSample, rng *rand.Rand) {
	points := map[string]*line{}
	for i := range idle {
		for _, f := range idle[i].Functions {
			if points[f.Name] == nil {
				points[f.Name] = &line{}
			}
			points[f.Name].add(f.Rate, f.Cores)
		}
	}
	for _, name := range sortedKeys(points) {
		base, slope := points[name].fit(rng)
		m.Functions[name] = FaaSFunction{CPUMs: 1000 * slope, Base: max(base, 0), Hidden: 1}
	}
}

// fitGateway: the node's usage besides the functions is a base by machine and a demand per
// request, equal for all functions.
func (m *FaaSModel) fitGateway(idle []faasSample, rng *rand.Rand) {
	points := map[string]*line{}
	for i := range idle {
		s := &idle[i]
		if points[s.Class] == nil {
			points[s.Class] = &line{}
		}
		points[s.Class].add(s.rate(), s.Node-s.cores())
	}
	var slopes []float64
	for _, class := range sortedKeys(points) {
		_, slope := points[class].fit(rng)
		slopes = append(slopes, slope)
	}
	slope := median(slopes)
	m.GatewayMs = 1000 * slope
	for class, p := range points {
		machine := m.Machines[class]
		machine.Base = p.base(slope)
		m.Machines[class] = machine
	}
}

// fitLatencies measures the latency of a request without contention.
func (m *FaaSModel) fitLatencies(idle []faasSample) {
	latency := map[string][]float64{}
	for i := range idle {
		for _, f := range idle[i].Functions {
			latency[f.Name] = append(latency[f.Name], f.LatencyMs)
		}
	}
	for name, values := range latency {
		f := m.Functions[name]
		f.IdleMs = median(values)
		m.Functions[name] = f
	}
}

// waitMs is the part of the latency on an idle node that is not CPU.
func (m *FaaSModel) waitMs(f FaaSFunction) float64 {
	return max(0, f.IdleMs-f.CPUMs*f.Hidden-m.GatewayMs)
}

// utilisation is the demand of requests over the cores that are free for them.
func (m *FaaSModel) utilisation(s *faasSample) float64 {
	demand := s.rate() * m.GatewayMs / 1000
	for _, f := range s.Functions {
		p := m.Functions[f.Name]
		demand += f.Rate * p.CPUMs * p.Hidden / 1000
	}
	return demand / m.free(s)
}

// free is the cores available to requests.
func (m *FaaSModel) free(s *faasSample) float64 {
	machine := m.Machines[s.Class]
	free := machine.Cores - machine.Base
	for _, f := range s.Functions {
		free -= m.Functions[f.Name].Base
	}
	return max(free, 0.1)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
