// Package surface is the load-latency surface of one replica: the distribution of a visit's CPU
// sojourn by utilisation, size and variation of demand. Processor sharing has a closed form for
// the mean only, and the kernel's quota none at all, so the surface is measured once, by the
// simulation of single stations (generate_test.go), and embedded as a table.
//
// Everything is dimensionless: sojourns are in units of the mean demand, load is the share of
// the limit, and demand is a share of the quota period.
package surface

//go:generate go test -run TestGenerate -timeout 0 -update .

// Levels is the number of parts that a distribution is cut into. A part holds
// the mean over its range of probabilities, so that means are exact and the
// tail, where service levels are stated, is finer than the body.
const Levels = 15

// LoadPoints is the number of utilisations in the grid.
const LoadPoints = 10

const channelCount = Levels + 1 // the parts and the share of throttled periods

// Edges are the probabilities between the parts.
var Edges = [Levels + 1]float64{0, .1, .25, .4, .55, .7, .82, .9, .94, .965, .98, .99, .995, .9985, .9998, 1}

// The grid. Utilisation is finest near saturation; the other axes are spaced geometrically.
var (
	Load        = [LoadPoints]float64{.03, .15, .3, .45, .6, .7, .8, .87, .92, .96}
	Variation   = []float64{0, .5, 1, 2, 3.5}
	SharedCores = []float64{1, 1.5, 2, 3, 4, 6, 8, 16} // below one core a replica is a slower one with one core
	QuotaCores  = []float64{.1, .2, .35, .5, .75, 1, 1.5, 2, 3, 4, 8}
	QuotaDemand = []float64{.001, .003, .01, .02, .05, .1, .2, .5, 1, 3} // mean demand over the period
)

// Cell is one measured point: the parts of the sojourn over the mean demand, and, under a
// quota, the share of the periods run in that were throttled.
type Cell struct {
	Parts     [Levels]float64
	Throttled float64
}

// SharedIndex is the index of a cell of the shared model.
func SharedIndex(cores, variation, load int) int {
	return (cores*len(Variation)+variation)*len(Load) + load
}

// QuotaIndex is the index of a cell of the quota model.
func QuotaIndex(cores, demand, variation, load int) int {
	return ((cores*len(QuotaDemand)+demand)*len(Variation)+variation)*len(Load) + load
}

// SharedCells and QuotaCells count the cells of each model.
func SharedCells() int { return len(SharedCores) * len(Variation) * len(Load) }
func QuotaCells() int {
	return len(QuotaCores) * len(QuotaDemand) * len(Variation) * len(Load)
}
