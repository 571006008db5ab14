package forecast

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Rates forecasts the rate of visits to the services of an application from the observations of
// a control loop: it averages them over steps of the clock, feeds each service's average to the
// service's model, and keeps the forecasts. It is for one goroutine.
type Rates struct {
	step      time.Duration
	models    []*GRU // by service; nil = none
	bins      []bin
	forecasts []loadline.Forecast
	raw       [][]float64 // by horizon, then level
}

// bin is the current step of one service's averaging.
type bin struct {
	number int64 // steps since the Unix epoch
	sum    float64
	count  int
	begun  bool
}

// longestGap is the number of steps without an observation that is bridged as
// missing data. After a longer one a model begins with an empty history.
const longestGap = 30

// NewRates begins with an empty history. The models, one per service or nil, were
// trained for the task in steps of the given length, and belong to the Rates from
// then on.
func NewRates(models []*GRU, step time.Duration, task Task) *Rates {
	r := &Rates{step: step, models: models, bins: make([]bin, len(models)), forecasts: make([]loadline.Forecast, len(models))}
	for range task.Horizons {
		r.raw = append(r.raw, make([]float64, len(task.Levels)))
	}
	for _, m := range models {
		if m != nil {
			m.Forget()
		}
	}
	return r
}

// Horizon of the forecasts; zero if no service has a model.
func (r *Rates) Horizon() loadline.Horizon {
	for _, m := range r.models {
		if m != nil {
			return loadline.Horizon{Step: r.step, Steps: len(r.raw)}
		}
	}
	return loadline.Horizon{}
}

// Forecast adds the newest observation and returns the forecasts by service, the first level of
// the task as the median and the second as the upper quantile. They are valid until the next
// call.
func (r *Rates) Forecast(_ time.Time, window []loadline.Observation) []loadline.Forecast {
	o := &window[len(window)-1]
	for i, m := range r.models {
		if m != nil {
			r.observe(i, m, o)
		}
	}
	return r.forecasts
}

// observe closes the steps that have ended and adds the rate to the current one. A step without
// a sample is missing, not zero.
func (r *Rates) observe(service int, m *GRU, o *loadline.Observation) {
	number := o.At.Unix() / int64(r.step/time.Second)
	b := &r.bins[service]
	if !b.begun {
		*b = bin{number: number, begun: true}
	}
	for b.number < number {
		value := math.NaN()
		if b.count > 0 {
			value = b.sum / float64(b.count)
		}
		m.Observe(b.number, []float64{value})
		next := b.number + 1
		if number-next > longestGap {
			m.Forget()
			next = number
		}
		*b = bin{number: next, begun: true}
		if next == number {
			r.predict(service, o.At)
		}
	}
	if rate := o.Services[service].Rate; rate.Present() {
		b.sum += rate.Value
		b.count++
	}
}

func (r *Rates) predict(service int, at time.Time) {
	to := &r.forecasts[service]
	to.Step = r.step
	to.Median, to.High = to.Median[:0], to.High[:0]
	if err := r.models[service].Predict(r.raw); err != nil {
		return // not enough history yet
	}
	for h := range r.raw {
		to.Median = append(to.Median, loadline.Sample{Value: max(0, r.raw[h][0]), At: at})
		to.High = append(to.High, loadline.Sample{Value: max(0, r.raw[h][1]), At: at})
	}
}
