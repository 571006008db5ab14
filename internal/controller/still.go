package controller

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

// standing is why a service is left as it is for now. A service with the zero
// standing may be moved.
type standing struct {
	state v1alpha1.ServiceState
	why   string
}

func (s standing) still() bool { return s.why != "" }

// still is a guard that leaves services alone which others control. It is both the
// first and the last guard: the others see its result, and none can override it.
type still struct{ ends *ends }

// Name of the guard in records.
func (still) Name() string { return "still" }

// Check empties the setting of a service that is left alone.
func (g still) Check(_ time.Time, _ loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	if s := g.ends.standing[service]; s.still() && !want.Empty() {
		return loadline.Setting{}, s.why
	}
	return want, ""
}
