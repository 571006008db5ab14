package school

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/drpc"
	"github.com/loadline/loadline/internal/env"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/sim"
)

// Almanac is what the forecasters would have said at every minute of a load, worked
// out once: an episode is too short for them to see their window.
type Almanac struct {
	ahead [][]float32 // by service and bin: the highest median; NaN = none
}

// ForecastError is how wrong a service's forecaster was on the last fifth of the
// load, which it was not fitted on.
type ForecastError struct {
	Service     string  `json:"service"`
	MSE         float64 `json:"mse"` // five minutes ahead, where the load goes from 0 to 1
	Persistence float64 `json:"persistence"`
}

// visitsOf are a service's visits minute by minute.
func visitsOf(ground *env.Ground, service int, load sim.Arrivals, bins int) []float64 {
	const parts = 4 // looks per bin
	values := make([]float64, bins)
	for b := range values {
		for p := range parts {
			at := time.Duration(b)*drpc.ForecastStep + time.Duration(p)*drpc.ForecastStep/parts
			for k, visits := range ground.Services[service].Visits {
				if visits > 0 {
					rate, _ := load.Rate(k, at)
					values[b] += visits * rate / parts
				}
			}
		}
	}
	return values
}

// leastBins is how much of a load a forecaster needs to learn anything.
const leastBins = 120

// learnForecasts fits a GRU to every service that is visited, on the first four
// fifths of the load, and writes the almanac of all of it. A load that is too
// short has no forecasts.
func learnForecasts(ctx context.Context, app *loadline.App, load sim.Arrivals, duration time.Duration, seed uint64, progress func(share float64)) ([]*forecast.GRU, *Almanac, []ForecastError, error) {
	bins := int(duration / drpc.ForecastStep)
	models := make([]*forecast.GRU, len(app.Services))
	if bins < leastBins {
		return models, nil, nil, nil
	}
	ground := env.NewGround(app)
	almanac := &Almanac{ahead: make([][]float32, len(app.Services))}
	var faults []ForecastError
	for i := range app.Services {
		progress(float64(i) / float64(len(app.Services)))
		values := visitsOf(ground, i, load, bins)
		most := 0.0
		for _, v := range values {
			most = max(most, v)
		}
		if most == 0 {
			continue
		}
		gru, err := forecast.NewGRU(drpc.ForecastTask(), drpc.ForecastConfig(seed+uint64(i)))
		if err != nil {
			return nil, nil, nil, err
		}
		seen := bins * 4 / 5
		if err := gru.Fit(ctx, forecast.NewFrame("visits", sim.Epoch, drpc.ForecastStep, values[:seen])); err != nil {
			return nil, nil, nil, fmt.Errorf("forecaster of %s: %w", app.Services[i].Name, err)
		}
		models[i] = gru
		e := ForecastError{Service: app.Services[i].Name}
		almanac.ahead[i] = walk(gru, values, seen, most, &e)
		faults = append(faults, e)
	}
	return models, almanac, faults, nil
}

// walk shows a forecaster the load minute by minute.
func walk(gru *forecast.GRU, values []float64, seen int, most float64, e *ForecastError) []float32 {
	task := drpc.ForecastTask()
	raw := make([][]float64, len(task.Horizons))
	for h := range raw {
		raw[h] = make([]float64, len(task.Levels))
	}
	far := task.Horizons[len(task.Horizons)-1]
	ahead := make([]float32, len(values))
	first := sim.Epoch.Unix() / int64(drpc.ForecastStep/time.Second)
	gru.Forget()
	judged := 0.0
	for b := range values {
		ahead[b] = float32(math.NaN())
		if b > 0 && gru.Predict(raw) == nil {
			highest := 0.0
			for h := range raw {
				highest = max(highest, raw[h][0])
			}
			ahead[b] = float32(highest)
			if outcome := b - 1 + far; b > seen && outcome < len(values) {
				judged++
				e.MSE += square((raw[len(raw)-1][0] - values[outcome]) / most)
				e.Persistence += square((values[b-1] - values[outcome]) / most)
			}
		}
		gru.Observe(first+int64(b), []float64{values[b]})
	}
	if judged > 0 {
		e.MSE /= judged
		e.Persistence /= judged
	}
	return ahead
}

func square(v float64) float64 { return v * v }

// fill sets what is expected at an instant of the load.
func (a *Almanac) fill(at time.Duration, now time.Time, into []loadline.Forecast) {
	bin := int(at / drpc.ForecastStep)
	for i := range into {
		f := &into[i]
		f.Step, f.Median = drpc.ForecastStep, f.Median[:0]
		if bin < len(a.ahead[i]) && !math.IsNaN(float64(a.ahead[i][bin])) {
			f.Median = append(f.Median, loadline.Sample{Value: float64(a.ahead[i][bin]), At: now})
		}
	}
}
