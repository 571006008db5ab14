package practice

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/env"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/rivals"
	"github.com/loadline/loadline/internal/sim"
)

// almanac is what CoScal's forecasters would have said at every decision of a load,
// worked out once: an episode is too short for them to see their window.
type almanac struct {
	period time.Duration
	ahead  [][]float64 // by service and decision; NaN = none
}

// ForecastError is how wrong a service's forecaster was on the last fifth of the
// load, which it was not fitted on.
type ForecastError struct {
	Service     string  `json:"service"`
	MSE         float64 `json:"mse"` // at the next decision, where the load goes from 0 to 1
	Persistence float64 `json:"persistence"`
}

// leastBins is how much of a load a forecaster needs to learn anything.
const leastBins = 120

// visitsAt each decision: the mean of the minute before it, which is what is
// measured.
func visitsAt(ground *env.Ground, service int, load sim.Arrivals, bins int, period time.Duration) []float64 {
	const parts = 4
	values := make([]float64, bins)
	for b := range values {
		for p := range parts {
			at := max(0, time.Duration(b)*period-time.Duration(p)*time.Minute/parts)
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

// learnForecasts fits a GRU to every service that is visited, on the first four
// fifths of the load, and writes the almanac of all of it. A load that is too short
// has no forecasts.
func learnForecasts(ctx context.Context, subject Subject, period time.Duration, seed uint64, progress func(share float64)) ([]*forecast.GRU, *almanac, []ForecastError, error) {
	app := subject.App
	bins := int(subject.Duration / period)
	if bins < leastBins {
		return nil, nil, nil, nil
	}
	ground := env.NewGround(app)
	models := make([]*forecast.GRU, len(app.Services))
	a := &almanac{period: period, ahead: make([][]float64, len(app.Services))}
	var faults []ForecastError
	for i := range app.Services {
		progress(float64(i) / float64(len(app.Services)))
		values := visitsAt(ground, i, subject.Load, bins, period)
		most := 0.0
		for _, v := range values {
			most = max(most, v)
		}
		if most == 0 {
			continue
		}
		gru, err := forecast.NewGRU(rivals.GRUTask(), rivals.GRUConfig(seed+uint64(i)))
		if err != nil {
			return nil, nil, nil, err
		}
		seen := bins * 4 / 5
		if err := gru.Fit(ctx, forecast.NewFrame("visits", sim.Epoch, period, values[:seen])); err != nil {
			return nil, nil, nil, fmt.Errorf("forecaster of %s: %w", app.Services[i].Name, err)
		}
		models[i] = gru
		e := ForecastError{Service: app.Services[i].Name}
		a.ahead[i] = walk(gru, values, seen, most, &e)
		faults = append(faults, e)
	}
	return models, a, faults, nil
}

// walk shows a forecaster the load decision by decision.
func walk(gru *forecast.GRU, values []float64, seen int, most float64, e *ForecastError) []float64 {
	raw := [][]float64{make([]float64, 1)}
	ahead := make([]float64, len(values))
	first := sim.Epoch.Unix() / int64(gru.Step()/time.Second)
	gru.Forget()
	judged := 0.0
	for b := range values {
		gru.Observe(first+int64(b), []float64{values[b]})
		if ahead[b] = math.NaN(); gru.Predict(raw) != nil {
			continue
		}
		ahead[b] = max(0, raw[0][0])
		if b >= seen && b+1 < len(values) {
			judged++
			e.MSE += square((raw[0][0] - values[b+1]) / most)
			e.Persistence += square((values[b] - values[b+1]) / most)
		}
	}
	if judged > 0 {
		e.MSE /= judged
		e.Persistence /= judged
	}
	return ahead
}

func square(v float64) float64 { return v * v }

// fill sets what is expected at an instant of the load.
func (a *almanac) fill(at time.Duration, now time.Time, into []loadline.Forecast) {
	bin := int(at / a.period)
	for i := range into {
		f := &into[i]
		f.Step, f.Median = a.period, f.Median[:0]
		if bin < len(a.ahead[i]) && !math.IsNaN(a.ahead[i][bin]) {
			f.Median = append(f.Median, loadline.Sample{Value: a.ahead[i][bin], At: now})
		}
	}
}
