package fluid

import (
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid/surface"
)

// Stations are the services of an application, each in its steady state and without an engine:
// a latency costs microseconds where a run of the engine costs milliseconds. Limits are
// enforced by the kernel's quota, and kinds of requests have their shares of the application.
// They are for one goroutine.
type Stations struct {
	app      *loadline.App
	services []service
	sums     []clumpSum
	free     float64 // cores of a replica without a limit
	blend    *blender
}

// NewStations of an application.
func NewStations(app *loadline.App) *Stations {
	s := &Stations{app: app, sums: make([]clumpSum, len(app.Services)), blend: newBlender()}
	for i := range app.Services {
		s.services = append(s.services, newService(&app.Services[i], i))
	}
	for i := range app.Nodes {
		s.free = max(s.free, app.Nodes[i].Cores)
	}
	if s.free == 0 {
		s.free = 64
	}
	for k := range app.Kinds {
		mine := make([]visitCount, len(app.Services))
		seconds := s.count(&app.Kinds[k].Root, -1, 1, mine)
		for i := range mine {
			s.sums[i].add(&mine[i], max(app.Kinds[k].Share, 1e-9), min(1, sim.QuotaPeriod.Seconds()/max(seconds, 1e-9)))
		}
	}
	return s
}

// count is countBelow over a call as the application has it.
func (s *Stations) count(c *loadline.Call, caller int, visits float64, into []visitCount) (seconds float64) {
	times := float64(max(c.Times, 1))
	visits *= c.Probability * times
	if caller >= 0 {
		visits *= s.app.Services[caller].VersionShare(c.Versions)
	}
	v := &into[c.Service]
	v.visits += visits
	v.reach = max(v.reach, visits/times)
	if visits > 0 {
		v.row = max(v.row, times)
	}
	w := &s.services[c.Service].work
	seconds = visits * c.Work * (w.cpu + w.wait)
	for _, stage := range c.Stages {
		for i := range stage {
			seconds += s.count(&stage[i], c.Service, visits, into)
		}
	}
	return seconds
}

// Station is one service with replicas of one size: the latency of a visit, without its calls
// to others, by its load.
type Station struct {
	replicas int
	cohort   cohort
	demand   demand
	idle     float64
	least    bool // requests go to the better of two replicas
	blend    *blender
}

// Of makes the station of a service. work is the mean factor on the CPU and waiting time of its
// visits, of which there are several sorts, each with a factor of its own; hold is the seconds
// that a worker stays occupied by calls to others.
func (s *Stations) Of(service, replicas int, size loadline.Size, work, hold float64, factors []float64) *Station {
	of := &s.services[service]
	limit, quota := size.CPULimit, true
	if limit <= 0 {
		limit, quota = s.free, false
	}
	limit = max(limit-of.idle, 0.001)
	together := alone
	if quota {
		together = s.sums[service].clump(of.work.cpuCV, replicas)
	}
	return &Station{
		replicas: replicas, idle: of.idle, least: s.app.Routing == loadline.RouteLeastRequest, blend: s.blend,
		cohort: cohort{
			limit: limit, ownLimit: limit, quota: quota,
			curve: newCurve(surface.Embedded(), s.blend, of.work, together, limit, quota, factors),
		},
		demand: demand{
			cpu: max(of.work.cpu*work, 1e-9), factor: work, hold: hold + work*of.work.wait, cv: of.work.cpuCV,
			workers: of.workers, depth: of.depth, places: of.places, most: math.Inf(1),
		},
	}
}

// Saturation is the visits per second at which the CPU or the workers of all replicas are in
// use.
func (s *Station) Saturation() float64 { return float64(s.replicas) * s.top() }

// top is that of one replica.
func (s *Station) top() float64 {
	floor := s.demand.cpu / min(1, s.cohort.limit)
	return min(s.cohort.limit/s.demand.cpu, s.demand.workers/(floor+s.demand.hold))
}

// Latency is the time, in seconds, within which the share p of one sort of visits stays at a rate
// of visits per second, all sorts together; infinite where there is no steady state.
func (s *Station) Latency(perSecond float64, sort int, p float64) float64 {
	if !s.load(perSecond) {
		return math.Inf(1)
	}
	return s.quantile(sort, p)
}

// load sets the rate of visits, and reports whether it has a steady state.
func (s *Station) load(perSecond float64) bool {
	top := s.top()
	load := perSecond / float64(s.replicas) / top
	if !(load < steadyLoad) {
		return false
	}
	c, d := &s.cohort, &s.demand
	d.rate, d.replicas = load*top, 0
	if s.least {
		d.replicas = float64(s.replicas)
	}
	c.meanScaled(d, load, top*d.cpu/c.limit, top)
	c.load = c.inner
	return true
}

func (s *Station) quantile(sort int, p float64) float64 {
	var out dist
	s.cohort.latency(s.blend, sort, &out)
	return out.quantile(p)
}

// Capacity is the highest rate of visits per second at which each sort of visits meets its SLO; 0
// if one does not even without any load.
func (s *Station) Capacity(slos []loadline.SLO) float64 {
	all := s.Saturation()
	met := func(load float64) bool {
		if !s.load(load * all) {
			return false
		}
		for sort, slo := range slos {
			if s.quantile(sort, slo.Percentile/100) > slo.Latency.Seconds() {
				return false
			}
		}
		return true
	}
	if s.replicas <= 0 || !met(0.001) {
		return 0
	}
	low, high := 0.001, steadyLoad
	for high-low > 1e-3 {
		if mid := (low + high) / 2; met(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low * all
}

// Cores that are used at a rate of visits per second.
func (s *Station) Cores(perSecond float64) float64 {
	return min(perSecond, s.Saturation())*s.demand.cpu + float64(s.replicas)*s.idle
}
