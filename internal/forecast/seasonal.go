package forecast

import (
	"context"
	"errors"
	"math"
)

// seasonalNaive forecasts the value of a season ago. If that sample is missing it uses the one
// a season before it, as far back as it keeps; if all are missing it does not forecast.
type seasonalNaive struct {
	task   Task
	past   []float64 // ring of the latest seasons
	filled int
	at     int // position of the next sample
}

const seasonsKept = 4

func newSeasonalNaive(task Task) *seasonalNaive { return &seasonalNaive{task: task} }

func (s *seasonalNaive) Name() string { return "seasonal" }

// errNoSeason reports that a model needs a season.
var errNoSeason = errors.New("needs a season: say after how many steps the load repeats")

func (s *seasonalNaive) Fit(context.Context, Frame) error {
	if s.task.Season == 0 {
		return errNoSeason
	}
	return nil
}

func (s *seasonalNaive) Forget() {
	s.past = make([]float64, seasonsKept*s.task.Season)
	s.filled, s.at = 0, 0
}

func (s *seasonalNaive) Observe(_ int64, row []float64) {
	s.past[s.at] = row[0]
	s.at = (s.at + 1) % len(s.past)
	s.filled = min(s.filled+1, len(s.past))
}

func (s *seasonalNaive) Predict(out [][]float64) error {
	for h, steps := range s.task.Horizons {
		v := s.seasonBefore(steps)
		if math.IsNaN(v) {
			return ErrNoData
		}
		fill(out[h], v)
	}
	return nil
}

// seasonBefore is the latest present sample that is whole seasons before the bin the given
// steps ahead.
func (s *seasonalNaive) seasonBefore(steps int) float64 {
	back := (s.task.Season - steps%s.task.Season) % s.task.Season // the latest sample is 0 back
	for ; back < s.filled; back += s.task.Season {
		if v := s.past[(s.at-1-back+2*len(s.past))%len(s.past)]; !math.IsNaN(v) {
			return v
		}
	}
	return math.NaN()
}
