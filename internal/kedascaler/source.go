package kedascaler

import (
	"errors"
	"time"

	"github.com/loadline/loadline"
)

// Errors of a Source. They may be wrapped.
var (
	// ErrUnknown means that there is no decision for a target.
	ErrUnknown = errors.New("no decision")

	// ErrNotReady means that this replica cannot answer at present: it is a standby
	// that does not follow the resources' status, or has just started.
	ErrNotReady = errors.New("not ready to answer")

	// ErrWithheld means that a decision exists and must not be followed: Loadline does
	// not act on the service.
	ErrWithheld = errors.New("no replicas for KEDA")
)

// Source has the last good decision of every service. It is called concurrently
// and answers from memory: it must not block.
type Source interface {
	// Decision returns the last good decision, however old. The error wraps
	// ErrUnknown, ErrNotReady or ErrWithheld.
	//
	// A standby may return what the leader wrote into the resource's status, with the
	// time of the leader's decision.
	Decision(Target) (Decision, error)

	// Ready returns nil, or why nothing can be answered.
	Ready() error

	// Changed returns a channel that is closed when a target becomes known or
	// unknown, when its desired replicas change from or to zero, and when Ready
	// changes. Other changes may be omitted.
	Changed() <-chan struct{}
}

// Name is the name of an object in a cluster.
type Name struct{ Namespace, Name string }

func (n Name) String() string { return n.Namespace + "/" + n.Name }

// Target is what a trigger refers to: a named service of a LoadLine, or one to be
// found by the ScaledObject.
type Target struct {
	ScaledObject Name   // that asks
	LoadLine     Name   // zero = the trigger names none
	Service      string // "" = the trigger names none
}

func (t Target) String() string {
	s := "ScaledObject " + t.ScaledObject.String()
	if t.Service != "" {
		s = "service " + t.Service + " of " + s
	}
	if t.LoadLine != (Name{}) {
		s += " (LoadLine " + t.LoadLine.String() + ")"
	}
	return s
}

// Decision is the desired number of replicas of a service.
type Decision struct {
	Replicas int
	Made     time.Time

	// GoodFor is its validity: an application that decides every ten minutes is not
	// stale after five. 0 = Options.MaxAge.
	GoodFor time.Duration

	// Current is the number of replicas in the status of the target's scale
	// subresource, which the HPA uses. Only ValueBeyondTolerance needs it.
	Current loadline.Opt[int]

	// Withheld is why the decision must not be followed: the mode does not act, or
	// others scale the service. KEDA then gets an error with this text, and uses its
	// fallback and its other triggers. "" = it is followed.
	Withheld string

	// FromStatus means that another replica made it, and that it was read from the
	// resource's status.
	FromStatus bool
}
