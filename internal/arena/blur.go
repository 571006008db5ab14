package arena

import (
	"math"

	"github.com/loadline/loadline"
)

// How far the 99th percentile of hardly any visits is off, as the deviation of its
// logarithm, and how many visits are few.
const (
	mostBlur  = 0.8
	fewVisits = 30
)

// blur makes response times as uncertain as measured ones are: the 99th percentile of
// a few visits is chance, and whoever has never seen that takes it for need.
func (a *Arena) blur(o *loadline.Observation) {
	factor := func(rate loadline.Sample) float64 {
		visits := rate.Or(0) * a.config.Needs.Window.Seconds()
		return math.Exp(mostBlur / math.Sqrt(1+visits/fewVisits) * a.chance.NormFloat64())
	}
	for i := range o.Services {
		s := &o.Services[i]
		f := factor(s.Rate)
		s.Latency.P99.Value *= f
		s.Own.P99.Value *= f
	}
	if !a.config.Users {
		return
	}
	for k := range o.Kinds {
		o.Kinds[k].AtSLO.Value *= factor(o.Kinds[k].Rate)
	}
}
