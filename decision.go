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
}

// GuardChange is one guard's correction of one service's setting.
type GuardChange struct {
	Guard   string
	Service int
	From    Setting
	To      Setting
	Reason  string
}
