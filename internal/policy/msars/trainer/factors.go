package trainer

import (
	"context"
	"errors"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/slosplit"
)

// Adjust configures the measurement of how much the parts may exceed the SLO in sum.
type Adjust struct {
	Runs     int // at most; 0 = no measurement, and parts sum to the SLO
	Seeds    int
	Requests float64 // of the rarest kind in each run
}

// busiest are the rates by kind when the load is highest, sampled every five minutes.
func busiest(app *loadline.App, load sim.Arrivals, duration time.Duration) []float64 {
	const every = 5 * time.Minute
	most, rates := 0.0, make([]float64, len(app.Kinds))
	for at := time.Duration(0); at < duration; at += every {
		all := 0.0
		for k := range app.Kinds {
			rate, _ := load.Rate(k, at)
			all += rate
		}
		if all <= most {
			continue
		}
		most = all
		for k := range rates {
			rates[k], _ = load.Rate(k, at)
		}
	}
	return rates
}

// factors measures, under the highest load and with the application's own replicas, by
// how much the parts of each kind may exceed its SLO in sum, because tails do not add. It
// uses parslo, whichever way splits later. If the SLO cannot be met, parts sum to the SLO,
// and why is the reason.
func factors(ctx context.Context, app *loadline.App, perSecond []float64, set *profile.Set, a Adjust,
	progress func(share float64)) (found map[string]float64, why string, err error) {
	chains, err := slosplit.Cut(app, perSecond, func(service int, percentile float64) *profile.Profile {
		return set.Find(&app.Services[service], percentile)
	})
	if err != nil {
		return nil, "", err
	}
	measure := slosplit.InEventEngine(ctx, app, slosplit.Measurement{PerSecond: perSecond, Seeds: a.Seeds, Requests: a.Requests})
	plan, err := slosplit.Adjust(app, chains, slosplit.Parslo{}, measure, a.Runs, progress)
	var cannot *slosplit.Infeasible
	switch {
	case errors.As(err, &cannot):
		return nil, err.Error(), nil
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case err != nil:
		return nil, err.Error(), nil // no split was found in so few runs
	}
	return plan.Factors, "", nil
}
