package surface

import "math"

// Shared fills out with the cells of a replica whose limit is a speed, by load in the order of
// Load. Below one core a single visit runs at the limit, so the replica is one with one core in
// slower time.
func (t *Table) Shared(cores, variation float64, out *[LoadPoints]Cell) {
	stretch := 1.0
	if cores < 1 {
		stretch = 1 / cores
		cores = 1
	}
	c := place(SharedCores, cores, true)
	v := place(Variation, variation, false)
	for l := range out {
		var mix blend
		for _, ci := range c.ends() {
			for _, vi := range v.ends() {
				mix.add(&t.shared[SharedIndex(ci.at, vi.at, l)], ci.weight*vi.weight)
			}
		}
		mix.into(&out[l], stretch)
	}
}

// Quota fills out with the cells of a replica under the kernel's quota; demand
// is the mean demand over the period.
func (t *Table) Quota(cores, demand, variation float64, out *[LoadPoints]Cell) {
	c := place(QuotaCores, cores, true)
	d := place(QuotaDemand, demand, true)
	v := place(Variation, variation, false)
	for l := range out {
		var mix blend
		for _, ci := range c.ends() {
			for _, di := range d.ends() {
				for _, vi := range v.ends() {
					mix.add(&t.quota[QuotaIndex(ci.at, di.at, vi.at, l)], ci.weight*di.weight*vi.weight)
				}
			}
		}
		mix.into(&out[l], 1)
	}
}

// blend is a weighted mean of cells, geometric for sojourns.
type blend struct {
	logs      [Levels]float64
	throttled float64
}

func (b *blend) add(c *Cell, weight float64) {
	if weight == 0 {
		return
	}
	for k, l := range c.Parts {
		b.logs[k] += weight * l
	}
	b.throttled += weight * c.Throttled
}

func (b *blend) into(c *Cell, stretch float64) {
	for k, l := range b.logs {
		c.Parts[k] = stretch * math.Exp(l)
	}
	c.Throttled = b.throttled
}

// spot is a position between two grid points.
type spot struct {
	low    int
	weight float64 // of the upper one
}

type end struct {
	at     int
	weight float64
}

func (s spot) ends() [2]end {
	if s.weight == 0 {
		return [2]end{{s.low, 1}, {s.low, 0}}
	}
	return [2]end{{s.low, 1 - s.weight}, {s.low + 1, s.weight}}
}

// place locates a value in a grid. Outside of it the nearest edge is used.
func place(grid []float64, v float64, ratio bool) spot {
	last := len(grid) - 1
	switch {
	case !(v > grid[0]):
		return spot{}
	case v >= grid[last]:
		return spot{low: last}
	}
	i := 0
	for grid[i+1] < v {
		i++
	}
	if ratio {
		return spot{i, math.Log(v/grid[i]) / math.Log(grid[i+1]/grid[i])}
	}
	return spot{i, (v - grid[i]) / (grid[i+1] - grid[i])}
}
