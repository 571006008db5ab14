package drpc

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
)

// ForecastStep is the length of a step of the forecasts.
const ForecastStep = time.Minute

// ForecastTask is the task of every service's forecaster: the visits within the next minutes,
// which is longer than the start-up of a replica.
func ForecastTask() forecast.Task {
	return forecast.Task{Horizons: []int{1, 2, 3, 4, 5}, Levels: []float64{0.5, 0.9}}
}

// ForecastConfig is a small GRU: there is one for every service.
func ForecastConfig(seed uint64) forecast.GRUConfig {
	return forecast.GRUConfig{Window: 20, Hidden: 12, Members: 1, Epochs: 15, Patience: 3, Seed: seed}
}

// NewRates forecasts an application's rates with a model's forecasters, matched with the
// services by name. They are copied: a forecaster keeps a history.
func NewRates(app *loadline.App, services []string, models []*forecast.GRU) (*forecast.Rates, error) {
	own := make([]*forecast.GRU, len(app.Services))
	for i, gru := range models {
		at := app.ServiceIndex(services[i])
		if gru == nil || at < 0 {
			continue
		}
		file, err := gru.File(services[i], nil)
		if err == nil {
			own[at], err = forecast.LoadGRU(file)
		}
		if err != nil {
			return nil, fmt.Errorf("forecaster of %s: %w", services[i], err)
		}
	}
	return forecast.NewRates(own, ForecastStep, ForecastTask()), nil
}

// highestOf the medians; the rate if there are none.
func highestOf(f *loadline.Forecast, rate float64) float64 {
	if len(f.Median) == 0 {
		return rate
	}
	highest := 0.0
	for _, s := range f.Median {
		highest = max(highest, s.Value)
	}
	return highest
}
