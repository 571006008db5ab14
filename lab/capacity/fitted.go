package capacity

import (
	"context"
	"math"
	"time"

	"github.com/loadline/loadline/internal/forecast"
)

// locator forecasts one figure of the growth within a lead time: a point, or a quantile.
type locator interface {
	learn(bin int)
	at(lead int) float64
}

// conformal gives a locator the distribution of its own errors: those of earlier forecasts of about
// the same growth, in classes, with a half-life of a day (conformal prediction, Mondrian by class).
type conformal struct {
	s       *Series
	of      locator
	called  string
	now     int
	weight  float64
	errors  [leads][classes][errorBins]float64
	pending [leads][]promised
}

const (
	classes    = 6
	errorBins  = 400 // of forecast.GrowthBin, from -4 to 4
	priorClass = 20  // forecasts of all classes that count in each
)

// classFrom are the growths from which the classes after the first begin.
var classFrom = [classes - 1]float64{0.05, 0.1, 0.2, 0.4, 0.8}

type promised struct {
	bin    int
	growth float64
}

func (m *conformal) name() string { return m.called }

func (m *conformal) learn(bin int) {
	m.now = bin
	m.of.learn(bin)
	if bin%m.s.stride != 0 || bin < m.s.calibratedFrom() {
		return
	}
	if m.weight == 0 {
		m.weight = 1
	}
	m.weight *= math.Exp2(float64(m.s.stride) * Step.Hours() / 24)
	for lead := range Leads {
		due := 0
		for _, p := range m.pending[lead] {
			if p.bin+bins(lead) > bin {
				break
			}
			err := m.s.most(p.bin, bins(lead)) - m.s.levels[p.bin] - p.growth
			k := min(max(int(math.Floor(err/forecast.GrowthBin+0.5))+errorBins/2, 0), errorBins-1)
			m.errors[lead][class(p.growth)][k] += m.weight
			due++
		}
		m.pending[lead] = append(m.pending[lead][:0], m.pending[lead][due:]...)
		m.pending[lead] = append(m.pending[lead], promised{bin, m.of.at(lead)})
	}
}

func class(growth float64) int {
	for c, from := range classFrom {
		if growth < from {
			return c
		}
	}
	return classes - 1
}

func (m *conformal) spread(lead int, to *forecast.Growth) {
	*to = forecast.Growth{}
	var growth float64
	if n := len(m.pending[lead]); n > 0 && m.pending[lead][n-1].bin == m.now {
		growth = m.pending[lead][n-1].growth
	} else {
		growth = m.of.at(lead)
	}
	all := 0.0
	for c := range classes {
		for _, w := range m.errors[lead][c] {
			all += w
		}
	}
	if all == 0 {
		to.Count(growth, 1)
		return
	}
	prior := priorClass * m.weight / all
	own := class(growth)
	for c := range classes {
		share := prior
		if c == own {
			share++
		}
		for k, w := range m.errors[lead][c] {
			if w > 0 {
				to.Count(growth+float64(k-errorBins/2)*forecast.GrowthBin, share*w)
			}
		}
	}
}

// calibratedFrom is the first bin whose forecasts calibrate later ones: a third of the past, at most
// two days, before the part that is scored.
func (s *Series) calibratedFrom() int { return s.from - min(s.from/3, int(48*time.Hour/Step)) }

// points are the path of a point forecast, or of a quantile of 0.9, in bins of the data: the highest
// value of it within the lead time.
type points struct {
	s       *Series
	of      forecast.Model
	horizon []int
	out     [][]float64
	level   int
	now     int
}

func newPoints(ctx context.Context, name string, s *Series) (*points, error) {
	m := &points{s: s}
	longest := bins(leads-1)/s.native + 1
	for h := 1; h <= longest; h++ {
		if name != "gru" || s.native > 1 || h == 1 || h%5 == 0 || h == 8 {
			m.horizon = append(m.horizon, h)
		}
	}
	season := int(24*time.Hour/Step) / s.native
	if s.calibratedFrom() < 2*season*s.native {
		season = 0
	}
	task := forecast.Task{Horizons: m.horizon, Levels: []float64{0.5, 0.9}, Season: season}
	var err error
	if name == "gru" {
		m.level = 1
		m.of, err = forecast.NewGRU(task, forecast.GRUConfig{Window: 30, Members: 1, Epochs: 6, Seed: 1})
	} else {
		m.of, err = forecast.New(name, task, 1)
	}
	if err != nil {
		return nil, err
	}
	for range m.horizon {
		m.out = append(m.out, make([]float64, 2))
	}
	return m, m.fit(ctx)
}

// fit to the week before forecasts are calibrated, a GRU to three days of it.
func (m *points) fit(ctx context.Context) error {
	to := m.s.calibratedFrom() / m.s.native * m.s.native
	past := 7 * 24 * time.Hour
	if m.of.Name() == "gru" {
		past = 3 * 24 * time.Hour
	}
	from := max(0, to-int(past/Step)) / m.s.native * m.s.native
	var values []float64
	for bin := from; bin < to; bin += m.s.native {
		values = append(values, m.s.levels[bin])
	}
	frame := forecast.NewFrame("load", at(from), Step*time.Duration(m.s.native), values)
	if err := m.of.Fit(ctx, frame); err != nil {
		return err
	}
	m.of.Forget()
	return nil
}

func (m *points) learn(bin int) {
	m.now = bin
	if bin%m.s.native == 0 {
		ordinal := at(bin).UnixNano() / int64(Step*time.Duration(m.s.native))
		m.of.Observe(ordinal, m.s.levels[bin:bin+1])
	}
}

func (m *points) at(lead int) float64 {
	if m.of.Predict(m.out) != nil {
		return 0
	}
	steps := (m.now+bins(lead))/m.s.native - m.now/m.s.native
	growth := 0.0
	for h, horizon := range m.horizon {
		if horizon <= steps {
			growth = max(growth, m.out[h][m.level]-m.s.levels[m.now])
		}
	}
	return growth
}

// regression forecasts a quantile of the growth by features of the moment. It is fitted again every
// refit to the moments of the last week.
type regression struct {
	s      *Series
	of     [leads]quantileFit
	fitted int
	now    int
	rows   []float32
	y      []float32
	row    [features]float32
}

// quantileFit is a regression of a quantile by features.
type quantileFit interface {
	Fit(rows, y []float32, level float64)
	At(row []float32) float64
}

const (
	features      = 12
	refit         = int(12 * time.Hour / Step)
	fittedLevel   = 0.98
	mostMoments   = 7 * 24 * 60
	betweenMoment = 4
)

func newRegression(s *Series, fit func() quantileFit) *regression {
	m := &regression{s: s, fitted: -1}
	for lead := range Leads {
		m.of[lead] = fit()
	}
	return m
}

func (m *regression) learn(bin int) {
	m.now = bin
	first := m.s.calibratedFrom()
	if bin < first || m.fitted >= 0 && bin-m.fitted < refit {
		return
	}
	m.fitted = bin
	for lead := range Leads {
		m.rows, m.y = m.rows[:0], m.y[:0]
		for k := range mostMoments {
			moment := bin - bins(lead) - k*betweenMoment - k%3
			if moment < 60 {
				break
			}
			m.describe(moment, lead)
			m.rows = append(m.rows, m.row[:]...)
			m.y = append(m.y, float32(m.s.most(moment, bins(lead))-m.s.levels[moment]))
		}
		m.of[lead].Fit(m.rows, m.y, fittedLevel)
	}
}

func (m *regression) at(lead int) float64 {
	m.describe(m.now, lead)
	return max(m.of[lead].At(m.row[:]), 0)
}

// describe a moment by its features.
func (m *regression) describe(bin, lead int) {
	const day = int(24 * time.Hour / Step)
	l := m.s.levels
	change := func(bins int) float64 { return l[bin] - l[max(bin-bins, 0)] }
	high, swing := l[bin], 0.0
	for b := max(bin-60, 1); b <= bin; b++ {
		high = max(high, l[b])
		swing += (l[b] - l[b-1]) * (l[b] - l[b-1])
	}
	before := func(back int) float64 {
		if bin-back < 0 {
			return 0
		}
		return m.s.most(bin-back, bins(lead)) - l[bin]
	}
	hour := float64(bin%(7*day)) / float64(day) * 24
	turn := 2 * math.Pi * hour / 24
	for f, v := range [features]float64{
		l[bin], change(4), change(20), change(60), high - l[bin], math.Sqrt(swing / 60), before(day), before(7 * day),
		math.Sin(turn), math.Cos(turn), math.Sin(2 * turn), hour,
	} {
		m.row[f] = float32(v)
	}
}
