package fluid

import (
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid/surface"
)

// curve is the load-latency surface cut down to one replica size of one
// service: only utilisation is left to vary. Times are stored multiplied by
// the free share 1-load, which takes out the pole: what remains is nearly
// straight between grid points.
type curve struct {
	mean      [surface.LoadPoints]float64 // CPU sojourn of a visit with work 1
	active    [surface.LoadPoints]float64 // share of quota periods that are run in
	throttled [surface.LoadPoints]float64 // share of those that are cut short
	own       []ownCurve                  // by profile of the service
}

// ownCurve is the service's own part of a visit, waiting time included.
type ownCurve struct {
	parts  [surface.LoadPoints][levels]float64
	demand [levels]float64 // CPU time of a visit
}

// work describes what a service's visits need now; versions change it.
type work struct {
	cpu, cpuCV   float64 // seconds per visit with factor 1, over all versions
	wait, waitCV float64
	exponential  bool // shape of the CPU time
}

// exponentialCV is the lognormal variation whose tail is nearest to an
// exponential's, up to the p99.
const exponentialCV = 0.92

// newCurve cuts the surface for a limit in cores (quota false: the limit is a
// speed), for each factor on the work.
func newCurve(t *surface.Table, b *blender, w work, cores float64, quota bool, factors []float64) *curve {
	c := &curve{own: make([]ownCurve, len(factors))}
	cv := w.cpuCV
	if w.exponential {
		cv = exponentialCV
	}
	var cells [surface.LoadPoints]surface.Cell
	fill := func(factor float64) {
		if quota {
			t.Quota(cores, factor*w.cpu/sim.QuotaPeriod.Seconds(), cv, &cells)
		} else {
			t.Shared(cores, cv, &cells)
		}
	}
	fill(1)
	for l := range cells {
		free := 1 - surface.Load[l]
		for k, v := range cells[l].Parts {
			c.mean[l] += weight[k] * v * w.cpu * free
		}
		c.active[l], c.throttled[l] = cells[l].Active, cells[l].Throttled
	}
	for i, factor := range factors {
		fill(factor)
		wait := lognormal(factor*w.wait, w.waitCV)
		for l := range cells {
			free := 1 - surface.Load[l]
			var d dist
			for k, v := range cells[l].Parts {
				d.part[k] = v * w.cpu * factor
			}
			d.settle()
			if w.wait > 0 {
				b.sum(&d, &d, &wait)
			}
			for k, v := range d.part {
				c.own[i].parts[l][k] = v * free
			}
		}
		c.own[i].demand = lognormal(factor*w.cpu, cv).part
	}
	return c
}

// between finds a utilisation among the grid's. Below the grid nothing queues:
// sojourns stay, and their product with the free share rises on as it does in
// the first segment. Above it the product stays as it is.
func between(load float64) (low int, frac float64) {
	low = lowest[int(min(max(load, 0), 1)*lowestSteps)]
	if load > surface.Load[low+1] && low < surface.LoadPoints-2 {
		low++
	}
	return low, min((load-surface.Load[low])*perSegment[low], 1)
}

// lowest is the grid point at or below each hundredth, so that between need not
// search.
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
