package outlook

import (
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/sim/fluid"
)

// Change is a change of one service, or none: then Planned is what it has.
type Change struct {
	Service  int
	Planned  loadline.Allocation
	Expects  loadline.LoadAhead    // by the policy itself
	RunnerUp *loadline.Alternative // of the policy; nil = one replica fewer, or the sizes that it has
}

// Service estimates one service with a change. There is no estimate without a model of the
// service, its rate of visits, and an SLO that covers it.
func (t *Twin) Service(s loadline.Situation, c Change) (loadline.ServiceOutlook, bool) {
	t.prepare()
	g, service := &t.topology.Services[c.Service], &t.App.Services[c.Service]
	load, ahead, known := loadOf(s, c)
	if !known || service.CPU.Mean <= 0 || g.CPU <= 0 || len(t.visits[c.Service].parts) == 0 {
		return loadline.ServiceOutlook{}, false
	}
	o := loadline.ServiceOutlook{Service: c.Service, Load: load, Ahead: ahead, Users: -1}
	before := s.InFlight[c.Service]
	parts := t.partsOf(s, c.Service)
	o.Planned, o.Part = t.estimate(&o, c.Planned, parts)
	o.Before, _ = t.estimate(&o, before, parts)
	o.RunnerUp, _ = t.estimate(&o, runnerUp(before, c, s.App.Services[c.Service].Bounds), parts)
	return o, true
}

// Median time, in seconds, of a visit to a service without its calls to others at a rate of visits
// per second, and the rate at which the allocation is saturated. It is not known for a service
// without a model, or with visits that differ in their work.
func (t *Twin) Median(service int, a loadline.Allocation, perSecond float64) (seconds, saturation float64, known bool) {
	t.prepare()
	g, s, visits := &t.topology.Services[service], &t.App.Services[service], &t.visits[service]
	if s.CPU.Mean <= 0 || g.CPU <= 0 || len(visits.work) != 1 || a.Replicas <= 0 || a.Replicas > mostReplicas || !finite(a.Size.CPULimit) {
		return 0, 0, false
	}
	station := t.stations.Of(service, a.Replicas, a.Size, g.CPU/(s.CPU.Mean.Seconds()*s.VersionCPU()), g.Below, visits.work)
	seconds = station.Latency(perSecond, 0, 0.5)
	return seconds, station.Saturation(), finite(seconds)
}

func (t *Twin) prepare() {
	if t.stations != nil {
		return
	}
	t.stations, t.topology = fluid.NewStations(t.App), formulation.NewTopology(t.App)
	t.visits = make([]sorts, len(t.App.Services))
	unloaded := formulation.Unloaded{App: t.App}
	for k := range t.App.Kinds {
		if slo := t.App.Kinds[k].SLO; slo.Latency > 0 {
			root := &t.App.Kinds[k].Root
			t.sort(unloaded, root, slo, slo.Latency.Seconds()/unloaded.Time(root))
		}
	}
}

// sorts are the visits to a service that differ in their work.
type sorts struct {
	work  []float64      // factor on the service's
	parts []loadline.SLO // that a visit without its calls to others has to meet, of the users' SLO
}

// sort adds the visits of a call tree. A visit has its share of the SLO, in proportion to how
// long it takes when nothing waits, less the time of its calls then.
func (t *Twin) sort(u formulation.Unloaded, c *loadline.Call, slo loadline.SLO, slack float64) {
	part := loadline.SLO{Percentile: slo.Percentile, Latency: seconds(max(slack*u.Time(c)-u.Calls(c), 0))}
	of := &t.visits[c.Service]
	at := slices.Index(of.work, c.Work)
	switch {
	case at < 0:
		of.work, of.parts = append(of.work, c.Work), append(of.parts, part)
	case part.Latency < of.parts[at].Latency:
		of.parts[at] = part
	}
	for _, stage := range c.Stages {
		for i := range stage {
			t.sort(u, &stage[i], slo, slack)
		}
	}
}

// partsOf the SLO for the visits to a service. A policy's own split makes all of them as much
// tighter or looser as it makes the tightest.
func (t *Twin) partsOf(s loadline.Situation, service int) []loadline.SLO {
	parts, tightest := t.visits[service].parts, t.topology.Services[service].Budget.Latency
	if len(s.PartialSLO) <= service || s.PartialSLO[service].Latency <= 0 || tightest <= 0 {
		return parts
	}
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].Latency = seconds(parts[i].Latency.Seconds() * float64(s.PartialSLO[service].Latency) / float64(tightest))
	}
	return parts
}

func seconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }

// loadOf is the load that a change is for: the forecast, where it is higher than what is
// observed.
func loadOf(s loadline.Situation, c Change) (load float64, ahead time.Duration, known bool) {
	rate := s.Now().Services[c.Service].Rate
	load, known = rate.Value, rate.Present() && finite(rate.Value)
	if !known {
		load = 0
	}
	higher := func(rate float64, within time.Duration) {
		if finite(rate) && rate > load {
			load, ahead, known = rate, within, true
		}
	}
	if c.Expects.Within > 0 {
		higher(c.Expects.Rate, c.Expects.Within)
		return load, ahead, known
	}
	if len(s.Forecast) > c.Service {
		f := &s.Forecast[c.Service]
		for i, m := range f.Median {
			if m.Present() {
				higher(m.Value, time.Duration(i+1)*f.Step)
			}
		}
	}
	return load, ahead, known
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// runnerUp is the policy's second choice. Without one it is one replica fewer, one more where no
// fewer are allowed, and the present size where only sizes change.
func runnerUp(before loadline.Allocation, c Change, b loadline.Bounds) loadline.Allocation {
	if c.RunnerUp != nil {
		if other := before.With(c.RunnerUp.Setting); other != c.Planned {
			return other
		}
	}
	other := c.Planned
	if c.Planned.Replicas == before.Replicas && c.Planned != before {
		return before
	}
	if other.Replicas--; other.Replicas < max(b.MinReplicas, 1) {
		other.Replicas = c.Planned.Replicas + 1
	}
	return other
}

// estimate what an allocation is good for, and which of the parts of the SLO decides that: the
// one that its visits are closest to, or furthest beyond.
func (t *Twin) estimate(o *loadline.ServiceOutlook, a loadline.Allocation, parts []loadline.SLO) (loadline.Estimate, loadline.SLO) {
	e, part := loadline.Estimate{Allocation: a}, parts[0]
	if a.Replicas <= 0 || a.Replicas > mostReplicas || !finite(a.Size.CPULimit) {
		return e, part
	}
	g, service, visits := &t.topology.Services[o.Service], &t.App.Services[o.Service], &t.visits[o.Service]
	station := t.stations.Of(o.Service, a.Replicas, a.Size, g.CPU/(service.CPU.Mean.Seconds()*service.VersionCPU()), g.Below, visits.work)
	e.Saturation = station.Saturation()
	e.Capacity = station.Capacity(parts)
	closest := -1.0
	for i, p := range parts {
		latency := station.Latency(o.Load, i, p.Percentile/100)
		if over := latency / p.Latency.Seconds(); over > closest && finite(latency) {
			closest, part, e.Latency = over, p, seconds(latency)
		}
	}
	replicas := float64(a.Replicas)
	e.Cores = max(replicas*a.Size.CPURequest, station.Cores(o.Load))
	bytes := replicas * float64(max(a.Size.MemoryRequest, service.Memory.Base))
	e.PerHour = t.Prices.Resources(3600*e.Cores, 3600*bytes)
	return e, part
}

// mostReplicas of a service that is estimated; more are a mistake.
const mostReplicas = 1e6
