package train

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/sim"
)

// ServiceScenario is an application of one service, with the visits to it as its load.
type ServiceScenario struct {
	Scenario
	Service   string
	Reference float64 // mean demand of the visits, in cores
}

// NewServiceScenario isolates a service of an application. The time that its visits
// spend in calls to others, without queueing, becomes waiting time; its part of the
// end-to-end SLO becomes its SLO; the visits to it become the requests.
func NewServiceScenario(topology *formulation.Topology, service int, load sim.Arrivals, duration time.Duration) ServiceScenario {
	g, s := topology.Services[service], topology.App.Services[service]
	s.Wait.Mean += time.Duration(g.Below * float64(time.Second))
	if s.Wait.CV == 0 && g.Below > 0 {
		s.Wait.CV = 0.5
	}
	var timeout time.Duration
	for k, kind := range topology.App.Kinds {
		if g.Visits[k] > 0 {
			timeout = max(timeout, kind.Timeout)
		}
	}
	work := 1.0
	if mean := s.CPU.Mean.Seconds() * s.VersionCPU(); mean > 0 {
		work = g.CPU / mean
	}
	s.CPU.Mean = time.Duration(float64(s.CPU.Mean) * work)
	room := loadline.Node{Name: "node", Cores: 2 + 2*float64(s.Bounds.MaxReplicas)*max(s.Bounds.MaxCPU, s.Size.CPURequest,
		s.Size.CPULimit)}
	room.Memory = 1<<30 + 2*int64(s.Bounds.MaxReplicas)*max(s.Bounds.MaxMemory, s.Size.MemoryRequest, s.Size.MemoryLimit)
	app := &loadline.App{
		Name: topology.App.Name + "/" + s.Name, Services: []loadline.Service{s}, Routing: topology.App.Routing,
		Kinds: []loadline.Kind{{
			Name: s.Name, Share: 1, SLO: g.Budget, Timeout: timeout,
			Root: loadline.Call{Probability: 1, Times: 1, Work: 1},
		}},
		Nodes: []loadline.Node{room},
	}
	p := ServiceScenario{Service: s.Name, Scenario: Scenario{App: app, Load: visits{load, g.Visits}, Duration: duration}}
	p.Reference = p.meanRate() * g.CPU
	return p
}

// meanRate is the mean rate of visits over the load.
func (p *ServiceScenario) meanRate() float64 {
	sum := 0.0
	for t := time.Duration(0); t < p.Duration; {
		rate, until := p.Load.Rate(0, t)
		until = min(until, p.Duration)
		sum += rate * (until - t).Seconds()
		t = until
	}
	return sum / p.Duration.Seconds()
}

// ServiceScenarios makes one for every service that is visited.
func ServiceScenarios(topology *formulation.Topology, load sim.Arrivals, duration time.Duration) []ServiceScenario {
	var scenarios []ServiceScenario
	for i := range topology.Services {
		visited := 0.0
		for _, v := range topology.Services[i].Visits {
			visited += v
		}
		if visited > 0 {
			scenarios = append(scenarios, NewServiceScenario(topology, i, load, duration))
		}
	}
	return scenarios
}

// visits is the load of one service that results from the load of the application.
type visits struct {
	users sim.Arrivals
	each  []float64 // visits of one request, by kind
}

func (v visits) Rate(_ int, t time.Duration) (perSecond float64, until time.Duration) {
	until = sim.Never
	for kind, n := range v.each {
		if n == 0 {
			continue
		}
		rate, to := v.users.Rate(kind, t)
		perSecond += n * rate
		until = min(until, to)
	}
	return perSecond, until
}
