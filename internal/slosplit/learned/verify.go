package learned

import (
	"context"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/slosplit"
)

const (
	// verifyRate is the maximum measured rate, in requests per second.
	verifyRate     = 100
	verifyRequests = 3000
	verifyRuns     = 5
	// verifyMost is beyond what non-additive tails have allowed so far.
	verifyMost = 3
)

// verify finds the factor by which the budget may exceed the SLO: parslo's instances for it are
// measured in the event engine, and it is raised while the tail of the chain's kind of request
// meets the SLO, and lowered while it does not. The result was measured to meet the SLO, or is
// the lowest that was tried if none did.
func (d *Drawn) verify(ctx context.Context) (factor float64, runs int, err error) {
	app := d.App()
	slo := time.Duration(d.Chain.Budget * float64(time.Second))
	instances := make([]int, len(app.Services))
	for i := range app.Services {
		instances[i] = max(app.Services[i].Bounds.MaxReplicas, 1) // services off the chain must not matter
	}
	app.Kinds = append([]loadline.Kind{}, app.Kinds...)
	for k := range app.Kinds {
		if app.Kinds[k].SLO.Latency = 0; app.Kinds[k].Name == d.Chain.Kind {
			app.Kinds[k].SLO.Latency = slo
		}
	}
	// Long enough for the chain's own kind; others may be rare.
	own := d.perSecond[app.KindIndex(d.Chain.Kind)]
	measure := slosplit.InEventEngine(ctx, app, slosplit.Measurement{PerSecond: d.perSecond, Seeds: 1,
		Requests: verifyRequests * slices.Min(d.perSecond) / own})
	good, now := 0.0, 1.0
	for runs = 1; runs <= verifyRuns; runs++ {
		c := d.Chain
		c.Budget = max(c.Budget*now, 1.02*slosplit.Least(&c).Least)
		shares, err := slosplit.Parslo{}.Split(&c)
		if err != nil {
			return 0, runs, err
		}
		for i := range c.Steps {
			s := &c.Steps[i]
			if instances[s.Service], _, err = s.Instances(shares[i]); err != nil {
				return 0, runs, err
			}
		}
		tails, err := measure(instances)
		if err != nil {
			return 0, runs, err
		}
		ratio := 0.0
		if t := tails[0]; !t.Failing {
			ratio = t.SLO / t.Latency
		}
		switch {
		case ratio >= 1:
			good = now
			if ratio < 1.05 || now >= verifyMost {
				return good, runs, nil
			}
			now = min(now*min(ratio, 1.5), verifyMost)
		case good > 0:
			return good, runs, nil
		default:
			now *= min(max(0.97*ratio, 0.5), 0.95)
		}
	}
	if good > 0 {
		return good, verifyRuns, nil
	}
	return now, verifyRuns, nil
}
