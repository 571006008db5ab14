package validate

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// Shape is how the services of a cell call each other.
type Shape struct {
	Name   string
	Depth  int // services in sequence
	FanOut int // parallel calls made by the first one; 0 = a chain
}

// EngineCell is one steady state: an application of equal services at one load.
type EngineCell struct {
	Shape       Shape
	CPU         sim.CPUModel
	Limit       float64 // cores per replica
	Demand      time.Duration
	CV          float64
	Replicas    int
	Utilisation float64 // of each service's limit; above 1 the services are overloaded
}

func (c EngineCell) String() string {
	model := "quota"
	if c.CPU == sim.Shared {
		model = "shared"
	}
	return fmt.Sprintf("%s, %s, %g cores, %v, CV %g, %d replicas, %.0f %%",
		c.Shape.Name, model, c.Limit, c.Demand, c.CV, c.Replicas, 100*c.Utilisation)
}

var shapes = []Shape{
	{Name: "one service", Depth: 1},
	{Name: "chain of 3", Depth: 3},
	{Name: "chain of 5", Depth: 5},
	{Name: "fan-out 2", Depth: 1, FanOut: 2},
	{Name: "fan-out 4", Depth: 1, FanOut: 4},
}

// EngineGrid is the published grid. Quick takes one cell in 23, which still covers every value of
// every axis.
func EngineGrid(quick bool) []EngineCell {
	var cells []EngineCell
	n := 0
	for _, cpu := range []sim.CPUModel{sim.Quota, sim.Shared} {
		for _, shape := range shapes {
			for _, size := range []struct {
				limit    float64
				replicas int
			}{{0.25, 2}, {0.5, 4}, {1, 1}, {2, 2}} {
				for _, demand := range []struct {
					mean time.Duration
					cv   float64
				}{{2 * time.Millisecond, 1}, {10 * time.Millisecond, 0.5}, {30 * time.Millisecond, 1.5}} {
					for _, u := range []float64{0.2, 0.5, 0.7, 0.8, 0.9, 1.3} {
						n++
						if quick && n%23 != 0 { // prime: not aligned with any axis
							continue
						}
						cells = append(cells, EngineCell{Shape: shape, CPU: cpu, Limit: size.limit, Replicas: size.replicas,
							Demand: demand.mean, CV: demand.cv, Utilisation: u})
					}
				}
			}
		}
	}
	return cells
}

// App builds the cell's application. All services have the same size, demand and utilisation.
func (c EngineCell) App() *loadline.App {
	app := &loadline.App{Name: c.String()}
	service := func(name string) int {
		app.Services = append(app.Services, loadline.Service{
			Name: name, CPU: loadline.Dist{Mean: c.Demand, CV: c.CV},
			Workers: 200, Backlog: 200, Replicas: c.Replicas,
			Size:    loadline.Size{CPURequest: c.Limit, CPULimit: c.Limit},
			Bounds:  loadline.Bounds{MinReplicas: 1, MaxReplicas: 100, MinCPU: 0.01, MaxCPU: 64},
			Startup: loadline.Dist{Mean: 10 * time.Second, CV: 0.3},
		})
		return len(app.Services) - 1
	}
	call := func(s int) loadline.Call {
		return loadline.Call{Service: s, Probability: 1, Times: 1, Work: 1}
	}
	var chain func(depth int) loadline.Call
	chain = func(depth int) loadline.Call {
		root := call(service(fmt.Sprintf("s%d", len(app.Services)+1)))
		if depth > 1 {
			root.Stages = [][]loadline.Call{{chain(depth - 1)}}
		}
		return root
	}
	root := chain(c.Shape.Depth)
	if c.Shape.FanOut > 0 {
		var stage []loadline.Call
		for i := range c.Shape.FanOut {
			stage = append(stage, call(service(fmt.Sprintf("leaf%d", i+1))))
		}
		root.Stages = [][]loadline.Call{stage}
	}
	app.Kinds = []loadline.Kind{{
		Name: "get", Share: 1, Root: root,
		SLO: loadline.SLO{Percentile: 99, Latency: 20 * c.Demand},
	}}
	return app
}

// Rate is the load, in requests per second, at the cell's utilisation.
func (c EngineCell) Rate() float64 {
	return c.Utilisation * c.Limit * float64(c.Replicas) / c.Demand.Seconds()
}

// Duration is long enough for a meaningful p99: the number of requests grows with the
// relaxation time of a queue near saturation.
func (c EngineCell) Duration(requests float64) time.Duration {
	slack := math.Max(1-math.Min(c.Utilisation, 0.95), 0.05)
	n := requests / math.Sqrt(slack)
	seconds := math.Max(n/c.Rate(), 60)
	return time.Duration(seconds * float64(time.Second))
}

// rate is a constant load.
type rate float64

func (r rate) Rate(int, time.Duration) (float64, time.Duration) { return float64(r), sim.Never }
