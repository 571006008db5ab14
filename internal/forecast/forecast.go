package forecast

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// ErrNoData: there is too little data to forecast from, or it is too old.
var ErrNoData = errors.New("forecast: no data to forecast from")

// DefaultLevels are the quantiles that are forecast by default.
var DefaultLevels = []float64{0.05, 0.1, 0.5, 0.9, 0.95}

// Task is what to forecast.
type Task struct {
	Horizons []int     `json:"horizons"` // in steps, rising
	Levels   []float64 `json:"levels"`   // quantiles, rising, 0.5 among them
	Season   int       `json:"season"`   // steps until load repeats; 0 = unknown
}

// Validate reports every fault at once.
func (t Task) Validate() error {
	var faults []error
	if len(t.Horizons) == 0 || t.Horizons[0] < 1 || !rises(t.Horizons) {
		faults = append(faults, fmt.Errorf("forecast: horizons are %v, must be rising numbers of steps of at least 1", t.Horizons))
	}
	if len(t.Levels) == 0 || !(t.Levels[0] > 0 && t.Levels[len(t.Levels)-1] < 1) || !rises(t.Levels) || !slices.Contains(t.Levels, 0.5) {
		faults = append(faults, fmt.Errorf("forecast: levels are %v, must rise between 0 and 1, with 0.5 among them", t.Levels))
	}
	if t.Season < 0 || t.Season == 1 {
		faults = append(faults, fmt.Errorf("forecast: season is %d steps, must be 0 or at least 2", t.Season))
	}
	return errors.Join(faults...)
}

func rises[T int | float64](values []T) bool {
	for i := 1; i < len(values); i++ {
		if !(values[i] > values[i-1]) {
			return false
		}
	}
	return true
}

func (t Task) longest() int { return t.Horizons[len(t.Horizons)-1] }

func (t Task) median() int { return slices.Index(t.Levels, 0.5) }

// Model is one way to forecast. Fit learns parameters and nothing else; Forget clears the
// history, and Observe then gets every sample in turn, so that the state can be rebuilt from a
// window of the past.
type Model interface {
	Name() string
	Fit(ctx context.Context, history Frame) error
	Forget()

	// Observe adds the samples of the next bin, whose number is counted from the Unix epoch.
	// NaN is a missing one.
	Observe(ordinal int64, row []float64)

	// Predict sets out[h][l] to the quantile of level l at horizon h, counted from the last bin
	// observed. A model of points gives all levels the same. It returns ErrNoData if it has not
	// observed enough.
	Predict(out [][]float64) error
}

// Forecast is a forecast with its recent errors.
type Forecast struct {
	From  time.Time // the last observed bin
	Model string
	Ahead []Ahead // one per horizon
}

// Ahead is the forecast of one bin.
type Ahead struct {
	In        time.Duration // after From
	Median    float64
	Quantiles []float64 // by Task.Levels, ascending
	Recent    Recent    // recent errors of such forecasts
}

// Forecaster runs a model on the clock. It is for one goroutine.
type Forecaster struct {
	model  Model
	task   Task
	step   time.Duration
	next   time.Time // bin of the next sample
	number int64     // of that bin
	series int
	taught time.Time // end of the training data

	last   float64 // last present sample of the target
	silent int     // bins since then
	record *record

	// The model's uncalibrated forecast at the last bin.
	raw   [][]float64
	asked bool
	fault error
}

// NewForecaster wraps a model.
func NewForecaster(model Model, task Task) (*Forecaster, error) {
	if err := task.Validate(); err != nil {
		return nil, err
	}
	return &Forecaster{model: model, task: task, raw: grid(task), record: newRecord(task), last: math.NaN()}, nil
}

func grid(task Task) [][]float64 {
	out := make([][]float64, len(task.Horizons))
	for i := range out {
		out[i] = make([]float64, len(task.Levels))
	}
	return out
}

// Model is the wrapped model.
func (f *Forecaster) Model() Model { return f.model }

// Fit learns from history and continues at its end.
func (f *Forecaster) Fit(ctx context.Context, history Frame) error {
	if err := history.Validate(); err != nil {
		return err
	}
	if err := f.model.Fit(ctx, history); err != nil {
		return fmt.Errorf("fit %s: %w", f.model.Name(), err)
	}
	f.taught = history.At(history.Bins())
	return f.Replay(history)
}

// particular is a model that may come from a file: it was fitted to certain series and bins,
// does not fit others, and has an end of its training data.
type particular interface {
	suits(Frame) error
	taughtUntil() time.Time
}

// Replay feeds the past to a model that has been fitted, or comes from a file. Its errors over
// the latest part calibrate its quantiles; those after the end of its training data count as
// its record.
func (f *Forecaster) Replay(history Frame) error {
	if err := history.Validate(); err != nil {
		return err
	}
	if m, ok := f.model.(particular); ok {
		if err := m.suits(history); err != nil {
			return err
		}
		f.taught = m.taughtUntil()
	}
	f.step, f.series = history.Step, len(history.Names)
	f.next, f.number = history.Start, history.ordinal(0)
	f.last, f.silent, f.record = math.NaN(), 0, newRecord(f.task)
	f.model.Forget()
	quiet := history.Bins() - f.task.recordLength() - f.task.longest()
	for i, row := range history.Rows {
		f.observe(row, i >= quiet)
	}
	return nil
}

// Observe adds the samples of one bin, the next or a later one; skipped bins are missing. A bin
// of the past is an error.
func (f *Forecaster) Observe(at time.Time, row ...float64) error {
	if f.step == 0 {
		return fmt.Errorf("forecast: %s observes before it was fitted", f.model.Name())
	}
	if len(row) != f.series {
		return fmt.Errorf("forecast: %d samples, must be %d, one per series", len(row), f.series)
	}
	if slices.ContainsFunc(row, func(v float64) bool { return math.IsInf(v, 0) }) {
		return fmt.Errorf("forecast: samples of %v are %v, must be finite, or NaN where missing", at, row)
	}
	if at.Before(f.next) {
		return fmt.Errorf("forecast: a sample of %v comes after one of %v: samples must come in order", at, f.next.Add(-f.step))
	}
	if silence := int(at.Sub(f.next) / f.step); silence > longestSilence {
		return fmt.Errorf("forecast: %d bins are missing before %v, at most %d can be bridged: show it the recent past with Replay",
			silence, at, longestSilence)
	}
	missing := slices.Repeat([]float64{math.NaN()}, f.series)
	for !f.next.Add(f.step).After(at) {
		f.observe(missing, true)
	}
	f.observe(row, true)
	return nil
}

// longestSilence bounds the work that one late sample may cause.
const longestSilence = 100_000

func (f *Forecaster) observe(row []float64, judge bool) {
	f.model.Observe(f.number, row)
	f.next, f.number = f.next.Add(f.step), f.number+1
	f.silent++
	f.asked = false
	if !math.IsNaN(row[0]) {
		f.last, f.silent = row[0], 0
	}
	if !judge {
		return
	}
	f.record.settle(row[0])
	if f.predict() != nil {
		f.record.pass()
		return
	}
	f.record.promise(f.raw, f.last, f.next.After(f.taught))
}

// predict runs the model, once for every bin.
func (f *Forecaster) predict() error {
	if !f.asked {
		f.asked, f.fault = true, f.ask()
	}
	return f.fault
}

func (f *Forecaster) ask() error {
	if math.IsNaN(f.last) || f.silent > f.task.longest() {
		return ErrNoData
	}
	if err := f.model.Predict(f.raw); err != nil {
		return err
	}
	for _, levels := range f.raw {
		for _, v := range levels {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("forecast: %s gave a value that is not finite: %w", f.model.Name(), ErrNoData)
			}
		}
	}
	return nil
}

// Forecast forecasts from the last bin observed, given in Forecast.From: the sample of the bin
// that has just ended may not have arrived, so it does not count as missing yet. If that bin is
// further back than the longest horizon, the forecast would be of the past, and the error is
// ErrNoData.
func (f *Forecaster) Forecast(now time.Time) (Forecast, error) {
	if f.step == 0 {
		return Forecast{}, fmt.Errorf("forecast: %s was not fitted: %w", f.model.Name(), ErrNoData)
	}
	from := f.next.Add(-f.step)
	if now.Sub(from) > time.Duration(f.task.longest())*f.step {
		return Forecast{}, ErrNoData
	}
	if err := f.predict(); err != nil {
		return Forecast{}, err
	}
	answer := Forecast{From: from, Model: f.model.Name()}
	for h, steps := range f.task.Horizons {
		quantiles := f.record.calibrated(h, f.raw[h])
		answer.Ahead = append(answer.Ahead, Ahead{
			In:        time.Duration(steps) * f.step,
			Median:    quantiles[f.task.median()],
			Quantiles: quantiles,
			Recent:    f.record.recent(h),
		})
	}
	return answer, nil
}
