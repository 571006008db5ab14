package policy

import (
	"context"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
)

// phpaSeries is the series of one service that is forecast: replicas or requests, in bins of a
// step, each the mean of its values.
type phpaSeries struct {
	cfg      *phpaConfig
	expects  loadline.LoadAhead // of the last forecast, if it decided
	bin      int64              // number of the bin that is being filled, in steps since the Unix epoch
	sum      float64
	count    int
	begun    bool
	past     []float64 // values of the bins before it, NaN = missing; bounded by keep
	fresh    int       // bins since the model was fitted
	model    *forecast.Forecaster
	seasonal bool // the model has a season
	relation relation
}

const (
	// seasonsKept is how many seasons a model is fitted to, as the original stores by default in
	// its examples.
	seasonsKept = 4
	// leastTrend is how many bins a trend without a season is fitted to at least, and after how
	// many more it is fitted again.
	leastTrend = 15
	// mostTrend is how many are kept without a season.
	mostTrend = 240
	// longestBreak is the number of bins without a value after which the past is forgotten.
	longestBreak = 60
)

// watch adds a value at an instant.
func (s *phpaSeries) watch(now time.Time, value float64) {
	bin := now.UnixNano() / int64(s.cfg.step)
	if !s.begun || bin-s.bin > longestBreak {
		s.bin, s.begun, s.sum, s.count, s.past, s.model = bin, true, 0, 0, nil, nil
	}
	for s.bin < bin {
		s.close()
	}
	s.sum += value
	s.count++
}

// watchLoad adds a rate, and what it costs.
func (s *phpaSeries) watchLoad(now time.Time, seen *loadline.ServiceObservation) {
	if !seen.Rate.Present() {
		return
	}
	s.watch(now, seen.Rate.Value)
	if ready := seen.ReadyPods(); seen.CPU.Present() && ready > 0 {
		s.relation.add(seen.Rate.Value/float64(ready), seen.CPU.Value/float64(ready))
	}
}

// close ends the current bin.
func (s *phpaSeries) close() {
	value := math.NaN()
	if s.count > 0 {
		value = s.sum / float64(s.count)
	}
	s.past = append(s.past, value)
	if keep := s.keep(); len(s.past) > keep {
		s.past = append(s.past[:0], s.past[len(s.past)-keep:]...)
	}
	at := time.Unix(0, s.bin*int64(s.cfg.step))
	s.bin, s.sum, s.count = s.bin+1, 0, 0
	s.fresh++
	if s.model != nil && s.model.Observe(at, value) != nil {
		s.model = nil
	}
	s.fit()
}

func (s *phpaSeries) keep() int { return max(seasonsKept*s.cfg.seasonBins(), mostTrend) }

// fit makes a model once there is enough past, and again after a season, or after a while without
// one. A season that has become known is taken into account at once.
func (s *phpaSeries) fit() {
	season := s.cfg.seasonBins()
	seasonal := season > 0 && len(s.past) >= 2*season
	var model forecast.Model
	switch due := s.model == nil; {
	case s.cfg.model == "linear":
		if !due {
			return
		}
		model = forecast.NewLinear(s.cfg.task(0), s.cfg.history)
	case seasonal:
		if !due && s.seasonal && s.fresh < season {
			return
		}
		model = s.smoothing(season)
	case s.cfg.model == "traffic" && len(s.past) >= leastTrend:
		if !due && s.fresh < leastTrend {
			return
		}
		model = s.smoothing(0)
	default:
		return
	}
	first := time.Unix(0, (s.bin-int64(len(s.past)))*int64(s.cfg.step))
	fitted, err := forecast.NewForecaster(model, s.cfg.task(s.seasonOf(seasonal)))
	if err == nil {
		err = fitted.Fit(context.Background(), forecast.NewFrame("load", first, s.cfg.step, append([]float64(nil), s.past...)))
	}
	if err != nil {
		return // too few values: HPA alone decides
	}
	s.model, s.seasonal, s.fresh = fitted, seasonal, 0
}

func (s *phpaSeries) seasonOf(seasonal bool) int {
	if seasonal && s.cfg.model != "linear" {
		return s.cfg.seasonBins()
	}
	return 0
}

// smoothing is Holt-Winters with a season, or a damped trend.
func (s *phpaSeries) smoothing(season int) forecast.Model {
	m, err := forecast.New("holtwinters", s.cfg.task(season), 0)
	if err != nil {
		panic(err) // the task is this file's own
	}
	return m
}

// forecast is the highest value within the look-ahead; false without a model.
func (s *phpaSeries) forecast(now time.Time) (float64, bool) {
	if s.model == nil {
		return 0, false
	}
	f, err := s.model.Forecast(now)
	if err != nil {
		return 0, false
	}
	highest := 0.0
	for _, a := range f.Ahead {
		highest = max(highest, a.Median)
	}
	return highest, true
}

// relation is the regression of CPU per pod on requests per pod, by sums.
type relation struct{ n, x, y, xx, xy float64 }

func (r *relation) add(perPod, cores float64) {
	r.n, r.x, r.y, r.xx, r.xy = r.n+1, r.x+perPod, r.y+cores, r.xx+perPod*perPod, r.xy+perPod*cores
}

// leastRelation is how many samples the regression needs.
const leastRelation = 8

// line is cores = idle + cost * requests, neither negative.
func (r *relation) line() (idle, cost float64, ok bool) {
	if r.n < leastRelation || r.xx == 0 {
		return 0, 0, false
	}
	if spread := r.n*r.xx - r.x*r.x; spread > 1e-9*r.n*r.xx {
		cost = (r.n*r.xy - r.x*r.y) / spread
		idle = (r.y - cost*r.x) / r.n
	}
	switch {
	case idle < 0 || cost == 0: // through the origin
		idle, cost = 0, r.xy/r.xx
	case cost < 0:
		return 0, 0, false // CPU does not grow with requests: it is no relation
	}
	return idle, cost, cost > 0
}

// replicas are the fewest that keep the cores per pod; false if none do.
func (r *relation) replicas(requests, coresPerPod float64) (float64, bool) {
	idle, cost, ok := r.line()
	if !ok || coresPerPod <= idle {
		return 0, false
	}
	return cost * requests / (coresPerPod - idle), true
}
