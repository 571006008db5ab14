package kedascaler

import (
	"errors"
	"time"

	"github.com/loadline/loadline"
)

// Errors of a Source. They may be wrapped.
var (
	// ErrUnknown says that there is no decision for a target.
	ErrUnknown = errors.New("no decision")

	// ErrNotReady says that this replica answers nothing at present: it is a
	// standby that does not follow the resources' status, or has just started.
	ErrNotReady = errors.New("not ready to answer")
)

// Source knows the last good decision of every service. It is asked by many at
// once and answers from memory: it must not wait for anything.
type Source interface {
	// Decision is the last good one, however old. The error wraps ErrUnknown
	// or ErrNotReady.
	//
	// A standby may answer with what the leader wrote into the resource's
	// status, under the time at which the leader decided.
	Decision(Target) (Decision, error)

	// Ready is nil, or says why nothing can be answered.
	Ready() error

	// Changed returns a channel that is closed when a target becomes known or
	// unknown, when one goes from wanting nothing to something or back, and
	// when Ready changes. Other changes may be passed over.
	Changed() <-chan struct{}
}

// Name of an object in a cluster.
type Name struct{ Namespace, Name string }

func (n Name) String() string { return n.Namespace + "/" + n.Name }

// Target is what a trigger asks about: a service of a LoadLine, named, or left
// to be found by the ScaledObject that asks.
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

// Decision is how many replicas a service is to have.
type Decision struct {
	Replicas int
	Made     time.Time

	// GoodFor is how long it may be answered with: an application that decides
	// every ten minutes is not stale after five. 0 = Options.MaxAge.
	GoodFor time.Duration

	// Current is the number of replicas in the status of the target's scale
	// subresource, which is what the HPA reckons with. Only Overshoot needs it.
	Current loadline.Opt[int]

	// FromStatus says that another replica made it, and that it was read from
	// the resource's status.
	FromStatus bool
}
