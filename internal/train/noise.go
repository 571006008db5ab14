package train

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Noise is the uncertainty of measurements, which prevents overfitting to exact values.
type Noise struct {
	CPU     float64 // relative deviation of CPU readings
	Loss    float64 // share of scrapes that are lost
	Latency bool    // arrivals fluctuate, and the 99th percentile of few visits is uncertain
	Users   bool    // as are the users' response times at the SLO's percentile
}

// The uncertainty of a percentile: mostBlur is the standard deviation of its logarithm
// with hardly any visits, and fewVisits the number at which it begins to fall.
const (
	mostBlur  = 0.8
	fewVisits = 30
)

// blur makes response times as uncertain as measured ones: the 99th percentile of a few
// visits is mostly random, and an agent trained without that mistakes it for load. It is
// the filter of an arena's loop.
func (a *Arena) blur(_ time.Time, o *loadline.Observation) {
	factor := func(rate loadline.Sample) float64 {
		visits := rate.Or(0) * a.config.Needs.Window.Seconds()
		return math.Exp(mostBlur / math.Sqrt(1+visits/fewVisits) * a.rng.NormFloat64())
	}
	for i := range o.Services {
		s := &o.Services[i]
		f := factor(s.Rate)
		s.Latency.P99.Value *= f
		s.Own.P99.Value *= f
	}
	if !a.config.Noise.Users {
		return
	}
	for k := range o.Kinds {
		o.Kinds[k].AtSLO.Value *= factor(o.Kinds[k].Rate)
	}
}
