package guard

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// Absent drops reductions of a service whose load is not measured, or only of part of
// its pods: neither its rate of visits nor its CPU is present, or they are late or not
// numbers, or more than one ready pod in ten is missing (see Coverage). Absent data is
// never zero load, and part of the data is not all of it. Raises pass, and so does the
// end of a brownout, during which there is no load to measure.
type Absent struct {
	MaxAge time.Duration
	Settle time.Duration // after becoming ready, for which a pod's CPU is start-up and not load
}

// Name returns the name of the guard in records.
func (Absent) Name() string { return "absent" }

// Check drops reductions.
func (g Absent) Check(now time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	if want.Empty() {
		return want, ""
	}
	o := observed(s, service)
	got, why := withoutReductions(want, &s.InFlight[service]), ""
	switch c := CoverageOf(o, now, g.MaxAge, g.Settle); {
	case !visible(o, now, g.MaxAge):
		why = fmt.Sprintf("not reduced: neither its rate nor its CPU has been measured in the last %v", g.MaxAge)
		if got.Brownout.Value {
			got.Brownout = loadline.Opt[bool]{}
		}
	case !c.CPU.Enough():
		why = fmt.Sprintf("not reduced: the CPU of %v ready pods is measured, and at most one in ten may be missing", c.CPU)
	case !c.Requests.Enough():
		why = fmt.Sprintf("not reduced: the requests of %v ready pods are measured, and at most one in ten may be missing", c.Requests)
	}
	if why == "" || got == want {
		return want, ""
	}
	return got, why
}
