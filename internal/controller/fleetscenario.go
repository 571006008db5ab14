package controller

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline/internal/train"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/workload"
)

// scenarioOf is the scenario in which an embedded teacher trains and is evaluated: the
// twin under days whose peak needs more than the twin's replicas and whose nights need
// less. It depends on the twin alone, so that a teacher that restarts has the same
// scenario. The request mix is the observed one.
func scenarioOf(twin *loadline.App, m *drpc.Model) (train.Scenario, error) {
	if twin == nil {
		return train.Scenario{}, errors.New("spec.twin names no model of the application to train in")
	}
	if err := m.IsOf(twin); err != nil {
		return train.Scenario{}, err
	}
	high, err := peakOf(twin)
	if err != nil {
		return train.Scenario{}, err
	}
	name := fmt.Sprintf("diurnal:low=%.3g,high=%.3g+noise:cv=0.1", high/4, high)
	w, _, err := workload.Open(name, workload.Options{Duration: 24 * time.Hour, Seed: 1})
	if err != nil {
		return train.Scenario{}, err
	}
	load, err := w.For(twin)
	if err != nil {
		return train.Scenario{}, err
	}
	return train.Scenario{App: twin, Load: load, Duration: w.Duration(), Source: fmt.Sprintf("%s under %s", twin.Name, name)}, nil
}

// CPU utilisation of the busiest service at the peak: above 1 with the replicas that the
// twin describes, below 1 with the most that its bounds allow.
const (
	peakOfDescribed = 1.5
	peakOfMost      = 0.7
)

// peakOf is the highest request rate that an application can be scaled for by its CPU.
func peakOf(app *loadline.App) (float64, error) {
	ground, shares := formulation.NewTopology(app), 0.0
	for k := range app.Kinds {
		shares += app.Kinds[k].Share
	}
	peak := math.Inf(1)
	for i := range app.Services {
		s, g := &app.Services[i], &ground.Services[i]
		visits := 0.0
		for k, v := range g.Visits {
			visits += v * app.Kinds[k].Share / shares
		}
		cores := max(s.Size.CPULimit, s.Size.CPURequest)
		if demand := visits * g.CPU; demand > 0 && cores > 0 {
			room := peakOfDescribed * float64(max(s.Replicas, 1))
			if s.Bounds.MaxReplicas > 0 {
				room = min(room, peakOfMost*float64(s.Bounds.MaxReplicas))
			}
			peak = min(peak, room*cores/demand)
		}
	}
	if math.IsInf(peak, 1) || !(peak > 0) {
		return 0, fmt.Errorf("the twin %s gives no service's CPU time per request: add it", app.Name)
	}
	return peak, nil
}

// replayBytes is how much memory the replay buffer of an embedded teacher may take.
const replayBytes = 64 << 20

// affordable is how many transitions fit into that.
func affordable(most int, shape drpc.Shape, app *loadline.App) int {
	eyes, err := drpc.NewEncoder(app)
	if err != nil {
		return most
	}
	const float = 4
	each := float * (2*eyes.Width(shape) + drpc.Axes*len(app.Services))
	return max(min(most, replayBytes/each), 1000)
}
