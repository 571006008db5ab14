package train

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Noise is how uncertain what is measured is, so that nothing is learned by heart.
type Noise struct {
	CPU     float64 // relative deviation of CPU readings
	Loss    float64 // share of scrapes that are lost
	Latency bool    // arrivals fluctuate, and high percentiles of few visits are uncertain
	Users   bool    // those of users' response times too
}

// How far the 99th percentile of hardly any visits is off, as the deviation of its
// logarithm, and how many visits are few.
const (
	mostBlur  = 0.8
	fewVisits = 30
)

// blur makes response times as uncertain as measured ones are: the 99th percentile of
// a few visits is random, and an agent not trained with that mistakes it for load. It
// is the filter of an arena's loop.
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
