package reserve

import (
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

// Pods are pods of one size that take up a reserve.
type Pods struct {
	Size  loadline.Room // of each
	Count int
}

// Room of all of them.
func (p Pods) Room() loadline.Room { return p.RoomOf(p.Count) }

// RoomOf is the room of some of them.
func (p Pods) RoomOf(count int) loadline.Room {
	return loadline.Room{Cores: p.Size.Cores * float64(count), Memory: p.Size.Memory * int64(count)}
}

// InPods expresses a reserve in pods of the size of the largest that may come, no
// larger than the maximum. The number is rounded up, since room for half a pod is of no
// use, and does not exceed the maximum.
func InPods(room, largest, most loadline.Room) Pods {
	room = loadline.Room{Cores: min(room.Cores, most.Cores), Memory: min(room.Memory, most.Memory)}
	if room.Cores <= 0 && room.Memory <= 0 {
		return Pods{}
	}
	if largest.Cores <= 0 { // pods without requests: one pod of the size of the reserve
		largest.Cores = room.Cores
	}
	if largest.Memory <= 0 {
		largest.Memory = room.Memory
	}
	size := loadline.Room{Cores: ceilMilli(min(largest.Cores, most.Cores)), Memory: min(largest.Memory, most.Memory)}
	needed := max(times(room.Cores, size.Cores, math.Ceil), times(float64(room.Memory), float64(size.Memory), math.Ceil))
	fits := math.Inf(1)
	if size.Cores > 0 {
		fits = times(most.Cores, size.Cores, math.Floor)
	}
	if size.Memory > 0 {
		fits = min(fits, times(float64(most.Memory), float64(size.Memory), math.Floor))
	}
	return Pods{Size: size, Count: int(min(needed, fits))}
}

// ceilMilli rounds cores up to whole milli-cores, as Kubernetes counts.
func ceilMilli(cores float64) float64 { return math.Ceil(cores*1000-1e-6) / 1000 }

// times is how often a size fits into a room, rounded. A size of 0 does not count.
func times(room, size float64, round func(float64) float64) float64 {
	if size <= 0 {
		return 0
	}
	const tolerance = 1e-9 // of what is a whole number but for its last digits
	ratio := room / size
	if nearest := math.Round(ratio); math.Abs(ratio-nearest) < tolerance {
		return nearest
	}
	return round(ratio)
}

// Cost per hour of a room on nodes of some type: the larger of its shares of a node's
// cores and memory, at the node's price; without a type, cores and memory at theirs.
func Cost(room loadline.Room, prices pool.Prices, node pool.Type) float64 {
	if node.Cores > 0 && node.Memory > 0 {
		return max(room.Cores/node.Cores, float64(room.Memory)/float64(node.Memory)) * prices.Of(node)
	}
	return prices.Resources(room.Cores*3600, float64(room.Memory)*3600)
}
