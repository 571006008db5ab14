package guard

import (
	"fmt"
	"time"
)

// Rung is who is followed.
type Rung int

const (
	Learned Rung = iota // the model
	Rule                // the calibrated rule
	Hold                // nobody: everything stays as it is
	Floor               // nobody, for so long that services are raised to a safe size
)

func (r Rung) String() string {
	switch r {
	case Learned:
		return "learned"
	case Rule:
		return "rule"
	case Hold:
		return "hold"
	case Floor:
		return "floor"
	}
	return fmt.Sprintf("rung %d", int(r))
}

// MarshalText writes the name.
func (r Rung) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads it.
func (r *Rung) UnmarshalText(text []byte) error {
	for _, known := range []Rung{Learned, Rule, Hold, Floor} {
		if string(text) == known.String() {
			*r = known
			return nil
		}
	}
	return fmt.Errorf("unknown rung %q: must be learned, rule, hold or floor", text)
}

// State is where an application stands on the ladder. It is what status, metrics
// and records show.
type State struct {
	Rung  Rung
	Since time.Time
	Why   string // for the person who asks
	// Distrust says that the model is not followed because of what it did, which
	// a restart must not make forgotten: see Ladder.Resume.
	Distrust bool
	// Recovery is how long the SLO must hold before the model is followed again.
	Recovery time.Duration
}

// Transition is one step on the ladder.
type Transition struct {
	At       time.Time
	From, To Rung
	Why      string
}

func (t Transition) String() string { return fmt.Sprintf("%v to %v: %s", t.From, t.To, t.Why) }

// keptTransitions is how many the ladder remembers.
const keptTransitions = 16
