package validate

import (
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// EngineFigures are the results of one engine for one cell.
type EngineFigures struct {
	CPU        float64 // cores in use, all services
	Throughput float64 // completed requests per second
	MeanMs     float64
	P99Ms      float64
	OverSLO    float64 // share of requests
}

// SteadyResult is one cell in both engines.
type SteadyResult struct {
	Cell         EngineCell
	Event, Fluid EngineFigures
}

// RunSteady runs one cell.
func RunSteady(c EngineCell, requests float64, seed uint64) SteadyResult {
	app := c.App()
	duration := c.Duration(requests)
	warmUp := duration / 10
	cfg := sim.Config{App: app, Load: rate(c.Rate()), Seed: seed, CPU: c.CPU, WarmUp: warmUp}
	return SteadyResult{
		Cell:  c,
		Event: figures(event.New(cfg), duration),
		Fluid: figures(fluid.New(cfg, 5*time.Second), duration),
	}
}

// figures runs an engine to the end and reads it. CPU and throughput are of the
// time after warm-up: before it an overloaded cell is still filling its queues.
func figures(e sim.Engine, duration time.Duration) EngineFigures {
	warmUp := e.Meter().WarmUp
	e.AdvanceTo(warmUp)
	var before, after sim.Reading
	e.Read(&before)
	completed := e.Meter().Kinds[0].Completed
	e.AdvanceTo(duration)
	e.Finish()
	e.Read(&after)
	seconds := (duration - warmUp).Seconds()
	k := &e.Meter().Kinds[0]
	f := EngineFigures{
		Throughput: (k.Completed - completed) / seconds,
		MeanMs:     k.Latency.Mean() / 1e6,
		P99Ms:      k.Latency.Quantile(0.99) / 1e6,
		OverSLO:    k.Over / k.Ended,
	}
	for i := range after.Services {
		f.CPU += (after.Services[i].Of[loadline.ServiceCPU] - before.Services[i].Of[loadline.ServiceCPU]) / seconds
	}
	return f
}

// off is the relative error of the fluid engine.
func off(fluid, event float64) float64 {
	if event == 0 {
		return math.Abs(fluid)
	}
	return fluid/event - 1
}
