package profile

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// queue is one service with one worker and a core, which calls a store.
func queue() *loadline.App {
	size := loadline.Size{CPURequest: 1, CPULimit: 1, MemoryRequest: 1 << 20}
	bounds := loadline.Bounds{MinReplicas: 1, MaxReplicas: 9}
	return &loadline.App{
		Name: "queue",
		Services: []loadline.Service{
			{Name: "front", CPU: loadline.Dist{Mean: 10 * time.Millisecond, Shape: loadline.Exponential}, Workers: 1, Backlog: 100000,
				Replicas: 1, Size: size, Bounds: bounds,
				Versions: []loadline.Version{{Name: "v1", Weight: 1, CPU: 1, Wait: 1}, {Name: "v2", CPU: 2, Wait: 1}}},
			{Name: "store", CPU: loadline.Dist{Mean: time.Millisecond}, Wait: loadline.Dist{Mean: 9 * time.Millisecond}, Workers: 10,
				Backlog: 5, Replicas: 1, Size: size, Bounds: bounds},
			{Name: "idle", CPU: loadline.Dist{Mean: time.Millisecond}, Workers: 1, Size: size, Bounds: bounds},
		},
		Kinds: []loadline.Kind{{
			Name: "get", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: time.Second},
			Root: loadline.Call{Probability: 1, Times: 1, Work: 1},
		}},
		Nodes: []loadline.Node{{Name: "node", Cores: 4, Memory: 4 << 30}},
	}
}

// TestMeasureIsTheFormula: with one worker and exponential work the time in a queue is
// exponential with rate mu - lambda.
func TestMeasureIsTheFormula(t *testing.T) {
	p, err := Measure(context.Background(), queue(), 0, Options{Percentile: 95, CPU: sim.Shared, Loads: []float64{0.2, 0.5, 0.8, 1.3}})
	if err != nil {
		t.Fatal(err)
	}
	if sat, known := p.Saturation(); !known || math.Abs(sat-130) > 1e-9 {
		t.Errorf("saturated at %v, %v", sat, known)
	}
	for _, pt := range p.Points[:3] {
		want := -math.Log(0.05) / (100 - pt.Load)
		if off := math.Abs(pt.Latency - want); off > 0.05*want+3*pt.Error || !(pt.Error > 0) {
			t.Errorf("at %v/s %v +- %v s, the formula says %v", pt.Load, pt.Latency, pt.Error, want)
		}
	}
}

// TestCallsTakeWorkers: time in calls is not the service's own time, but occupies its one
// worker.
func TestCallsTakeWorkers(t *testing.T) {
	app := queue()
	app.Kinds[0].Root.Stages = [][]loadline.Call{{{Service: 1, Probability: 1, Times: 1, Work: 1}}}
	o := Options{Percentile: 95, CPU: sim.Shared, Loads: []float64{0.1, 0.8, 1.3}, Seeds: 2}
	p, err := Measure(context.Background(), app, 0, o)
	if err != nil {
		t.Fatal(err)
	}
	if sat, known := p.Saturation(); !known || math.Abs(sat-65) > 1e-9 {
		t.Errorf("10 ms of work and 10 ms of calls make 50/s at most, but saturated at %v, %v", sat, known)
	}
	if l := p.Points[0].Latency; l < 0.025 || l > 0.045 {
		t.Errorf("alone it takes 30 ms at the 95th percentile, not %v", l)
	}
	if p.Points[1].Latency < 2*p.Points[0].Latency {
		t.Errorf("no visit waits for the worker: %+v", p.Points)
	}
}

// TestRefusalsSaturate: a short backlog refuses visits long before the CPU is full, and
// admitted ones are fast.
func TestRefusalsSaturate(t *testing.T) {
	app := queue()
	app.Kinds[0].Root.Service = 1
	p, err := Measure(context.Background(), app, 1, Options{Percentile: 99, Loads: []float64{0.1, 0.9, 0.95}, Seeds: 2})
	if err != nil {
		t.Fatal(err)
	}
	if sat, known := p.Saturation(); !known || math.Abs(sat-900) > 1e-6 || len(p.Points) != 2 {
		t.Errorf("saturated at %v, %v: %+v", sat, known, p.Points)
	}
}

func TestVersionAndSizeChangeTheProfile(t *testing.T) {
	o := Options{Percentile: 90, CPU: sim.Shared, Loads: []float64{0.1}, Seeds: 2}
	latency := func(o Options) float64 {
		p, err := Measure(context.Background(), queue(), 0, o)
		if err != nil {
			t.Fatal(err)
		}
		return p.Points[0].Latency
	}
	base := latency(o)
	o.Version = "v2"
	if slow := latency(o); math.Abs(slow/base-2) > 0.25 {
		t.Errorf("twice the work takes %v times as long", slow/base)
	}
	o.Version, o.Size = "", &loadline.Size{CPURequest: 0.5, CPULimit: 0.5}
	if small := latency(o); math.Abs(small/base-2) > 0.25 {
		t.Errorf("half the CPU takes %v times as long", small/base)
	}
	o.Version = "v3"
	if _, err := Measure(context.Background(), queue(), 0, o); err == nil || !strings.Contains(err.Error(), `no version "v3"`) {
		t.Errorf("unknown version: %v", err)
	}
}

func TestMeasureRefuses(t *testing.T) {
	if _, err := Measure(context.Background(), queue(), 2, Options{Percentile: 99}); !errors.Is(err, ErrAbsent) {
		t.Errorf("a service without visits: %v", err)
	}
	if _, err := Measure(context.Background(), queue(), 0, Options{Percentile: 100}); err == nil {
		t.Error("the 100th percentile was measured")
	}
	app := queue()
	app.Services[0].IdleCPU = 2
	if _, err := Measure(context.Background(), app, 0, Options{Percentile: 99}); err == nil || !strings.Contains(err.Error(),
		"front cannot be profiled") {
		t.Errorf("no CPU left: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Measure(ctx, queue(), 0, Options{Percentile: 99}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
