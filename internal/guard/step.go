package guard

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// StepLimit is the most that one decision may change. The larger of pods and percent
// applies, so that small services can change at all and large ones change by more than a
// pod at a time. Sizes change by factors.
type StepLimit struct {
	UpPods      int
	UpPercent   float64 // of the replicas there are
	DownPods    int
	DownPercent float64
	SizeUp      float64 // the most by which CPU or memory of a replica is multiplied; 1 or more
	SizeDown    float64 // the least; above 0, at most 1
}

// Name returns the name of the guard in records.
func (StepLimit) Name() string { return "step" }

// Check shortens steps that are too long. A size that was not set has no ratio to another
// value: only the bounds limit its first value.
func (g StepLimit) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	is := &s.InFlight[service]
	var why reasons
	for a := range axes {
		v, set := a.wanted(&want)
		low, high := g.reach(a, is)
		if got := min(max(v, low), high); set && got != v {
			why = append(why, fmt.Sprintf("%v from %v to %v exceeds the step limit: set to %v", a, asLimit(a.of(is)), asLimit(v),
				asLimit(got)))
			a.set(&want, got)
		}
	}
	if len(why) == 0 {
		return want, ""
	}
	return want, strings.Join(why, "; ")
}

// reach is the range of one step from the present value.
func (g StepLimit) reach(a axis, is *loadline.Allocation) (low, high float64) {
	from := a.of(is)
	switch {
	case a.isCount():
		down := max(float64(g.DownPods), math.Floor(from*g.DownPercent/100))
		up := max(float64(g.UpPods), math.Floor(from*g.UpPercent/100))
		return from - down, from + up
	case math.IsInf(from, 1):
		return a.request().of(is), from // a first limit below the request would take that down, too
	case from == 0:
		return 0, math.Inf(1)
	}
	low, high = from*g.SizeDown, from*g.SizeUp
	if a.isBytes() {
		low, high = math.Ceil(low), math.Floor(high)
	}
	return low, high
}
