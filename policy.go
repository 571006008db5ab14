package loadline

import (
	"errors"
	"time"
)

// ErrNoData is returned by a policy if its metrics were not measured. The caller holds: absent
// data is never read as zero load.
var ErrNoData = errors.New("no data to decide on")

// Policy decides. All baselines and all learned policies implement it. A policy
// has no clock and no random source of its own: time is an argument of Decide,
// randomness comes in at construction.
type Policy interface {
	Name() string
	Needs() Needs
	Decide(now time.Time, s Situation) (Proposal, error)
}

// Needs is what a policy's real deployment would have: how often it decides, what it observes,
// and how late. The loop and the observer provide that and no more.
type Needs struct {
	Period time.Duration // between decisions
	Delay  time.Duration // from observing to applying: collection and decision
	Scrape time.Duration // between samples of its metrics
	Window time.Duration // over which rates and quantiles are taken
	Lag    time.Duration // age of the newest visible sample, beyond the scrape interval
	Keep   int           // maximum number of observations in Situation.Window; 0 = 1

	// Reserve is the cores of placeholder pods in the cluster, which keep room on nodes and
	// give way to any other pod.
	Reserve float64
	// RecreateAfter is how long a resize may wait for room on its node before the pod is
	// evicted and created anew elsewhere; 0 = it waits.
	RecreateAfter time.Duration

	Forecast   Horizon // of Situation.Forecast; zero = nothing is forecast
	PartialSLO bool    // Situation.PartialSLO is used
}

// RateScrapes is how many scrapes of Prometheus the rates and quantiles cover that the controller
// reads: with fewer, one that is lost or late would leave a hole.
const RateScrapes = 4

// Horizon is the range of a forecast: a number of steps of a length.
type Horizon struct {
	Step  time.Duration
	Steps int
}

// Situation is the input of a decision. It is valid during the call to Decide only; a policy
// that keeps any of it copies it.
type Situation struct {
	App        *App
	Window     []Observation // oldest first, the last one is now; never empty
	Allocation []Allocation  // desired, per service
	InFlight   []Allocation  // per service, with decided plans that are not yet applied
	Forecast   []Forecast    // per service; empty without a forecaster
	PartialSLO []SLO         // per service, its part of the end-to-end SLO; empty without a splitter
	Announced  []Event       // announced changes of the load, now and to come, by start
	// Constraints of the cluster and the namespace, as far as they are known.
	Constraints Constraints
}

// Event is an announced change of the load: from Start until End, users send Factor times as many
// requests as they would otherwise.
type Event struct {
	Name       string
	Start, End time.Time
	Factor     float64
}

// Now is the latest observation.
func (s Situation) Now() *Observation { return &s.Window[len(s.Window)-1] }

// Forecast is the predicted rate of visits to a service.
type Forecast struct {
	Step   time.Duration
	Median []Sample // at now+Step, now+2*Step, ...
	High   []Sample // upper quantile, same instants
}
