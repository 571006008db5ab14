package loadline

import "time"

// Opt is a value that may be unset. Unset means unchanged.
type Opt[T any] struct {
	Value T
	Set   bool
}

// Some returns a set value.
func Some[T any](v T) Opt[T] { return Opt[T]{Value: v, Set: true} }

// Or returns the value, or the given one if unset.
func (o Opt[T]) Or(unset T) T {
	if o.Set {
		return o.Value
	}
	return unset
}

// Setting is a change to one service, axis by axis.
type Setting struct {
	Replicas      Opt[int]
	CPURequest    Opt[float64] // cores per replica
	CPULimit      Opt[float64] // cores per replica; 0 = none
	MemoryRequest Opt[int64]   // bytes per replica
	MemoryLimit   Opt[int64]   // bytes per replica; 0 = none
	Brownout      Opt[bool]    // true: optional calls to the service are dropped
}

// Empty reports whether the setting changes nothing.
func (s Setting) Empty() bool { return s == Setting{} }

// With returns the setting with what another one sets besides or instead.
func (s Setting) With(other Setting) Setting {
	override(&s.Replicas, other.Replicas)
	override(&s.CPURequest, other.CPURequest)
	override(&s.CPULimit, other.CPULimit)
	override(&s.MemoryRequest, other.MemoryRequest)
	override(&s.MemoryLimit, other.MemoryLimit)
	override(&s.Brownout, other.Brownout)
	return s
}

func override[T any](o *Opt[T], by Opt[T]) {
	if by.Set {
		*o = by
	}
}

// Proposal is what a policy proposes, for all or some services and axes.
type Proposal struct {
	Services []ServiceProposal
	// Reserve is the room on nodes to keep free for pods to come, of all services together.
	Reserve Opt[Room]
	// Limited is what keeps the proposal below what the load needs, other than the user's bounds: a
	// quota. Empty = nothing does.
	Limited string
}

// Room is CPU and memory on nodes.
type Room struct {
	Cores  float64
	Memory int64 // bytes
}

// ServiceProposal is one service's part of a Proposal.
type ServiceProposal struct {
	Service int // index into App.Services
	Setting Setting
	Reason  string // one sentence
	// Expects is the load that it is for, of a policy that forecasts by itself; the zero value for
	// one that reacts, or has Situation.Forecast.
	Expects LoadAhead
	// RunnerUp is the policy's second choice, if it has alternatives.
	RunnerUp *Alternative
}

// LoadAhead is a load that is expected within a time.
type LoadAhead struct {
	Rate   float64 // visits per second
	Within time.Duration
}

// Alternative is a setting that was not chosen.
type Alternative struct {
	Setting Setting
	Reason  string
}

// Plan is what is to be applied: a proposal after all guards.
type Plan struct {
	Services []ServicePlan
	// Reserve is the room to keep free from now on, where the cluster does that for one application,
	// as a simulated one. In a real cluster a reserve belongs to several (loop.Loop.Reserves).
	Reserve Opt[Room]
	// ReservePod is the size of each pod that holds the reserve; zero = that of the largest pod of the
	// application when the first of them is created.
	ReservePod Room
}

// ServicePlan is one service's part of a Plan.
type ServicePlan struct {
	Service int // index into App.Services
	Setting Setting
}

// Allocation is the desired state of one service: the spec, not the pods.
type Allocation struct {
	Replicas int
	Size     Size
	Brownout bool
}

// With returns the allocation after a setting.
func (a Allocation) With(s Setting) Allocation {
	return Allocation{
		Replicas: s.Replicas.Or(a.Replicas),
		Size: Size{
			CPURequest:    s.CPURequest.Or(a.Size.CPURequest),
			CPULimit:      s.CPULimit.Or(a.Size.CPULimit),
			MemoryRequest: s.MemoryRequest.Or(a.Size.MemoryRequest),
			MemoryLimit:   s.MemoryLimit.Or(a.Size.MemoryLimit),
		},
		Brownout: s.Brownout.Or(a.Brownout),
	}
}

// Changes returns the part of a setting that differs from the allocation.
func (a Allocation) Changes(s Setting) Setting {
	keepIfNew(&s.Replicas, a.Replicas)
	keepIfNew(&s.CPURequest, a.Size.CPURequest)
	keepIfNew(&s.CPULimit, a.Size.CPULimit)
	keepIfNew(&s.MemoryRequest, a.Size.MemoryRequest)
	keepIfNew(&s.MemoryLimit, a.Size.MemoryLimit)
	keepIfNew(&s.Brownout, a.Brownout)
	return s
}

func keepIfNew[T comparable](o *Opt[T], now T) {
	if o.Set && o.Value == now {
		*o = Opt[T]{}
	}
}
