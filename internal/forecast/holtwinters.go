package forecast

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// holtWinters is exponential smoothing of a level, a damped trend and an additive season (Holt,
// 1957; Winters, 1960; the damping of Gardner and McKenzie, 1985), in error-correction form
// with the one-step error e:
//
//	y^ = l + phi*b + s[t-m]
//	l' = l + phi*b + alpha*e
//	b' = phi*b + beta*e
//	s' = s + gamma*e
//
// The four factors minimise the squared one-step errors of history. For a missing sample there
// is no error: level and trend continue, the season stays. Without a season in the task it is
// Holt's damped trend.
type holtWinters struct {
	task    Task
	factors hwFactors
	season  []float64 // by phase, mean over history
	now     hwState
}

type hwFactors struct{ alpha, beta, gamma, phi float64 }

type hwState struct {
	level, trend float64
	season       []float64 // by phase
	at           int       // phase of the next bin
	seen         bool      // a first sample, which gives the level
}

func newHoltWinters(task Task) *holtWinters { return &holtWinters{task: task} }

func (m *holtWinters) Name() string { return "holtwinters" }

func (m *holtWinters) Fit(ctx context.Context, history Frame) error {
	values, period := history.Target(), max(m.task.Season, 1)
	if m.task.Season > 0 && len(values) < 2*period {
		return fmt.Errorf("needs two seasons of %d samples, got %d samples", period, len(values))
	}
	first := phase(history.ordinal(0), period)
	m.season = meanSeason(values, first, period)
	s := hwState{season: make([]float64, period)}
	squares := func(x []float64) (sum float64) {
		f := decodeFactors(x)
		copy(s.season, m.season)
		s.trend, s.at, s.seen = 0, first, false
		for _, v := range values {
			if e := s.step(f, v); !math.IsNaN(e) {
				sum += e * e
			}
		}
		return sum
	}
	best, err := minimise(ctx, squares, []float64{logit(0.3), logit(0.05), logit(0.1), logit(0.9)}, 1)
	if err != nil {
		return err
	}
	m.factors = decodeFactors(best)
	return nil
}

func (m *holtWinters) Forget() { m.now = hwState{} }

// decodeFactors keeps beta below alpha and gamma below 1-alpha, so that the corrections are
// smoothing, and phi within 0.8..1.
func decodeFactors(x []float64) hwFactors {
	alpha := logistic(x[0])
	return hwFactors{
		alpha: alpha,
		beta:  alpha * logistic(x[1]),
		gamma: (1 - alpha) * logistic(x[2]),
		phi:   0.8 + 0.2*logistic(x[3]),
	}
}

// meanSeason is the mean deviation of each phase from the mean of its season.
func meanSeason(values []float64, first, period int) []float64 {
	season, counts := make([]float64, period), make([]float64, period)
	if period == 1 {
		return season
	}
	for at := 0; at+period <= len(values); at += period {
		part := values[at : at+period]
		centre := mean(part)
		for i, v := range part {
			if !math.IsNaN(v) {
				season[(first+i)%period] += v - centre
				counts[(first+i)%period]++
			}
		}
	}
	for i := range season {
		if counts[i] > 0 {
			season[i] /= counts[i]
		}
	}
	return season
}

// step advances by one bin and returns the error of its forecast, NaN if the sample is missing
// or the first.
func (s *hwState) step(f hwFactors, value float64) float64 {
	season := &s.season[s.at]
	if s.at++; s.at == len(s.season) {
		s.at = 0
	}
	if !s.seen {
		if !math.IsNaN(value) {
			s.level, s.seen = value-*season, true
		}
		return math.NaN()
	}
	trend := f.phi * s.trend
	e := value - (s.level + trend + *season)
	s.level, s.trend = s.level+trend, trend
	if !math.IsNaN(e) {
		s.level += f.alpha * e
		s.trend += f.beta * e
		if len(s.season) > 1 {
			*season += f.gamma * e
		}
	}
	return e
}

func (m *holtWinters) Observe(ordinal int64, row []float64) {
	if m.now.season == nil {
		m.now = hwState{season: slices.Clone(m.season), at: phase(ordinal, len(m.season))}
	}
	m.now.step(m.factors, row[0])
}

func (m *holtWinters) Predict(out [][]float64) error {
	s, at := m.now, 0
	if !s.seen {
		return ErrNoData
	}
	drift, power := 0.0, 1.0
	for h, steps := range m.task.Horizons {
		for ; at < steps; at++ {
			power *= m.factors.phi
			drift += power * s.trend
		}
		fill(out[h], s.level+drift+s.season[(s.at+steps-1)%len(s.season)])
	}
	return nil
}
