package loadline

import "time"

// Decision is the record of one pass of the loop: what was proposed, changed by
// guards and applied.
type Decision struct {
	At       time.Time // when the observation was taken
	Applied  time.Time // when the plan was handed to the cluster; zero = it was not
	Policy   string
	Proposal Proposal
	Plan     Plan
	Changed  []GuardChange
	Err      error         // why nothing was decided or applied
	CPUTime  time.Duration // of deciding; not reproducible

	// Outlook is the twin's estimate of what changes; nil without a twin or a change.
	Outlook *Outlook
}

// GuardChange is one guard's correction of one service's setting.
type GuardChange struct {
	Guard   string
	Service int
	From    Setting
	To      Setting
	Reason  string
}

// Outlook is what the twin expects of a plan. All of it is estimated from the application's
// model; none of it is the policy's own reasoning.
type Outlook struct {
	Currency string // of Estimate.PerHour
	// Users are the kinds of requests with the plan, at the observed load and with all pods ready;
	// empty if that is not known.
	Users  []UserOutlook // by kind
	Failed float64       // share of all requests
	Cores  float64       // of all services: max(request, usage) over all pods

	Services []ServiceOutlook // those that change, in the order of the plan
}

// UserOutlook is the latency of one kind of request at the percentile of its SLO.
type UserOutlook struct {
	Latency time.Duration // 0: no request of it succeeds
	OverSLO float64       // that latency over the SLO's; NaN = no request or no SLO
}

// ServiceOutlook is one service's part of an Outlook, by its load-latency curve: its other
// services are taken to be unloaded.
type ServiceOutlook struct {
	Service int
	// Load is the visits per second that it is for: those observed, or those forecast within
	// Ahead, where that is not 0.
	Load  float64
	Ahead time.Duration
	// Part is the time that a visit may take without its calls to others, of the users' SLO.
	Part SLO
	// Users is the kind of request through this service that is worst relative to its SLO; -1 =
	// not known.
	Users int

	Before, Planned, RunnerUp Estimate
}

// Estimate is what an allocation of one service is good for, by the twin.
type Estimate struct {
	Allocation Allocation
	Capacity   float64       // visits per second that stay within the service's part; 0 = none
	Saturation float64       // visits per second at which all CPU or all workers are in use
	Latency    time.Duration // of a visit at the part's percentile and the load; 0 = no steady state
	Cores      float64       // max(request, usage), all replicas
	PerHour    float64       // money
}

// Sufficient reports whether the allocation serves a load within the service's part of the SLO.
func (e *Estimate) Sufficient(load float64) bool { return e.Capacity >= load }
