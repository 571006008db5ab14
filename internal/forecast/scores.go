package forecast

import (
	"math"
	"time"
)

// Errors are one model's, by horizon.
type Errors struct {
	Model    string          `json:"model"`
	Silent   int             `json:"silent"` // bins without a forecast
	Horizons []HorizonErrors `json:"horizons"`
}

// HorizonErrors are the errors at one horizon.
type HorizonErrors struct {
	Ahead   time.Duration `json:"-"`
	Seconds float64       `json:"ahead_s"`
	Samples int           `json:"samples"`

	MSE           float64   `json:"mse"`            // of the medians, in the series' own unit
	NormalisedMSE float64   `json:"normalised_mse"` // the same on the scale on which history goes from 0 to 1
	MAE           float64   `json:"mae"`
	MAPE          float64   `json:"mape"`    // relative to the outcome; outcomes of 0 are excluded
	Pinball       float64   `json:"pinball"` // mean over the levels
	Covered       []float64 `json:"covered"` // by level: share of outcomes at or below the quantile
	Inside        float64   `json:"inside"`  // share within the outermost quantiles
	Claimed       float64   `json:"claimed"` // nominal share
	nonzero       int
}

func newErrors(model string, task Task, step time.Duration) Errors {
	e := Errors{Model: model}
	for _, steps := range task.Horizons {
		ahead := time.Duration(steps) * step
		e.Horizons = append(e.Horizons, HorizonErrors{
			Ahead: ahead, Seconds: ahead.Seconds(),
			Covered: make([]float64, len(task.Levels)),
			Claimed: task.Levels[len(task.Levels)-1] - task.Levels[0],
		})
	}
	return e
}

func (a *HorizonErrors) add(came float64, said Ahead, task Task) {
	off := came - said.Median
	a.Samples++
	a.MSE += off * off
	a.MAE += math.Abs(off)
	if came != 0 {
		a.MAPE += math.Abs(off / came)
		a.nonzero++
	}
	for l, q := range said.Quantiles {
		if came <= q {
			a.Covered[l]++
		}
		a.Pinball += max(task.Levels[l]*(came-q), (task.Levels[l]-1)*(came-q)) / float64(len(said.Quantiles))
	}
	if came >= said.Quantiles[0] && came <= said.Quantiles[len(said.Quantiles)-1] {
		a.Inside++
	}
}

// finish turns sums into means.
func (e *Errors) finish(extent float64) {
	for i := range e.Horizons {
		a := &e.Horizons[i]
		n := float64(a.Samples)
		for _, sum := range []*float64{&a.MSE, &a.MAE, &a.Pinball, &a.Inside} {
			*sum /= n
		}
		for l := range a.Covered {
			a.Covered[l] /= n
		}
		a.MAPE /= max(1, float64(a.nonzero))
		a.NormalisedMSE = a.MSE / (extent * extent)
	}
}
