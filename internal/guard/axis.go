package guard

import (
	"math"

	"github.com/loadline/loadline"
)

// axis is one number of a setting, so that a guard is written once for all of them. A limit
// of 0, which means none, reads as infinite here.
type axis int

const (
	replicas axis = iota
	cpuRequest
	cpuLimit
	memoryRequest
	memoryLimit
	axes
)

func (a axis) String() string {
	return [...]string{"replicas", "CPU request", "CPU limit", "memory request", "memory limit"}[a]
}

// raw is the value that a setting has on the axis, if it has one.
func (a axis) raw(s *loadline.Setting) (float64, bool) {
	switch a {
	case replicas:
		return float64(s.Replicas.Value), s.Replicas.Set
	case cpuRequest:
		return s.CPURequest.Value, s.CPURequest.Set
	case cpuLimit:
		return s.CPULimit.Value, s.CPULimit.Set
	case memoryRequest:
		return float64(s.MemoryRequest.Value), s.MemoryRequest.Set
	default:
		return float64(s.MemoryLimit.Value), s.MemoryLimit.Set
	}
}

// wanted is the same with no limit as an infinite one.
func (a axis) wanted(s *loadline.Setting) (float64, bool) {
	v, set := a.raw(s)
	if set && a.isLimit() {
		v = orNone(v)
	}
	return v, set
}

// of is the value that an allocation has on the axis.
func (a axis) of(l *loadline.Allocation) float64 {
	switch a {
	case replicas:
		return float64(l.Replicas)
	case cpuRequest:
		return l.Size.CPURequest
	case cpuLimit:
		return orNone(l.Size.CPULimit)
	case memoryRequest:
		return float64(l.Size.MemoryRequest)
	default:
		return orNone(float64(l.Size.MemoryLimit))
	}
}

// set gives a setting a value on the axis; replicas and bytes are whole already.
func (a axis) set(s *loadline.Setting, v float64) {
	switch a {
	case replicas:
		s.Replicas = loadline.Some(int(toInteger(v)))
	case cpuRequest:
		s.CPURequest = loadline.Some(v)
	case cpuLimit:
		s.CPULimit = loadline.Some(asLimit(v))
	case memoryRequest:
		s.MemoryRequest = loadline.Some(toInteger(v))
	case memoryLimit:
		s.MemoryLimit = loadline.Some(toInteger(asLimit(v)))
	}
}

// unset leaves the axis as it is.
func (a axis) unset(s *loadline.Setting) {
	switch a {
	case replicas:
		s.Replicas = loadline.Opt[int]{}
	case cpuRequest:
		s.CPURequest = loadline.Opt[float64]{}
	case cpuLimit:
		s.CPULimit = loadline.Opt[float64]{}
	case memoryRequest:
		s.MemoryRequest = loadline.Opt[int64]{}
	case memoryLimit:
		s.MemoryLimit = loadline.Opt[int64]{}
	}
}

// reduces reports whether a setting would make the allocation less on the axis.
func (a axis) reduces(s *loadline.Setting, l *loadline.Allocation) bool {
	v, set := a.wanted(s)
	return set && v < a.of(l)
}

// raises reports whether it would make it more.
func (a axis) raises(s *loadline.Setting, l *loadline.Allocation) bool {
	v, set := a.wanted(s)
	return set && v > a.of(l)
}

// isCount reports whether the axis has whole steps that matter.
func (a axis) isCount() bool { return a == replicas }

// isBytes reports whether values must be whole.
func (a axis) isBytes() bool { return a == memoryRequest || a == memoryLimit }

// isLimit reports whether 0 means none.
func (a axis) isLimit() bool { return a == cpuLimit || a == memoryLimit }

// request is what a limit is the limit of.
func (a axis) request() axis {
	if a == cpuLimit {
		return cpuRequest
	}
	return memoryRequest
}

// implausible reports whether a value cannot be intended: not a number, negative, or
// beyond real sizes (a million replicas, a hundred thousand cores, a pebibyte).
func (a axis) implausible(raw float64) bool {
	most := 1e6
	switch a {
	case cpuRequest, cpuLimit:
		most = 1e5
	case memoryRequest, memoryLimit:
		most = 1 << 50
	}
	return !(raw >= 0 && raw <= most)
}

// reduces reports whether a setting would make the allocation less on any axis.
func reduces(s *loadline.Setting, l *loadline.Allocation) bool {
	for a := range axes {
		if a.reduces(s, l) {
			return true
		}
	}
	return false
}

// withoutReductions drops the axes of a setting that would reduce the allocation.
func withoutReductions(s loadline.Setting, l *loadline.Allocation) loadline.Setting {
	for a := range axes {
		if a.reduces(&s, l) {
			a.unset(&s)
		}
	}
	return s
}

func orNone(limit float64) float64 {
	if limit == 0 {
		return math.Inf(1)
	}
	return limit
}

func asLimit(v float64) float64 {
	if math.IsInf(v, 1) {
		return 0
	}
	return v
}

// toInteger converts to an integer; values beyond 2^53 saturate.
func toInteger(v float64) int64 {
	const most = 1 << 53 // where every integer still has its own float
	return int64(min(max(v, -most), most))
}
