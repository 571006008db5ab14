package guard

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// Absent drops reductions of a service whose load is not measured: neither its rate of
// visits nor its CPU is present, or they are late or not numbers. Absent data is never
// zero load. Raises pass, and so does the end of a brownout, during which there is no
// load to measure.
//
// Only Clamp comes after it, so Absent also prevents reductions by Clamp: a service
// above its upper bound stays there until its load is measured.
type Absent struct{ MaxAge time.Duration }

// Name returns the name of the guard in records.
func (Absent) Name() string { return "absent" }

// Check drops reductions.
func (g Absent) Check(now time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	if want.Empty() || visible(observed(s, service), now, g.MaxAge) {
		return want, ""
	}
	is := &s.InFlight[service]
	got := withoutReductions(want, is)
	if got.Brownout.Value {
		got.Brownout = loadline.Opt[bool]{}
	}
	if bounded, _ := (Clamp{}).Check(now, s, service, got); reduces(&bounded, is) {
		got = loadline.Setting{}
	}
	if got == want {
		return want, ""
	}
	return got, fmt.Sprintf("not reduced: neither its rate nor its CPU has been measured in the last %v", g.MaxAge)
}
