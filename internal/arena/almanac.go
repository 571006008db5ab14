package arena

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/sim"
)

// Almanac is what forecasters would have said at every bin of a load, worked out
// once: an episode is too short for them to see their window.
type Almanac struct {
	step  time.Duration
	ahead [][]float64 // by service and bin; NaN = none
}

// Foresight is what forecasters are shown and asked.
type Foresight struct {
	Step   time.Duration // of a bin
	Span   time.Duration // before a bin's end over which visits are counted
	Whole  bool          // a bin is known when it is over; otherwise at its beginning, as a reading taken then
	Task   forecast.Task // of its horizons the highest median counts
	Config func(seed uint64) forecast.GRUConfig
}

// ForecastError is how wrong a service's forecaster was on the last fifth of the
// load, which it was not fitted on.
type ForecastError struct {
	Service     string  `json:"service"`
	MSE         float64 `json:"mse"` // at the last horizon, where the load goes from 0 to 1
	Persistence float64 `json:"persistence"`
}

// LeastBins is how much of a load a forecaster needs to learn anything.
const LeastBins = 120

// Foresee fits a GRU to every service that is visited, on the first four fifths of
// the load, and writes the almanac of all of it. A load that is too short has no
// forecasts.
func Foresee(ctx context.Context, app *loadline.App, load sim.Arrivals, duration time.Duration, seed uint64, f Foresight, progress func(share float64)) ([]*forecast.GRU, *Almanac, []ForecastError, error) {
	bins := int(duration / f.Step)
	models := make([]*forecast.GRU, len(app.Services))
	if bins < LeastBins {
		return models, nil, nil, nil
	}
	ground := formulation.NewGround(app)
	a := &Almanac{step: f.Step, ahead: make([][]float64, len(app.Services))}
	var faults []ForecastError
	for i := range app.Services {
		progress(float64(i) / float64(len(app.Services)))
		values := f.visits(ground, i, load, bins)
		most := 0.0
		for _, v := range values {
			most = max(most, v)
		}
		if most == 0 {
			continue
		}
		gru, err := forecast.NewGRU(f.Task, f.Config(seed+uint64(i)))
		if err != nil {
			return nil, nil, nil, err
		}
		seen := bins * 4 / 5
		if err := gru.Fit(ctx, forecast.NewFrame("visits", sim.Epoch, f.Step, values[:seen])); err != nil {
			return nil, nil, nil, fmt.Errorf("forecaster of %s: %w", app.Services[i].Name, err)
		}
		models[i] = gru
		e := ForecastError{Service: app.Services[i].Name}
		a.ahead[i] = f.walk(gru, values, seen, most, &e)
		faults = append(faults, e)
	}
	return models, a, faults, nil
}

// visits to a service, bin by bin.
func (f *Foresight) visits(ground *formulation.Ground, service int, load sim.Arrivals, bins int) []float64 {
	const looks = 4
	values := make([]float64, bins)
	for b := range values {
		begin := time.Duration(b) * f.Step
		if !f.Whole {
			begin -= f.Span
		}
		for p := range looks {
			at := max(0, begin+time.Duration(p)*f.Span/looks)
			for k, visits := range ground.Services[service].Visits {
				if visits > 0 {
					rate, _ := load.Rate(k, at)
					values[b] += visits * rate / looks
				}
			}
		}
	}
	return values
}

// walk shows a forecaster the load bin by bin.
func (f *Foresight) walk(gru *forecast.GRU, values []float64, seen int, most float64, e *ForecastError) []float64 {
	raw := make([][]float64, len(f.Task.Horizons))
	for h := range raw {
		raw[h] = make([]float64, len(f.Task.Levels))
	}
	far := f.Task.Horizons[len(f.Task.Horizons)-1]
	ahead := make([]float64, len(values))
	for b := range ahead {
		ahead[b] = math.NaN()
	}
	first := sim.Epoch.Unix() / int64(f.Step/time.Second)
	gru.Forget()
	judged := 0.0
	for b := range values {
		gru.Observe(first+int64(b), []float64{values[b]})
		known := b // the bin in which that is known
		if f.Whole {
			known++
		}
		if known >= len(values) || gru.Predict(raw) != nil {
			continue
		}
		highest := 0.0
		for h := range raw {
			highest = max(highest, raw[h][0])
		}
		ahead[known] = highest
		if outcome := b + far; b >= seen && outcome < len(values) {
			judged++
			e.MSE += square((raw[len(raw)-1][0] - values[outcome]) / most)
			e.Persistence += square((values[b] - values[outcome]) / most)
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
func (a *Almanac) fill(at time.Duration, now time.Time, into []loadline.Forecast) {
	bin := int(at / a.step)
	for i := range into {
		f := &into[i]
		f.Step, f.Median = a.step, f.Median[:0]
		if bin < len(a.ahead[i]) && !math.IsNaN(a.ahead[i][bin]) {
			f.Median = append(f.Median, loadline.Sample{Value: a.ahead[i][bin], At: now})
		}
	}
}
