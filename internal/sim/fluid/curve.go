package fluid

import (
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid/surface"
)

// curve is the load-latency surface reduced to one replica size of one service: only
// utilisation varies. Times are stored multiplied by the free share 1-load, which removes the
// pole: the rest is nearly linear between grid points.
type curve struct {
	mean      [surface.LoadPoints]float64 // CPU sojourn of a visit with work 1
	throttled [surface.LoadPoints]float64 // share of the quota periods run in that are throttled
	own       []ownCurve                  // by profile of the service
}

// ownCurve is the service's own part of a visit, waiting time included.
type ownCurve struct {
	parts  [surface.LoadPoints][levels]float64
	demand [levels]float64 // CPU time of a visit
}

// work describes the current demand of a service's visits; versions change it.
type work struct {
	cpu, cpuCV   float64 // seconds per visit with factor 1, over all versions
	wait, waitCV float64
	exponential  bool // shape of the CPU time
}

// exponentialCV is the lognormal variation whose tail is closest to an exponential's, up to the
// p99.
const exponentialCV = 0.92

// newCurve reduces the surface to a limit in cores (quota false: the limit is a speed), for
// each factor on the work.
func newCurve(t *surface.Table, b *blender, w work, together clump, cores float64, quota bool, factors []float64) *curve {
	c := &curve{own: make([]ownCurve, len(factors))}
	if w.exponential {
		w.cpuCV = exponentialCV
	}
	k := cutting{table: t, blend: b, work: w, clump: together, cores: cores, quota: quota}
	k.measure(1)
	for l := range k.cells {
		c.mean[l] = k.visit(l, 1).mean * (1 - surface.Load[l])
		c.throttled[l] = k.cells[l].Throttled
	}
	for i, factor := range factors {
		k.measure(factor)
		wait := lognormal(factor*w.wait, w.waitCV)
		for l := range k.cells {
			d := k.visit(l, factor)
			if w.wait > 0 {
				b.sum(&d, &d, &wait)
			}
			for p, v := range d.part {
				c.own[i].parts[l][p] = v * (1 - surface.Load[l])
			}
		}
		c.own[i].demand = lognormal(factor*w.cpu, w.cpuCV).part
	}
	return c
}

// cutting is the state of building one curve.
type cutting struct {
	table *surface.Table
	blend *blender
	work  work
	clump clump
	cores float64
	quota bool
	cells [surface.LoadPoints]surface.Cell
}

// measure looks up the cells for visits with a factor on their work.
func (k *cutting) measure(factor float64) {
	period := sim.QuotaPeriod.Seconds()
	switch {
	case !k.quota:
		k.table.Shared(k.cores, k.work.cpuCV, &k.cells)
	case k.clump.size > 1:
		k.table.Quota(k.cores, k.clump.size*k.work.cpu/period, k.clump.cv, &k.cells)
	default:
		k.table.Quota(k.cores, factor*k.work.cpu/period, k.work.cpuCV, &k.cells)
	}
}

// visit is the CPU sojourn of one visit at a grid point. The delay of a clump, from other
// visits and from the quota, is distributed over as many of its visits as it has throttled
// periods: hardly any stop lasts longer than a period without its quota.
func (k *cutting) visit(l int, factor float64) (d dist) {
	scale := factor * k.work.cpu
	if !k.quota || k.clump.size <= 1 {
		for p, v := range k.cells[l].Parts {
			d.part[p] = v * scale
		}
		d.settle()
		return d
	}
	whole := k.clump.size * k.work.cpu
	needed := lognormal(whole, k.clump.cv)
	stop := sim.QuotaPeriod.Seconds() * max(1-k.cores, 0.5)
	none := 0.0
	for p, v := range k.cells[l].Parts {
		lost := max(v*whole-needed.part[p], 0)
		stops := max(min(lost/stop, k.clump.size), 1)
		share := min(factor*stops/k.clump.size, 1)
		k.blend.addValue(lost/stops, weight[p]*share)
		none += weight[p] * (1 - share)
	}
	k.blend.addValue(0, none)
	var lost dist
	k.blend.cut(&lost, 1)
	d = lognormal(scale, k.work.cpuCV)
	k.blend.sum(&d, &d, &lost)
	return d
}

// between locates a utilisation in the grid. Below the grid there is no queueing: sojourns are
// constant, and their product with the free share is extrapolated from the first segment. Above
// it the product is constant.
func between(load float64) (low int, frac float64) {
	low = lowest[int(min(max(load, 0), 1)*lowestSteps)]
	if load > surface.Load[low+1] && low < surface.LoadPoints-2 {
		low++
	}
	return low, min((load-surface.Load[low])*perSegment[low], 1)
}

// lowest is the grid point at or below each hundredth, so that between need not search.
const lowestSteps = 100

var lowest, perSegment = indexLoads()

func indexLoads() (low [lowestSteps + 1]int, per [surface.LoadPoints - 1]float64) {
	for i := range low {
		for low[i] < surface.LoadPoints-2 && surface.Load[low[i]+1] <= float64(i)/lowestSteps {
			low[i]++
		}
	}
	for l := range per {
		per[l] = 1 / (surface.Load[l+1] - surface.Load[l])
	}
	return low, per
}

func (c *curve) meanAt(low int, frac float64) float64 {
	return c.mean[low] + frac*(c.mean[low+1]-c.mean[low])
}

// partAt is one part of what ownAt fills out.
func (o *ownCurve) partAt(load float64, k int) float64 {
	low, frac := between(load)
	a, b := o.parts[low][k], o.parts[low+1][k]
	return (a + frac*(b-a)) / (1 - load)
}

// ownAt fills out with the own part of visits at a utilisation.
func (o *ownCurve) ownAt(load float64, out *dist) {
	low, frac := between(load)
	a, b := &o.parts[low], &o.parts[low+1]
	free := 1 / (1 - load)
	m, s := 0.0, 0.0
	for k := range out.part {
		v := (a[k] + frac*(b[k]-a[k])) * free
		out.part[k] = v
		m += weight[k] * v
		s += weight[k] * v * v
	}
	out.mean, out.vari = m, max(s-m*m, 0)
}
