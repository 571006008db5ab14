package forecast

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// ARIMAFit is a fitted ARIMA, for callers that store it in a file of their own.
type ARIMAFit struct {
	AR   []float64 `json:"ar,omitempty"`
	D    int       `json:"d"`
	MA   []float64 `json:"ma,omitempty"`
	Mean float64   `json:"mean"`
}

// FitARIMA chooses an order and its coefficients for a history.
func FitARIMA(ctx context.Context, history Frame) (ARIMAFit, error) {
	m := newARIMA(Task{})
	if err := m.Fit(ctx, history); err != nil {
		return ARIMAFit{}, err
	}
	return ARIMAFit{AR: m.fitted.ar, D: m.fitted.order.d, MA: m.fitted.ma, Mean: m.fitted.mean}, nil
}

// mostLags bounds the size from a file.
const mostLags = 64

// Validate reports every fault at once.
func (f ARIMAFit) Validate() error {
	var faults []error
	if f.D != 0 && f.D != 1 {
		faults = append(faults, fmt.Errorf("forecast: ARIMA differences %d times, must be 0 or 1", f.D))
	}
	if len(f.AR) > mostLags || len(f.MA) > mostLags {
		faults = append(faults, fmt.Errorf("forecast: ARIMA looks back %d values and %d errors, must be at most %d", len(f.AR),
			len(f.MA), mostLags))
	}
	for _, v := range append(append([]float64{f.Mean}, f.AR...), f.MA...) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			faults = append(faults, errors.New("forecast: a coefficient of ARIMA is not finite"))
			break
		}
	}
	return errors.Join(faults...)
}

// NewFittedARIMA makes an ARIMA from a fit.
func NewFittedARIMA(task Task, fit ARIMAFit) (Model, error) {
	if err := errors.Join(task.Validate(), fit.Validate()); err != nil {
		return nil, err
	}
	m := newARIMA(task)
	m.fitted = arimaFit{order: order{len(fit.AR), fit.D, len(fit.MA)}, ar: fit.AR, ma: fit.MA, mean: fit.Mean}
	m.Forget()
	return m, nil
}
