package train

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

// ForecastTable holds the forecasts for every time bin of a load. They are computed in
// advance, because an episode is too short to fill the forecasters' window.
type ForecastTable struct {
	step  time.Duration
	ahead [][]float64 // by service and bin; NaN = none
}

// ForecastSpec describes the input and the output of the forecasters.
type ForecastSpec struct {
	Step   time.Duration // of a bin
	Span   time.Duration // before a bin's end over which visits are counted
	Whole  bool          // a bin is known when it is over; otherwise at its beginning, as a reading taken then
	Task   forecast.Task // of its horizons the highest median counts
	Config func(seed uint64) forecast.GRUConfig
}

// ForecastError is the error of a service's forecaster on the last fifth of the load,
// which is held out.
type ForecastError struct {
	Service     string  `json:"service"`
	MSE         float64 `json:"mse"` // at the last horizon, with the load scaled to at most 1
	Persistence float64 `json:"persistence"`
}

// MinForecastBins is the number of bins that fitting a forecaster takes at least.
const MinForecastBins = 120

// FitForecasts fits a GRU for every service that is visited to the first four fifths of
// the load, and computes the table of the whole load. Without MinForecastBins there are
// no forecasts.
func FitForecasts(ctx context.Context, s Scenario, seed uint64, f ForecastSpec, progress func(share float64)) ([]*forecast.GRU,
	*ForecastTable, []ForecastError, error) {
	app, bins := s.App, int(s.Duration/f.Step)
	models := make([]*forecast.GRU, len(app.Services))
	if bins < MinForecastBins {
		return models, nil, nil, nil
	}
	topology := formulation.NewTopology(app)
	a := &ForecastTable{step: f.Step, ahead: make([][]float64, len(app.Services))}
	var faults []ForecastError
	for i := range app.Services {
		progress(float64(i) / float64(len(app.Services)))
		values := f.visits(topology, i, s.Load, bins)
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

// visits are the mean rates of visits to a service, by bin.
func (f *ForecastSpec) visits(topology *formulation.Topology, service int, load sim.Arrivals, bins int) []float64 {
	const looks = 4
	values := make([]float64, bins)
	for b := range values {
		begin := time.Duration(b) * f.Step
		if !f.Whole {
			begin -= f.Span
		}
		for p := range looks {
			at := max(0, begin+time.Duration(p)*f.Span/looks)
			for k, visits := range topology.Services[service].Visits {
				if visits > 0 {
					rate, _ := load.Rate(k, at)
					values[b] += visits * rate / looks
				}
			}
		}
	}
	return values
}

// walk feeds the load to a forecaster, bin by bin, and returns its forecasts.
func (f *ForecastSpec) walk(gru *forecast.GRU, values []float64, seen int, most float64, e *ForecastError) []float64 {
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
		known := b // the bin in which the value is known
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

// fill sets the forecasts of the bin that contains an instant of the load.
func (a *ForecastTable) fill(at time.Duration, now time.Time, into []loadline.Forecast) {
	bin := int(at / a.step)
	for i := range into {
		f := &into[i]
		f.Step, f.Median = a.step, f.Median[:0]
		if bin < len(a.ahead[i]) && !math.IsNaN(a.ahead[i][bin]) {
			f.Median = append(f.Median, loadline.Sample{Value: a.ahead[i][bin], At: now})
		}
	}
}

// episodeForecasts looks up the forecasts of the arena's episode in its table. It is the
// forecaster of the arena's loop.
type episodeForecasts struct {
	arena     *Arena
	forecasts []loadline.Forecast
}

// Forecast implements loop.Forecaster.
func (f *episodeForecasts) Forecast(now time.Time, _ []loadline.Observation) []loadline.Forecast {
	f.arena.config.Forecasts.fill(f.arena.start+sim.Since(now), now, f.forecasts)
	return f.forecasts
}

// NewForecastTable computes the table of a load with fitted forecasters, by service; nil
// = none. It is nil without MinForecastBins.
func NewForecastTable(s Scenario, f ForecastSpec, models []*forecast.GRU) *ForecastTable {
	bins := int(s.Duration / f.Step)
	if bins < MinForecastBins {
		return nil
	}
	topology := formulation.NewTopology(s.App)
	a := &ForecastTable{step: f.Step, ahead: make([][]float64, len(s.App.Services))}
	for i, gru := range models {
		if gru != nil {
			a.ahead[i] = f.walk(gru, f.visits(topology, i, s.Load, bins), bins, 1, &ForecastError{})
		}
	}
	return a
}
