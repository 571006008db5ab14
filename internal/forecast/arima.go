package forecast

import (
	"context"
	"fmt"
	"math"
)

// arima is ARIMA(p,d,q) after Box and Jenkins (1970), by conditional least
// squares: with w the series differenced d times, less its mean where d is 0,
//
//	w[t] = sum_i ar[i]*w[t-i] + e[t] + sum_j ma[j]*e[t-j]
//
// the coefficients minimise the sum of e^2, with e = 0 before the first sample. They are
// searched as partial autocorrelations within (-1, 1) (Monahan, 1984), so that every candidate
// is stationary and invertible. The order is the one of a small set with the lowest AIC; all
// are compared on the same samples, which makes d comparable too.
//
// A missing sample is replaced by its own one-step forecast, with e = 0: the
// expectation given the past. It does not count in the fit.
type arima struct {
	task   Task
	orders []order
	fitted arimaFit
	state  arimaState
}

type order struct{ p, d, q int }

func (o order) String() string { return fmt.Sprintf("(%d,%d,%d)", o.p, o.d, o.q) }

// defaultOrders are the usual ones for short-term load: a random walk and its smoothed forms,
// autoregressions, and mixtures of the two.
var defaultOrders = []order{
	{1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {1, 0, 1}, {2, 0, 1},
	{0, 1, 0}, {0, 1, 1}, {1, 1, 0}, {1, 1, 1}, {2, 1, 1}, {2, 1, 2}, {3, 1, 1},
}

// arimaSamples is the number of samples fitted: more take longer without a better fit.
const arimaSamples = 10_000

// arimaSkip is the number of initial errors that are excluded, since they depend on the zeros
// before the series.
const arimaSkip = 10

type arimaFit struct {
	order  order
	ar, ma []float64
	mean   float64
	aic    float64
}

func newARIMA(task Task) *arima { return &arima{task: task, orders: defaultOrders} }

func (m *arima) Name() string { return "arima" }

func (m *arima) Fit(ctx context.Context, history Frame) error {
	values := history.Target()
	values = values[max(0, len(values)-arimaSamples):]
	m.fitted = arimaFit{aic: math.Inf(1)}
	for _, o := range m.orders {
		fit, err := fitARIMA(ctx, values, o)
		if err != nil {
			return err
		}
		if fit.aic < m.fitted.aic {
			m.fitted = fit
		}
	}
	if math.IsInf(m.fitted.aic, 1) {
		return fmt.Errorf("needs more than %d samples: %w", arimaSkip, ErrNoData)
	}
	return nil
}

func (m *arima) Forget() { m.state = newARIMAState(m.fitted) }

// fitARIMA searches one order's coefficients.
func fitARIMA(ctx context.Context, values []float64, o order) (arimaFit, error) {
	fit := arimaFit{order: o, ar: make([]float64, o.p), ma: make([]float64, o.q)}
	if o.d == 0 {
		fit.mean = mean(values)
	}
	squares := func(partials []float64) (sum float64, n int) {
		fromPartials(fit.ar, partials[:o.p])
		fromPartials(fit.ma, partials[o.p:])
		for i := range fit.ma {
			fit.ma[i] = -fit.ma[i] // invertible as 1 + ma*B where stationary as 1 - ar*B
		}
		return arimaSquares(values, fit)
	}
	unbounded := make([]float64, o.p+o.q)
	for i, r := range partialAutocorrelations(values, o) {
		unbounded[i] = math.Atanh(min(max(r, -0.98), 0.98))
	}
	bounded := make([]float64, len(unbounded))
	bound := func(x []float64) []float64 {
		for i := range x {
			bounded[i] = math.Tanh(x[i])
		}
		return bounded
	}
	if len(unbounded) > 0 {
		best, err := minimise(ctx, func(x []float64) float64 {
			sum, _ := squares(bound(x))
			return sum
		}, unbounded, 0.3)
		if err != nil {
			return fit, err
		}
		copy(unbounded, best)
	}
	sum, n := squares(bound(unbounded))
	if n == 0 {
		fit.aic = math.Inf(1)
		return fit, nil
	}
	const least = 1e-300 // avoids the log of 0 for an exact fit
	parameters := float64(o.p + o.q + 1 - o.d + 1)
	fit.aic = float64(n)*math.Log(max(sum, least)/float64(n)) + 2*parameters
	return fit, nil
}

func arimaSquares(values []float64, fit arimaFit) (sum float64, n int) {
	s := newARIMAState(fit)
	for i, v := range values {
		if e := s.step(v); i >= arimaSkip && !math.IsNaN(e) {
			sum += e * e
			n++
		}
	}
	return sum, n
}

func (m *arima) Observe(_ int64, row []float64) { m.state.step(row[0]) }

func (m *arima) Predict(out [][]float64) error {
	if !m.state.seen {
		return ErrNoData
	}
	s, at := m.state.clone(), 0
	value := 0.0
	for h, steps := range m.task.Horizons {
		for ; at < steps; at++ {
			value = s.expected()
			s.step(math.NaN())
		}
		fill(out[h], value)
	}
	return nil
}

// arimaState is the state of forecasting, latest first.
type arimaState struct {
	fit  arimaFit
	w, e []float64 // differenced values and errors
	last float64   // value, for d = 1
	seen bool
}

func newARIMAState(fit arimaFit) arimaState {
	return arimaState{fit: fit, w: make([]float64, len(fit.ar)), e: make([]float64, len(fit.ma))}
}

func (s *arimaState) clone() arimaState {
	c := *s
	c.w, c.e = append([]float64(nil), s.w...), append([]float64(nil), s.e...)
	return c
}

// expected is the forecast of the next value.
func (s *arimaState) expected() float64 {
	sum := s.fit.mean
	if s.fit.order.d == 1 {
		sum = s.last
	}
	for i, a := range s.fit.ar {
		sum += a * s.w[i]
	}
	for j, m := range s.fit.ma {
		sum += m * s.e[j]
	}
	return sum
}

// step adds the next value and returns its error, NaN if it is missing or the first of all.
func (s *arimaState) step(value float64) float64 {
	if !s.seen {
		if math.IsNaN(value) {
			return value
		}
		s.seen, s.last = true, value
		if s.fit.order.d == 0 {
			push(s.w, value-s.fit.mean)
		}
		return math.NaN()
	}
	expected := s.expected()
	e := value - expected
	if math.IsNaN(value) {
		value = expected
		push(s.e, 0)
	} else {
		push(s.e, e)
	}
	if s.fit.order.d == 1 {
		push(s.w, value-s.last)
	} else {
		push(s.w, value-s.fit.mean)
	}
	s.last = value
	return e
}

func push(latest []float64, v float64) {
	if len(latest) > 0 {
		copy(latest[1:], latest)
		latest[0] = v
	}
}
