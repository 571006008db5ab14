package forecast

import (
	"math"
	"slices"
)

// recordLength is how many past forecasts per horizon are kept: a season, so that nights and
// days both count and last week does not, within bounds.
func (t Task) recordLength() int {
	if t.Season == 0 {
		return 500
	}
	return min(max(t.Season, 200), 2000)
}

// leastRecord is the minimum number of errors for calibration.
const leastRecord = 20

// Recent is a forecaster's recent error at one horizon, over the last season at most. Only
// forecasts after the end of the training data count: a model is not scored on its training
// data.
type Recent struct {
	Samples     int     // forecasts whose outcome was measured
	Error       float64 // mean absolute error of the medians; NaN without samples
	Persistence float64 // that of the last value, over the same samples
	Covered     float64 // share of samples between the outermost quantiles
}

// Skill is the share of persistence's error that the forecaster avoids: 1 is perfect, 0 is
// persistence, below 0 is worse. It is NaN without samples: do not trust a forecaster without a
// record.
func (r Recent) Skill() float64 {
	switch {
	case r.Samples < leastRecord:
		return math.NaN()
	case r.Persistence == 0 && r.Error == 0:
		return 0
	}
	return 1 - r.Error/r.Persistence
}

// record keeps forecasts and their outcomes.
//
// It also calibrates: the residuals y - q of each level's quantile are kept, and a quantile is
// moved by the residuals' own quantile of that level (conformal prediction after Romano,
// Patterson and Candes, 2019, one level at a time, over a rolling window). A model of points
// gets its whole distribution this way; a model of quantiles gets them corrected. The median is
// not changed.
type record struct {
	task    Task
	pending []promise // ring over the longest horizon
	bin     int
	made    [][]sortedRing // residuals by horizon and level, except the median
	errors  []ring         // absolute, of the median
	naive   []ring         // absolute, of persistence
	inside  []ring         // 1 if the outcome was within the outermost calibrated quantiles
}

type promise struct {
	made      bool
	honest    bool // made after the end of the training data
	last      float64
	quantiles [][]float64
	low, high []float64 // outermost, calibrated at the time
}

func newRecord(task Task) *record {
	r := &record{task: task, pending: make([]promise, task.longest())}
	for range task.Horizons {
		levels := make([]sortedRing, len(task.Levels))
		for l := range levels {
			levels[l].ring = newRing(task.recordLength())
		}
		r.made = append(r.made, levels)
		r.errors = append(r.errors, newRing(task.recordLength()))
		r.naive = append(r.naive, newRing(task.recordLength()))
		r.inside = append(r.inside, newRing(task.recordLength()))
	}
	return r
}

// settle compares the sample of a new bin with its forecasts.
func (r *record) settle(value float64) {
	r.bin++
	if math.IsNaN(value) {
		return // without a measurement there is no error
	}
	for h, steps := range r.task.Horizons {
		p := &r.pending[(r.bin-steps+len(r.pending))%len(r.pending)]
		if r.bin <= steps || !p.made {
			continue
		}
		for l := range r.task.Levels {
			if l != r.task.median() {
				r.made[h][l].add(value - p.quantiles[h][l])
			}
		}
		if !p.honest {
			continue
		}
		r.errors[h].add(math.Abs(value - p.quantiles[h][r.task.median()]))
		r.naive[h].add(math.Abs(value - p.last))
		inside := 0.0
		if value >= p.low[h] && value <= p.high[h] {
			inside = 1
		}
		r.inside[h].add(inside)
	}
}

// promise stores a forecast made at the present bin. It replaces the oldest, which has come
// due.
func (r *record) promise(quantiles [][]float64, last float64, honest bool) {
	p := &r.pending[r.bin%len(r.pending)]
	if p.quantiles == nil {
		p.quantiles = grid(r.task)
		p.low, p.high = make([]float64, len(quantiles)), make([]float64, len(quantiles))
	}
	p.made, p.honest, p.last = true, honest, last
	for h := range quantiles {
		copy(p.quantiles[h], quantiles[h])
		calibrated := r.calibrated(h, quantiles[h])
		p.low[h], p.high[h] = calibrated[0], calibrated[len(calibrated)-1]
	}
}

// pass records that there was no forecast at the present bin.
func (r *record) pass() { r.pending[r.bin%len(r.pending)].made = false }

// calibrated are the calibrated quantiles, sorted: sorting crossed quantiles never makes them
// worse (Chernozhukov, Fernandez-Val and Galichon, 2010).
func (r *record) calibrated(h int, raw []float64) []float64 {
	out := slices.Clone(raw)
	median := r.task.median()
	for l, level := range r.task.Levels {
		if w := &r.made[h][l]; l != median && w.len() >= leastRecord {
			out[l] += w.quantile(level)
		}
	}
	// The median is kept: others are moved to their side of it.
	for l := range out {
		if l < median {
			out[l] = min(out[l], out[median])
		} else {
			out[l] = max(out[l], out[median])
		}
	}
	slices.Sort(out)
	return out
}

func (r *record) recent(h int) Recent {
	return Recent{
		Samples:     r.errors[h].len(),
		Error:       r.errors[h].mean(),
		Persistence: r.naive[h].mean(),
		Covered:     r.inside[h].mean(),
	}
}
