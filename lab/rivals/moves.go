package rivals

import (
	"math"

	"github.com/loadline/loadline"
)

// moves computes the settings of actions on a service, within its bounds. The desired
// allocation includes plans in flight. Each method reports whether anything would change.
type moves struct {
	app      *loadline.App
	optional []bool // every call to the service may be dropped
}

func newMoves(app *loadline.App) *moves {
	return &moves{app, app.Optional()}
}

// replicas changes the number of replicas.
func (m *moves) replicas(service int, desired loadline.Allocation, n int) (loadline.Setting, bool) {
	b := m.app.Services[service].Bounds
	next := max(desired.Replicas+n, b.MinReplicas, 1)
	if b.MaxReplicas > 0 {
		next = min(next, b.MaxReplicas)
	}
	return loadline.Setting{Replicas: loadline.Some(next)}, next != desired.Replicas
}

// cpu multiplies the CPU limit. The request keeps its share of the limit in the
// application's own description.
func (m *moves) cpu(service int, desired loadline.Allocation, factor float64) (loadline.Setting, bool) {
	b, own := m.app.Services[service].Bounds, m.app.Services[service].Size
	within := func(v float64) float64 {
		v = math.Round(v*1000) / 1000
		if b.MaxCPU > 0 {
			v = min(v, b.MaxCPU)
		}
		return max(v, b.MinCPU, 0.001)
	}
	limit := desired.Size.CPULimit
	if limit == 0 {
		request := within(desired.Size.CPURequest * factor)
		return loadline.Setting{CPURequest: loadline.Some(request)}, request != desired.Size.CPURequest
	}
	share := 1.0
	if own.CPULimit > 0 && own.CPURequest > 0 {
		share = min(1, own.CPURequest/own.CPULimit)
	}
	next := within(limit * factor)
	request := min(within(next*share), next)
	return loadline.Setting{CPULimit: loadline.Some(next), CPURequest: loadline.Some(request)}, next != limit ||
		request != desired.Size.CPURequest
}

// memoryRoom is the least ratio of the memory limit to what a replica uses, so that it is
// not killed.
const memoryRoom = 1.15

// memory multiplies the memory limit, but never below what replicas use, and never down
// if that was not measured.
func (m *moves) memory(service int, desired loadline.Allocation, used loadline.Sample, factor float64) (loadline.Setting, bool) {
	b, own := m.app.Services[service].Bounds, m.app.Services[service].Size
	within := func(v float64) int64 {
		n := int64(v/(1<<20)) << 20
		if b.MaxMemory > 0 {
			n = min(n, b.MaxMemory)
		}
		return max(n, b.MinMemory, 1<<20)
	}
	limit := desired.Size.MemoryLimit
	if limit == 0 {
		request := within(float64(desired.Size.MemoryRequest) * factor)
		return loadline.Setting{MemoryRequest: loadline.Some(request)}, request != desired.Size.MemoryRequest
	}
	next := within(float64(limit) * factor)
	if factor < 1 {
		if !used.Present() {
			return loadline.Setting{}, false
		}
		if next = max(next, within(used.Value*memoryRoom)); next >= limit {
			return loadline.Setting{}, false
		}
	}
	share := 1.0
	if own.MemoryLimit > 0 && own.MemoryRequest > 0 {
		share = min(1, float64(own.MemoryRequest)/float64(own.MemoryLimit))
	}
	request := min(within(float64(next)*share), next)
	return loadline.Setting{MemoryLimit: loadline.Some(next), MemoryRequest: loadline.Some(request)}, next != limit ||
		request != desired.Size.MemoryRequest
}

// brownout starts or ends a brownout, if every call to the service is optional.
func (m *moves) brownout(service int, desired loadline.Allocation) (loadline.Setting, bool) {
	return loadline.Setting{Brownout: loadline.Some(!desired.Brownout)}, m.optional[service]
}

// memoryOf is the highest memory usage among the replicas of a service.
func memoryOf(o *loadline.ServiceObservation) loadline.Sample {
	var most loadline.Sample
	for i := range o.Pods {
		if m := o.Pods[i].Memory; m.Present() && (!most.Present() || m.Value > most.Value) {
			most = m
		}
	}
	return most
}

// capacity is the CPU that a replica can use at most.
func capacity(size loadline.Size) float64 {
	if size.CPULimit > 0 {
		return size.CPULimit
	}
	return max(size.CPURequest, 1)
}
