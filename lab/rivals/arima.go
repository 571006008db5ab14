package rivals

import (
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
)

// Fits are the fitted parameters of A-SARSA's forecasters for one service. The CPU is
// forecast in cores, which unlike utilisation do not depend on the number of replicas.
type Fits struct {
	CPU      *forecast.ARIMAFit `json:"cpu,omitempty"` // nil = the forecast is the present value
	Response *forecast.ARIMAFit `json:"response,omitempty"`
}

// ARIMATask is the task of the forecasters: the next step.
func ARIMATask() forecast.Task { return forecast.Task{Horizons: []int{1}, Levels: []float64{0.5}} }

// Forecasts runs the forecasters of a service.
type Forecasts struct {
	cpu, response forecast.Model // nil = the forecast is the present value
	steps         int64
	out           [][]float64
}

func newExpects(f Fits) (Forecasts, error) {
	e := Forecasts{out: [][]float64{make([]float64, 1)}}
	for _, o := range []struct {
		fit *forecast.ARIMAFit
		to  *forecast.Model
	}{{f.CPU, &e.cpu}, {f.Response, &e.response}} {
		if o.fit == nil {
			continue
		}
		m, err := forecast.NewFittedARIMA(ARIMATask(), *o.fit)
		if err != nil {
			return e, err
		}
		*o.to = m
	}
	e.begin()
	return e, nil
}

func (e *Forecasts) begin() {
	e.steps = 0
	for _, m := range []forecast.Model{e.cpu, e.response} {
		if m != nil {
			m.Forget()
		}
	}
}

func (e *Forecasts) observe(cores, over loadline.Sample) {
	e.steps++
	show := func(m forecast.Model, s loadline.Sample) {
		if m == nil {
			return
		}
		value := math.NaN()
		if s.Present() {
			value = s.Value
		}
		m.Observe(e.steps, []float64{value})
	}
	show(e.cpu, cores)
	show(e.response, over)
}

// expected returns the forecasts for the next step; without one, the present value.
func (e *Forecasts) expected(cores, over float64) (nextCores, nextOver float64) {
	ask := func(m forecast.Model, now float64) float64 {
		if m == nil || m.Predict(e.out) != nil || math.IsNaN(e.out[0][0]) {
			return now
		}
		return max(0, e.out[0][0])
	}
	return ask(e.cpu, cores), ask(e.response, over)
}
