package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
)

// Ursa finds its settings by exploration: the latency of each service alone as its load grows,
// and from that a threshold for each. The result is tried unchanged, and with slightly lower
// and higher thresholds.

var thresholdFactors = []float64{0.5, 0.7, 0.85, 1, 1.2}

// exploreFor is how long a service is measured at one load.
const exploreFor = time.Minute

// explored settings of ursa for a task. If a service cannot meet its part of the SLO at any
// load, there are none.
func explored(ctx context.Context, task CalibrationTask) ([]string, error) {
	measure := func(service int, perReplica, percentile float64) (time.Duration, error) {
		return alone(ctx, task, service, perReplica, percentile)
	}
	thresholds, err := policy.ExploreThresholds(task.App, expectedVisits(task), measure)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, nil
	}
	var specs []string
	for _, factor := range thresholdFactors {
		scaled := make([]float64, len(thresholds))
		for i, n := range thresholds {
			scaled[i] = n * factor
		}
		specs = append(specs, policy.UrsaSpec(task.App, scaled))
	}
	return specs, nil
}

// expectedVisits of each service per second, over the first load.
func expectedVisits(task CalibrationTask) []float64 {
	load := task.Loads[0]
	visits := make([]float64, len(task.App.Services))
	for k, perRequest := range apps.Visits(task.App) {
		requests := 0.0
		for t := time.Duration(0); t < load.Duration; {
			rate, until := load.Rates.Rate(k, t)
			until = min(until, load.Duration)
			requests += rate * (until - t).Seconds()
			t = until
		}
		for s, n := range perRequest {
			visits[s] += n * requests / load.Duration.Seconds()
		}
	}
	return visits
}

// constant load of one kind of request.
type constant float64

func (c constant) Rate(int, time.Duration) (float64, time.Duration) { return float64(c), sim.Never }

// alone measures one replica of a service by itself, without its calls.
func alone(ctx context.Context, task CalibrationTask, service int, perReplica, percentile float64) (time.Duration, error) {
	s := task.App.Services[service]
	s.Replicas, s.Bounds.MinReplicas, s.Bounds.MaxReplicas = 1, 1, 1
	app := &loadline.App{
		Name: s.Name, Services: []loadline.Service{s}, Nodes: task.App.Nodes,
		Kinds: []loadline.Kind{{
			Name: "visit", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: time.Second},
			Root: loadline.Call{Probability: 1, Times: 1, Work: meanWork(task.App, service)},
		}},
	}
	out, err := simulate.Run(ctx, simulate.Spec{
		App: app, Load: constant(perReplica), Policy: "static", Engine: "event", Duration: exploreFor, Seed: task.Loads[0].Seed,
		CPU: task.CPU, Cluster: task.scenes()[0].clusters()[0],
	})
	if err != nil {
		return 0, fmt.Errorf("explore %s: %w", s.Name, err)
	}
	m := &out.Meter.Services[0]
	// Refused visits are fast, and no sign of health.
	if m.Failed > (1-percentile/100)*m.Ended {
		return math.MaxInt64, nil
	}
	latency := m.Own.Quantile(percentile / 100)
	if math.IsNaN(latency) {
		return 0, nil // no request in a minute
	}
	return time.Duration(latency), nil
}

// meanWork of a visit to a service, over the kinds by their shares.
func meanWork(app *loadline.App, service int) float64 {
	visits := apps.Mix(app, apps.Visits(app))[service]
	cpu := apps.Mix(app, apps.CPUSeconds(app))[service]
	single := *app
	single.Kinds = []loadline.Kind{{Share: 1, Root: loadline.Call{Service: service, Probability: 1, Times: 1, Work: 1}}}
	one := apps.CPUSeconds(&single)[0][service]
	if visits == 0 || one == 0 {
		return 1
	}
	return cpu / visits / one
}
