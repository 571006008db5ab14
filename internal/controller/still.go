package controller

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

// standing is why a service is left as it is for now. The zero standing moves.
type standing struct {
	state v1alpha1.ServiceState
	why   string
}

func (s standing) still() bool { return s.why != "" }

// still is a guard: it leaves alone what somebody else has in hand. It stands at
// both ends, so that the others reckon with it and none of them speaks after it.
type still struct{ ends *ends }

// Name of the guard in records.
func (still) Name() string { return "still" }

// Check takes everything out of the setting of a service that stands still.
func (g still) Check(_ time.Time, _ loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	if s := g.ends.standing[service]; s.still() && !want.Empty() {
		return loadline.Setting{}, s.why
	}
	return want, ""
}
