package loadline

import (
	"errors"
	"time"
)

// ErrNoData is what a policy returns when what it needs was not there. The
// caller holds: absent data never reads as zero load.
var ErrNoData = errors.New("no data to decide on")

// Policy decides. All rivals and all learned policies are one. A policy keeps
// no clock and no source of chance of its own: time comes in as an argument,
// randomness at construction.
type Policy interface {
	Name() string
	Needs() Needs
	Decide(now time.Time, s Situation) (Proposal, error)
}

// Needs is what a policy's real deployment would have: how often it decides,
// what it is shown, and how late. The loop and the observer give it that and
// no more.
type Needs struct {
	Period time.Duration // between decisions
	Delay  time.Duration // from observing to applying: collection and decision
	Scrape time.Duration // between samples of its metrics
	Window time.Duration // over which rates and quantiles are taken
	Lag    time.Duration // age of the newest sample it can see, beyond the scrape's own
	Keep   int           // observations that Situation.Window holds at most; 0 = 1
}

// Situation is all that a policy may know when it decides. It is valid during
// the call to Decide only; a policy that wants to remember copies.
type Situation struct {
	App        *App
	Window     []Observation // oldest first, the last one is now; never empty
	Allocation []Allocation  // per service, as told so far
	InFlight   []Allocation  // per service, with plans that are decided and not yet applied
	Forecast   []Forecast    // per service; empty without a forecaster
	PartialSLO []SLO         // per service, its part of the end-to-end SLO; empty without a splitter
}

// Now is the latest observation.
func (s Situation) Now() *Observation { return &s.Window[len(s.Window)-1] }

// Forecast is the expected rate of visits to a service.
type Forecast struct {
	Step   time.Duration
	Median []Sample // at now+Step, now+2*Step, ...
	High   []Sample // upper quantile, same instants
}
