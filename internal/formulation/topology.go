package formulation

import (
	"time"

	"github.com/loadline/loadline"
)

// Topology is derived from an application's model before anything is measured: call
// depths, CPU demands and parts of the SLO. It is read-only and may be shared.
type Topology struct {
	App      *loadline.App
	Services []ServiceTopology
}

// ServiceTopology is one service in the topology.
type ServiceTopology struct {
	// Budget is the service's part of the users' SLO: the time that a visit may
	// take, its calls to others included, at the SLO's percentile. It is the
	// tightest over the kinds of requests that come by, each divided in
	// proportion to how long the parts take when nothing waits, or by shares that
	// were given (With).
	Budget loadline.SLO
	// Depth is how many calls lie between the users and the service on the longest
	// way, over the deepest service's: 0 for the front end, 1 for the deepest.
	Depth float64
	// CPU is the processor time of a mean visit in seconds.
	CPU float64
	// Below is the time that a mean visit spends in calls to others, in seconds,
	// when nothing waits.
	Below float64
	// Visits of one request, kind by kind.
	Visits []float64
}

// NewTopology derives the topology of an application.
func NewTopology(app *loadline.App) *Topology {
	g := &Topology{App: app, Services: make([]ServiceTopology, len(app.Services))}
	for i := range g.Services {
		g.Services[i].Visits = make([]float64, len(app.Kinds))
	}
	s := survey{
		Unloaded: Unloaded{app}, topology: g, weight: make([]float64, len(app.Services)),
		work: make([]float64, len(app.Services)), below: make([]float64, len(app.Services)), depth: make([]int, len(app.Services)),
	}
	for k := range app.Kinds {
		s.kind = k
		whole := s.Time(&app.Kinds[k].Root)
		s.walk(&app.Kinds[k].Root, -1, 1, 0, whole)
	}
	s.finish()
	return g
}

// survey walks the call trees.
type survey struct {
	Unloaded
	topology *Topology
	kind     int
	weight   []float64 // visits of the mean request, by service
	work     []float64 // of them, times their work factor
	below    []float64 // seconds in calls, summed over visits
	depth    []int
}

func (s *survey) walk(c *loadline.Call, caller int, visits float64, depth int, whole float64) {
	visits *= s.Made(c, caller)
	g := &s.topology.Services[c.Service]
	kind := &s.App.Kinds[s.kind]
	g.Visits[s.kind] += visits
	mean := visits * kind.Share
	s.weight[c.Service] += mean
	s.work[c.Service] += mean * c.Work
	s.below[c.Service] += mean * s.Calls(c)
	s.depth[c.Service] = max(s.depth[c.Service], depth)
	budget := loadline.SLO{
		Percentile: kind.SLO.Percentile,
		Latency:    time.Duration(float64(kind.SLO.Latency) * s.Time(c) / whole),
	}
	if g.Budget.Latency == 0 || budget.Latency < g.Budget.Latency {
		g.Budget = budget
	}
	for _, stage := range c.Stages {
		for i := range stage {
			s.walk(&stage[i], c.Service, visits, depth+1, whole)
		}
	}
}

func (s *survey) finish() {
	deepest := 1
	for _, d := range s.depth {
		deepest = max(deepest, d)
	}
	for i := range s.topology.Services {
		g, service := &s.topology.Services[i], &s.App.Services[i]
		g.Depth = float64(s.depth[i]) / float64(deepest)
		g.CPU = service.CPU.Mean.Seconds() * service.VersionCPU()
		if s.weight[i] > 0 {
			g.CPU *= s.work[i] / s.weight[i]
			g.Below = s.below[i] / s.weight[i]
		}
	}
}
