package loadline

// Constraints are what the cluster and the namespace allow an application, beyond the user's bounds.
// The zero value constrains nothing.
type Constraints struct {
	Quota    Quota                `json:",omitzero"`
	Services []ServiceConstraints `json:",omitempty"` // in the order of App.Services; empty = there are none
}

// ServiceConstraints are those of one service's pods.
type ServiceConstraints struct {
	// Bounds of each pod, such as those of a LimitRange; MinReplicas is for availability. A figure of 0
	// bounds nothing.
	Bounds Bounds `json:",omitzero"`
	// Why are the reasons of Bounds.MinReplicas, in words.
	Why string `json:",omitzero"`
	// CPURatio and MemoryRatio are how many times the request a limit may be; 0 = any.
	CPURatio    float64 `json:",omitzero"`
	MemoryRatio float64 `json:",omitzero"`
	// NeedsCPULimit and NeedsMemoryLimit: pods without a limit are not admitted.
	NeedsCPULimit    bool `json:",omitzero"`
	NeedsMemoryLimit bool `json:",omitzero"`
	// Others are the requests and limits of the other containers of a pod, which count towards the
	// quota.
	Others Size `json:",omitzero"`
}

// Quota is what all pods of the application may have together: what the namespace allows, without
// what others in it use.
type Quota struct {
	Name string // of its objects, for reasons
	Hard [QuotaResources]Opt[float64]
}

// QuotaResource is a resource that a quota limits.
type QuotaResource int

const (
	QuotaPods QuotaResource = iota
	QuotaCPURequests
	QuotaMemoryRequests
	QuotaCPULimits
	QuotaMemoryLimits

	QuotaResources // how many there are
)

// String is its name in a ResourceQuota.
func (r QuotaResource) String() string {
	switch r {
	case QuotaPods:
		return "pods"
	case QuotaCPURequests:
		return "requests.cpu"
	case QuotaMemoryRequests:
		return "requests.memory"
	case QuotaCPULimits:
		return "limits.cpu"
	case QuotaMemoryLimits:
		return "limits.memory"
	}
	return "unknown"
}

// Memory reports whether it is measured in bytes.
func (r QuotaResource) Memory() bool { return r == QuotaMemoryRequests || r == QuotaMemoryLimits }

// Any reports whether anything is constrained.
func (c *Constraints) Any() bool {
	for i := range c.Services {
		if c.Services[i] != (ServiceConstraints{}) {
			return true
		}
	}
	return c.Quota.Limits()
}

// Limits reports whether anything is limited.
func (q *Quota) Limits() bool {
	for _, hard := range q.Hard {
		if hard.Set {
			return true
		}
	}
	return false
}

// Uses is what a pod counts for, by resource: pods, cores or bytes.
func (s Size) Uses() [QuotaResources]float64 {
	return [QuotaResources]float64{
		QuotaPods: 1, QuotaCPURequests: s.CPURequest, QuotaMemoryRequests: float64(s.MemoryRequest),
		QuotaCPULimits: s.CPULimit, QuotaMemoryLimits: float64(s.MemoryLimit),
	}
}

// Plus is the sum of two sizes.
func (s Size) Plus(o Size) Size {
	return Size{s.CPURequest + o.CPURequest, s.CPULimit + o.CPULimit, s.MemoryRequest + o.MemoryRequest, s.MemoryLimit + o.MemoryLimit}
}
