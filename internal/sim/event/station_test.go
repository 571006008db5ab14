package event

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// constant is a load of constant rates.
type constant []float64 // by kind

func (c constant) Rate(kind int, _ time.Duration) (float64, time.Duration) {
	return c[kind], sim.Never
}

// station is one service with one kind of request that visits it once.
func station(cpu loadline.Dist, limit float64, workers, backlog, replicas int) *loadline.App {
	return &loadline.App{
		Name:     "station",
		Services: []loadline.Service{server("a", cpu, limit, workers, backlog, replicas)},
		Kinds: []loadline.Kind{{
			Name: "get", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: time.Second},
			Root: leaf(0),
		}},
	}
}

func server(name string, cpu loadline.Dist, limit float64, workers, backlog, replicas int) loadline.Service {
	return loadline.Service{
		Name: name, CPU: cpu, Workers: workers, Backlog: backlog, Replicas: replicas,
		Size:    loadline.Size{CPURequest: limit, CPULimit: limit},
		Bounds:  loadline.Bounds{MinReplicas: 1, MaxReplicas: 100, MinCPU: 0.01, MaxCPU: 100},
		Startup: loadline.Dist{Mean: 10 * time.Second},
	}
}

func leaf(service int) loadline.Call {
	return loadline.Call{Service: service, Probability: 1, Times: 1, Work: 1}
}

func tree(service int, stages ...[]loadline.Call) loadline.Call {
	c := leaf(service)
	c.Stages = stages
	return c
}

const many = math.MaxInt32

// run simulates and returns the finished engine.
func run(cfg sim.Config, duration time.Duration) *Engine {
	e := New(cfg)
	e.AdvanceTo(duration)
	e.Finish()
	return e
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if off := math.Abs(got/want - 1); !(off <= tolerance) {
		t.Errorf("%s = %.6g, want %.6g within %.2g %%, is off by %.2f %%", what, got, want, 100*tolerance, 100*off)
	}
}

func ms(m float64) time.Duration { return time.Duration(m * float64(time.Millisecond)) }
