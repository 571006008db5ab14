package formulation

import (
	"fmt"
	"math"

	"github.com/loadline/loadline"
)

// Move is one thing that an agent can do to a service.
type Move struct {
	Name string
	to   func(v *view) loadline.Setting
}

// keep is the name of the move that changes nothing.
const keep = "keep"

// addReplicas moves by so many replicas, never out of the bounds.
func addReplicas(n int) Move {
	name := fmt.Sprintf("%+d", n)
	if n == 0 {
		name = keep
	}
	return Move{name, func(v *view) loadline.Setting {
		return loadline.Setting{Replicas: loadline.Some(v.boundReplicas(v.desired.Replicas + n))}
	}}
}

// scaleCPU makes a replica larger or smaller by a factor: what it asks for and
// what it is held to alike, since a request that stays behind would be paid for,
// or taken from the neighbours.
func scaleCPU(factor float64) Move {
	name := fmt.Sprintf("cpu x%g", factor)
	if factor == 1 {
		name = keep
	}
	return Move{name, func(v *view) loadline.Setting {
		cpu := v.boundCPU(math.Round(v.capacity()*factor*1000) / 1000)
		return loadline.Setting{CPURequest: loadline.Some(cpu), CPULimit: loadline.Some(cpu)}
	}}
}

// fillTo asks for so many replicas that the visits of the last window would use
// the given share of them, by the model. What a replica asks for then follows what
// it uses.
func fillTo(share float64) Move {
	return Move{fmt.Sprintf("fill to %g %%", 100*share), func(v *view) loadline.Setting {
		replicas := int(math.Ceil(v.needed(v.observed.Rate.Or(0))/share - 1e-9))
		return v.withRequest(v.boundReplicas(max(replicas, 1)))
	}}
}

// leave keeps the replicas.
func leave() Move {
	return Move{keep, func(v *view) loadline.Setting { return v.withRequest(v.desired.Replicas) }}
}

// How a request follows what is used: a little below it, since what is used is
// paid for anyway, and not for every little change.
const (
	requestShare = 0.85 // of what is used
	requestStill = 0.15 // of the request
)

// withRequest sets replicas and, where requests follow, what each asks for: what
// the visits need of it by the model, or what it was measured to use if that is
// more, since the model may be of an older release.
func (v *view) withRequest(replicas int) loadline.Setting {
	setting := loadline.Setting{Replicas: loadline.Some(replicas)}
	if !v.follow || replicas == 0 {
		return setting
	}
	use := v.observed.Rate.Or(0)*v.topology.CPU/float64(replicas) + v.service.IdleCPU
	if serving := v.serving(); serving > 0 {
		use = max(use, v.observed.CPU.Or(0)/max(serving, float64(replicas)))
	}
	request := v.boundCPU(math.Ceil(requestShare*use*100) / 100)
	if limit := v.desired.Size.CPULimit; limit > 0 {
		request = min(request, limit)
	}
	if now := v.desired.Size.CPURequest; abs(request-now) > requestStill*now {
		setting.CPURequest = loadline.Some(request)
	}
	return setting
}

func (v *view) boundReplicas(n int) int {
	b := v.service.Bounds
	return min(max(n, b.MinReplicas), b.MaxReplicas)
}

func (v *view) boundCPU(cores float64) float64 {
	b := v.service.Bounds
	return min(max(cores, b.MinCPU), b.MaxCPU)
}

var (
	stepMoves     = []Move{addReplicas(-1), addReplicas(0), addReplicas(1)}
	verticalMoves = []Move{scaleCPU(0.8), scaleCPU(1), scaleCPU(1.25)}
	fillMoves     = []Move{leave(), fillTo(0.3), fillTo(0.4), fillTo(0.5), fillTo(0.6), fillTo(0.7), fillTo(0.8), fillTo(0.9)}
)
