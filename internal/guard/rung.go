package guard

import (
	"fmt"
	"time"
)

// Rung is the policy that is followed.
type Rung int

const (
	Primary Rung = iota // the model
	Rule                // the calibrated rule
	Hold                // none: everything stays as it is
	Floor               // none, for so long that services are raised to a safe size
)

// learned is Primary in records and states of earlier versions.
const learned = "learned"

func (r Rung) String() string {
	switch r {
	case Primary:
		return "primary"
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

// UnmarshalText reads it, and the name that earlier versions wrote.
func (r *Rung) UnmarshalText(text []byte) error {
	if string(text) == learned {
		*r = Primary
		return nil
	}
	for _, known := range []Rung{Primary, Rule, Hold, Floor} {
		if string(text) == known.String() {
			*r = known
			return nil
		}
	}
	return fmt.Errorf("unknown rung %q: must be primary, rule, hold or floor", text)
}

// State is the state of an application's ladder, as shown in status, metrics and
// records.
type State struct {
	Rung  Rung
	Since time.Time
	Why   string // in words
	// Distrust: the model is not followed because of its behaviour. A restart must
	// keep that: see Ladder.Resume.
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
