package forecast

import (
	"context"
	"errors"
	"math"
)

// seasonalNaive says that all is as it was a season ago. Where that sample is
// missing it takes the one a season before it, as far back as it remembers; if
// all are missing it does not answer.
type seasonalNaive struct {
	task   Task
	past   []float64 // ring of the latest seasons
	filled int
	at     int // where the next sample goes
}

const seasonsKept = 4

func newSeasonalNaive(task Task) *seasonalNaive { return &seasonalNaive{task: task} }

func (s *seasonalNaive) Name() string { return "seasonal" }

// errNoSeason says what to do where a model needs a season.
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

// seasonBefore is the latest present sample that lies whole seasons before the
// bin so many steps ahead.
func (s *seasonalNaive) seasonBefore(steps int) float64 {
	back := (s.task.Season - steps%s.task.Season) % s.task.Season // the latest sample is 0 back
	for ; back < s.filled; back += s.task.Season {
		if v := s.past[(s.at-1-back+2*len(s.past))%len(s.past)]; !math.IsNaN(v) {
			return v
		}
	}
	return math.NaN()
}
