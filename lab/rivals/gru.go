package rivals

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
)

// GRUTask is the task of CoScal's forecasters: the visits at the next decision.
func GRUTask() forecast.Task { return forecast.Task{Horizons: []int{1}, Levels: []float64{0.5}} }

// GRUConfig configures a small GRU, since every service has one.
func GRUConfig(seed uint64) forecast.GRUConfig {
	return forecast.GRUConfig{Window: 6, Hidden: 12, Members: 1, Epochs: 30, Patience: 5, Seed: seed}
}

// rateForecasts gives the forecasters the visits at each decision, and keeps their forecasts.
type rateForecasts struct {
	period    time.Duration
	models    []*forecast.GRU // by service; nil = none
	last      []int64         // number of the last observed decision
	observed  []bool
	out       [][]float64
	forecasts []loadline.Forecast
}

func newRateForecasts(m *Model, at []int) (*rateForecasts, error) {
	n := len(at)
	f := &rateForecasts{
		period: m.Period, models: make([]*forecast.GRU, n), last: make([]int64, n), observed: make([]bool, n),
		out: [][]float64{make([]float64, 1)}, forecasts: make([]loadline.Forecast, n),
	}
	for i, place := range at {
		if place < 0 || len(m.GRUs) == 0 || m.GRUs[place] == nil {
			continue
		}
		// A forecaster has a state, so each policy has its own copy.
		file, err := m.GRUs[place].File(m.Services[place], nil)
		if err != nil {
			return nil, fmt.Errorf("forecaster of %s: %w", m.Services[place], err)
		}
		if f.models[i], err = forecast.LoadGRU(file); err != nil {
			return nil, fmt.Errorf("forecaster of %s: %w", m.Services[place], err)
		}
	}
	f.begin()
	return f, nil
}

func (f *rateForecasts) begin() {
	clear(f.observed)
	clear(f.forecasts)
	for _, m := range f.models {
		if m != nil {
			m.Forget()
		}
	}
}

// longestGap is the number of missing decisions after which the history is discarded.
const longestGap = 12

// horizon of the forecasts: the next decision; zero if no service has a forecaster.
func (f *rateForecasts) horizon() loadline.Horizon {
	for _, m := range f.models {
		if m != nil {
			return loadline.Horizon{Step: f.period, Steps: 1}
		}
	}
	return loadline.Horizon{}
}

// forecast takes what was measured at a decision into account, and returns the
// forecasts by service. What was not measured is missing, which is not zero.
func (f *rateForecasts) forecast(now time.Time, o *loadline.Observation) []loadline.Forecast {
	number := now.Unix() / max(1, int64(f.period/time.Second))
	for i, m := range f.models {
		if m == nil || f.observed[i] && number <= f.last[i] {
			continue
		}
		if f.observed[i] && number-f.last[i] > longestGap {
			m.Forget()
			f.observed[i] = false
		}
		for f.observed[i] && f.last[i]+1 < number {
			f.last[i]++
			m.Observe(f.last[i], []float64{math.NaN()})
		}
		value := math.NaN()
		if v := visits(&o.Services[i]); v.Present() {
			value = v.Value
		}
		m.Observe(number, []float64{value})
		f.last[i], f.observed[i] = number, true
		to := &f.forecasts[i]
		to.Step, to.Median = f.period, to.Median[:0]
		if m.Predict(f.out) == nil && !math.IsNaN(f.out[0][0]) {
			to.Median = append(to.Median, loadline.Sample{Value: max(0, f.out[0][0]), At: now})
		}
	}
	return f.forecasts
}
