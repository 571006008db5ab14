package arena

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/sim"
)

// Recall writes the almanac of a load with forecasters that are fitted already, by
// service; nil = none. A load that is too short has no forecasts.
func Recall(app *loadline.App, load sim.Arrivals, duration time.Duration, f Foresight, models []*forecast.GRU) *Almanac {
	bins := int(duration / f.Step)
	if bins < LeastBins {
		return nil
	}
	ground := formulation.NewGround(app)
	a := &Almanac{step: f.Step, ahead: make([][]float64, len(app.Services))}
	for i, gru := range models {
		if gru != nil {
			a.ahead[i] = f.walk(gru, f.visits(ground, i, load, bins), bins, 1, &ForecastError{})
		}
	}
	return a
}
