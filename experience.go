package loadline

import "time"

// Experience is one step of one decider, as everything that learns sees it.
// What was applied counts, not what was proposed: otherwise a guard would
// poison the replay, and nothing could be learned from another autoscaler's
// history.
type Experience struct {
	At, Until time.Time
	Service   int       // index into App.Services; -1 = the whole application
	Features  []float64 // as encoded at At
	Proposed  Setting
	Applied   Setting
	ChangedBy []string // guards that made Applied differ from Proposed, in order
	Next      []float64
	Reward    float64
}

// Decision is the record of one pass of the loop: what was seen, wanted,
// changed and done.
type Decision struct {
	At       time.Time // when the observation was taken
	Applied  time.Time // when the plan was handed to the cluster; zero = it was not
	Policy   string
	Proposal Proposal
	Plan     Plan
	Changed  []GuardChange
	Err      error         // why nothing was decided
	CPUTime  time.Duration // of deciding; not part of any result that must repeat
}

// GuardChange is one guard's correction of one service's setting.
type GuardChange struct {
	Guard   string
	Service int
	From    Setting
	To      Setting
	Reason  string
}
