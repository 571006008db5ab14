package drpc

import (
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
)

// ForecastStep is the length of a bin, ForecastTask what is asked: how many visits
// come within the next minutes, which is longer than a replica takes to start.
const ForecastStep = time.Minute

// ForecastTask is the task of every service's forecaster.
func ForecastTask() forecast.Task {
	return forecast.Task{Horizons: []int{1, 2, 3, 4, 5}, Levels: []float64{0.5, 0.9}}
}

// ForecastConfig is a small GRU: there is one for every service.
func ForecastConfig(seed uint64) forecast.GRUConfig {
	return forecast.GRUConfig{Window: 20, Hidden: 12, Members: 1, Epochs: 15, Patience: 3, Seed: seed}
}

// Foresight feeds the services' rates to their forecasters and keeps what they
// say. It is for one goroutine.
type Foresight struct {
	models    []*forecast.GRU // by service; nil = none
	bins      []bin
	forecasts []loadline.Forecast
	raw       [][]float64
}

// bin of one service that is being filled.
type bin struct {
	number int64 // on the clock of the world
	sum    float64
	count  int
	begun  bool
}

// NewForesight begins with an empty past. The models are its own from then on.
func NewForesight(models []*forecast.GRU) *Foresight {
	f := &Foresight{models: models, bins: make([]bin, len(models)), forecasts: make([]loadline.Forecast, len(models))}
	task := ForecastTask()
	for range task.Horizons {
		f.raw = append(f.raw, make([]float64, len(task.Levels)))
	}
	for _, m := range models {
		if m != nil {
			m.Forget()
		}
	}
	return f
}

// Any says whether anything is forecast at all.
func (f *Foresight) Any() bool {
	for _, m := range f.models {
		if m != nil {
			return true
		}
	}
	return false
}

// Observe takes what was measured into account. A bin of which nothing was
// measured is missing, which is not zero.
func (f *Foresight) Observe(o *loadline.Observation) {
	number := o.At.Unix() / int64(ForecastStep/time.Second)
	for i, m := range f.models {
		if m == nil {
			continue
		}
		b := &f.bins[i]
		if !b.begun {
			*b = bin{number: number, begun: true}
		}
		for b.number < number {
			value := math.NaN()
			if b.count > 0 {
				value = b.sum / float64(b.count)
			}
			m.Observe(b.number, []float64{value})
			skip := b.number + 1
			if number-skip > longestGap { // a long silence is a new beginning
				m.Forget()
				skip = number
			}
			*b = bin{number: skip, begun: true}
			if skip == number {
				f.predict(i, o.At)
			}
		}
		if rate := o.Services[i].Rate; rate.Present() {
			b.sum += rate.Value
			b.count++
		}
	}
}

// longestGap is how many bins are bridged.
const longestGap = 30

func (f *Foresight) predict(service int, at time.Time) {
	to := &f.forecasts[service]
	to.Step = ForecastStep
	to.Median, to.High = to.Median[:0], to.High[:0]
	if err := f.models[service].Predict(f.raw); err != nil {
		return // not enough of the past yet: nothing is expected
	}
	for h := range f.raw {
		to.Median = append(to.Median, loadline.Sample{Value: max(0, f.raw[h][0]), At: at})
		to.High = append(to.High, loadline.Sample{Value: max(0, f.raw[h][1]), At: at})
	}
}

// Forecasts as a situation has them, until the next Observe.
func (f *Foresight) Forecasts() []loadline.Forecast { return f.forecasts }

// highestOf the medians, and the rate where there are none.
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
