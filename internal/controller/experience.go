package controller

import (
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
)

type action = drpc.Action

// carriedOut is the part of a student's action that was done: what it proposed,
// held against the plan that the guards left of it. What a guard took away was not
// done, and is 0. Where a guard put something else in its place, it is unknown which
// action that would have been, and it does not count.
func carriedOut(want action, proposed, plan loadline.Setting) (action, bool) {
	axes := [drpc.Axes]fate{
		drpc.AxisCPU: joined(fateOf(proposed.CPULimit, plan.CPULimit, nearCores),
			fateOf(proposed.CPURequest, plan.CPURequest, nearCores)),
		drpc.AxisMemory: joined(fateOf(proposed.MemoryLimit, plan.MemoryLimit, nearBytes),
			fateOf(proposed.MemoryRequest, plan.MemoryRequest, nearBytes)),
		drpc.AxisHorizontal: joined(fateOf(proposed.Replicas, plan.Replicas, same[int]),
			fateOf(proposed.Brownout, plan.Brownout, same[bool])),
	}
	for axis, f := range axes {
		switch f {
		case changed:
			return action{}, false
		case dropped, untouched:
			want[axis] = 0
		}
	}
	return want, true
}

// fate of what was proposed.
type fate int

const (
	untouched fate = iota // nothing was, and nothing was done
	done
	dropped
	changed // something else was done
)

func fateOf[T any](proposed, plan loadline.Opt[T], near func(a, b T) bool) fate {
	switch {
	case !proposed.Set && !plan.Set:
		return untouched
	case !plan.Set:
		return dropped
	case !proposed.Set || !near(proposed.Value, plan.Value):
		return changed
	}
	return done
}

// joined is the fate of two that one axis moves together: half of it is done where
// the user lets requests be moved and not limits, which is all that can be done.
func joined(a, b fate) fate {
	switch {
	case a == changed || b == changed:
		return changed
	case a == done || b == done:
		return done
	}
	return max(a, b)
}

// Sizes are rounded up to whole millicores and MiB before they are applied.
func nearCores(a, b float64) bool    { return math.Abs(a-b) <= 0.0015 }
func same[T comparable](a, b T) bool { return a == b }
func nearBytes(a, b int64) bool      { return max(a-b, b-a) <= 3<<19 }
