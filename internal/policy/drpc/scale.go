package drpc

import (
	"math"

	"github.com/loadline/loadline"
)

// DeadZone is how far an action must be from 0 to have an effect (Algorithm 2, lines 2, 5 and
// 8).
const DeadZone = 0.5

// Steps are the step sizes of Algorithm 2, as shares of the maximum of a service's bounds.
type Steps struct {
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
}

// DefaultSteps are ours: the paper does not give its own.
func DefaultSteps() Steps { return Steps{CPU: 0.1, Memory: 1.0 / 16} }

// memoryRoom is the ratio of the memory limit to a replica's usage that is kept: below it the
// replica would be killed.
const memoryRoom = 1.15

// Scaler is Algorithm 2 on an application.
type Scaler struct {
	// Pressed allows services to brown out, and to stay so: without pressure, dropped calls
	// come back by themselves. If it were left to the agent alone, the last step down would
	// always be a cliff, and an agent that does not see the number of replicas could avoid it
	// only by having the maximum.
	Pressed bool

	app      *loadline.App
	steps    Steps
	optional []bool
}

// NewScaler makes the scaler of an application.
func NewScaler(app *loadline.App, steps Steps) *Scaler {
	return &Scaler{app: app, steps: steps, optional: app.Optional()}
}

// Scale turns an action into the setting of a service, and into the applied part of the action:
// in the dead zone or beyond a bound it is 0, and that is what must be learned from. desired
// includes plans in flight; used is the memory of a replica in bytes, if it is known.
func (s *Scaler) Scale(service int, desired loadline.Allocation, used loadline.Sample, want Action) (loadline.Setting, Action) {
	var setting loadline.Setting
	var done Action
	if desired.Brownout && !s.Pressed {
		s.horizontal(service, desired, 1, &setting)
		want[AxisHorizontal] = 0
	}
	for axis, x := range want {
		if x != x || max(x, -x) <= DeadZone { // NaN has no effect
			continue
		}
		x = min(max(x, -1), 1)
		moved := false
		switch axis {
		case AxisCPU:
			moved = s.cpu(service, desired, float64(x), &setting)
		case AxisMemory:
			moved = s.memory(service, desired, used, float64(x), &setting)
		case AxisHorizontal:
			moved = s.horizontal(service, desired, int(math.Round(float64(x))), &setting)
		}
		if moved {
			done[axis] = x
		}
	}
	return setting, done
}

// cpu moves the limit by x steps (line 3). The ratio of request to limit in the application's
// description is kept.
func (s *Scaler) cpu(service int, desired loadline.Allocation, x float64, setting *loadline.Setting) bool {
	b, own := s.app.Services[service].Bounds, s.app.Services[service].Size
	within := func(v float64) float64 {
		v = math.Round(v*1000) / 1000
		if b.MaxCPU > 0 {
			v = min(v, b.MaxCPU)
		}
		return max(v, b.MinCPU, 0.001)
	}
	step := s.steps.CPU * b.MaxCPU
	if b.MaxCPU <= 0 {
		step = s.steps.CPU * max(desired.Size.CPULimit, desired.Size.CPURequest)
	}
	limit := desired.Size.CPULimit
	if limit == 0 {
		request := within(desired.Size.CPURequest + x*step)
		setting.CPURequest = loadline.Some(request)
		return request != desired.Size.CPURequest
	}
	share := 1.0
	if own.CPULimit > 0 && own.CPURequest > 0 {
		share = min(1, own.CPURequest/own.CPULimit)
	}
	next := within(limit + x*step)
	request := min(within(next*share), next)
	setting.CPULimit, setting.CPURequest = loadline.Some(next), loadline.Some(request)
	return next != limit || request != desired.Size.CPURequest
}

// memory moves the limit likewise (line 6), but never below what replicas use.
func (s *Scaler) memory(service int, desired loadline.Allocation, used loadline.Sample, x float64, setting *loadline.Setting) bool {
	b, own := s.app.Services[service].Bounds, s.app.Services[service].Size
	within := func(v float64) int64 {
		n := int64(v/(1<<20)) << 20
		if b.MaxMemory > 0 {
			n = min(n, b.MaxMemory)
		}
		return max(n, b.MinMemory, 1<<20)
	}
	step := s.steps.Memory * float64(b.MaxMemory)
	if b.MaxMemory <= 0 {
		step = s.steps.Memory * float64(max(desired.Size.MemoryLimit, desired.Size.MemoryRequest))
	}
	limit := desired.Size.MemoryLimit
	if limit == 0 {
		request := within(float64(desired.Size.MemoryRequest) + x*step)
		setting.MemoryRequest = loadline.Some(request)
		return request != desired.Size.MemoryRequest
	}
	next := within(float64(limit) + x*step)
	if x < 0 {
		if !used.Present() {
			return false
		}
		next = max(next, within(used.Value*memoryRoom))
		if next >= limit {
			return false
		}
	}
	share := 1.0
	if own.MemoryLimit > 0 && own.MemoryRequest > 0 {
		share = min(1, float64(own.MemoryRequest)/float64(own.MemoryLimit))
	}
	request := min(within(float64(next)*share), next)
	setting.MemoryLimit, setting.MemoryRequest = loadline.Some(next), loadline.Some(request)
	return next != limit || request != desired.Size.MemoryRequest
}

// horizontal adds replicas (lines 9 to 13). The minimum is the user's bound, and at least 1;
// under pressure a service that may brown out goes one step further: calls to it are dropped,
// and it has no replicas where the bound allows that.
func (s *Scaler) horizontal(service int, desired loadline.Allocation, n int, setting *loadline.Setting) bool {
	b := s.app.Services[service].Bounds
	least := max(b.MinReplicas, 1)
	next := desired.Replicas + n
	switch {
	case desired.Brownout:
		if n <= 0 {
			return false
		}
		setting.Brownout = loadline.Some(false)
		setting.Replicas = loadline.Some(max(desired.Replicas, least))
		return true
	case next < least && s.optional[service] && s.Pressed:
		setting.Brownout = loadline.Some(true)
		setting.Replicas = loadline.Some(max(b.MinReplicas, 0))
		return true
	}
	next = max(next, least)
	if b.MaxReplicas > 0 {
		next = min(next, b.MaxReplicas)
	}
	if next == desired.Replicas {
		return false
	}
	setting.Replicas = loadline.Some(next)
	return true
}

// MemoryOf is the usage of the largest replica of a service: the lower bound of its limit.
func MemoryOf(o *loadline.ServiceObservation) loadline.Sample {
	var most loadline.Sample
	for i := range o.Pods {
		if m := o.Pods[i].Memory; m.Present() && (!most.Present() || m.Value > most.Value) {
			most = m
		}
	}
	return most
}

// Pressed reports whether there is a reason for brownout: replicas without a node, or more
// requests over their SLO than allowed.
func Pressed(app *loadline.App, now *loadline.Observation) bool {
	for i := range now.Services {
		for j := range now.Services[i].Pods {
			if now.Services[i].Pods[j].Phase == loadline.PodPending {
				return true
			}
		}
	}
	missed, allowed := 0.0, 0.0
	for k := range now.Kinds {
		rate := now.Kinds[k].Rate.Or(0)
		missed += rate * now.Kinds[k].OverSLO.Or(0)
		allowed += rate * (1 - app.Kinds[k].SLO.Percentile/100)
	}
	return missed > allowed
}
