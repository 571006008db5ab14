package fluid

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// constant is a load of constant rates, by kind.
type constant []float64

func (c constant) Rate(kind int, _ time.Duration) (float64, time.Duration) { return c[kind], sim.Never }

// steps is a load that changes at given instants.
type steps []struct {
	from time.Duration
	rate float64
}

func (s steps) Rate(_ int, t time.Duration) (float64, time.Duration) {
	rate, until := 0.0, sim.Never
	for _, p := range s {
		if p.from <= t {
			rate = p.rate
		} else {
			until = p.from
			break
		}
	}
	return rate, until
}

func ms(m float64) time.Duration { return time.Duration(m * float64(time.Millisecond)) }

func lognormalCPU(m, cv float64) loadline.Dist { return loadline.Dist{Mean: ms(m), CV: cv} }

func server(name string, cpu loadline.Dist, limit float64, workers, backlog, replicas int) loadline.Service {
	return loadline.Service{
		Name: name, CPU: cpu, Workers: workers, Backlog: backlog, Replicas: replicas,
		Size: loadline.Size{CPURequest: limit, CPULimit: limit}, Startup: loadline.Dist{Mean: 10 * time.Second},
	}
}

func tree(service int, stages ...[]loadline.Call) loadline.Call {
	return loadline.Call{Service: service, Probability: 1, Times: 1, Work: 1, Stages: stages}
}

// cell is one point of the grid on which the engines are compared.
type cell struct {
	cpu      sim.CPUModel
	load     float64
	limit    float64
	demand   float64 // ms
	cv       float64
	replicas int
	depth    int // services in a chain
	fan      int // services called in parallel by the last of the chain; 0 = none
	routing  loadline.Routing
	workers  int
}

// app builds the application of a cell and the rate of its load.
func (c cell) app() (*loadline.App, float64) {
	workers := c.workers
	if workers == 0 {
		workers = 1000
	}
	app := &loadline.App{Name: "cell", Routing: c.routing}
	add := func() int {
		app.Services = append(app.Services, server("s", lognormalCPU(c.demand, c.cv), c.limit, workers, 200, c.replicas))
		return len(app.Services) - 1
	}
	var build func(depth int) loadline.Call
	build = func(depth int) loadline.Call {
		at := add()
		if depth > 1 {
			return tree(at, []loadline.Call{build(depth - 1)})
		}
		var stage []loadline.Call
		for range c.fan {
			stage = append(stage, tree(add()))
		}
		if len(stage) == 0 {
			return tree(at)
		}
		return tree(at, stage)
	}
	root := build(max(c.depth, 1))
	app.Kinds = []loadline.Kind{{Name: "k", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond}, Root: root}}
	return app, c.load * c.limit * float64(c.replicas) / (c.demand / 1000)
}
