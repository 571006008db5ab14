package bench

import (
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

// NeighbourLevels are the shares of the nodes' cores that neighbours use and request in the
// scenes of a calibration: a setting that needs an empty node is not the best. Their memory is
// left out.
var NeighbourLevels = []float64{0, 0.7}

// beyondLevels are those at which what is best is confirmed as well.
var beyondLevels = []float64{0.5, 0.85}

// WithNeighbours is a cluster at each level of neighbours. One that has neighbours of its own
// is taken as it is and without them; without levels, only as it is.
func WithNeighbours(base pool.Cluster, levels []float64) []pool.Cluster {
	if len(levels) == 0 {
		return []pool.Cluster{base}
	}
	if n := base.Neighbours; n.Use > 0 || n.Request > 0 {
		alone := base
		alone.Neighbours = pool.Neighbours{}
		return []pool.Cluster{alone, base}
	}
	var all []pool.Cluster
	for _, level := range levels {
		all = append(all, atLevel(base, level))
	}
	return all
}

// beyondNeighbours is a cluster at the levels beyond those of a calibration, as far as the
// application fits the nodes then; none if it is calibrated at one level only.
func beyondNeighbours(base pool.Cluster, app *loadline.App, levels []float64) []pool.Cluster {
	if len(levels) == 0 {
		return nil
	}
	var all []pool.Cluster
	for _, level := range beyondLevels {
		if at := atLevel(base, level); math.Abs(level-base.Neighbours.Use) > 0.03 && at.CheckApp(app) == nil {
			all = append(all, at)
		}
	}
	return all
}

func atLevel(base pool.Cluster, level float64) pool.Cluster {
	base.Neighbours = pool.Neighbours{Use: level, Request: level, Shape: base.Neighbours.Shape}
	return base
}
