package guard

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// Absent keeps a service from being reduced while nobody can see its load:
// neither its rate of visits nor its CPU is there, or they are late or no
// numbers. Absent data is never zero load. Raises pass, and so does the end of a
// brownout, in which there is nothing to be seen.
//
// Only the bounds come after it, so it sees to it that they have no reason to
// take anything away: a service above its upper bound stays there until it can be
// seen.
type Absent struct{ MaxAge time.Duration }

// Name of the guard in records.
func (Absent) Name() string { return "absent" }

// Check takes out what would make it less.
func (g Absent) Check(now time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	if want.Empty() || visible(observed(s, service), now, g.MaxAge) {
		return want, ""
	}
	is := &s.InFlight[service]
	got := noLess(want, is)
	if got.Brownout.Value {
		got.Brownout = loadline.Opt[bool]{}
	}
	if bounded, _ := (Clamp{}).Check(now, s, service, got); falls(&bounded, is) {
		got = loadline.Setting{}
	}
	if got == want {
		return want, ""
	}
	return got, fmt.Sprintf("not reduced: neither its rate nor its CPU has been measured in the last %v", g.MaxAge)
}
