package outlook

import (
	"math"
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
	if !known || service.CPU.Mean <= 0 || g.CPU <= 0 || g.Budget.Latency <= 0 {
		return loadline.ServiceOutlook{}, false
	}
	o := loadline.ServiceOutlook{Service: c.Service, Load: load, Ahead: ahead, Part: g.Budget, Users: -1}
	if len(s.PartialSLO) > c.Service && s.PartialSLO[c.Service].Latency > 0 {
		o.Part = s.PartialSLO[c.Service]
	}
	o.Part.Latency = max(o.Part.Latency-time.Duration(g.Below*float64(time.Second)), 0)
	before := s.InFlight[c.Service]
	o.Before = t.estimate(&o, before)
	o.Planned = t.estimate(&o, c.Planned)
	o.RunnerUp = t.estimate(&o, runnerUp(before, c, s.App.Services[c.Service].Bounds))
	return o, true
}

func (t *Twin) prepare() {
	if t.stations == nil {
		t.stations, t.topology = fluid.NewStations(t.App), formulation.NewTopology(t.App)
	}
}

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

// estimate what an allocation is good for.
func (t *Twin) estimate(o *loadline.ServiceOutlook, a loadline.Allocation) loadline.Estimate {
	e := loadline.Estimate{Allocation: a}
	if a.Replicas <= 0 {
		return e
	}
	g, service := &t.topology.Services[o.Service], &t.App.Services[o.Service]
	station := t.stations.Of(o.Service, a.Replicas, a.Size, g.CPU/(service.CPU.Mean.Seconds()*service.VersionCPU()), g.Below)
	p := o.Part.Percentile / 100
	e.Saturation = station.Saturation()
	e.Capacity = station.Capacity(p, o.Part.Latency.Seconds())
	if latency := station.Latency(o.Load, p); finite(latency) {
		e.Latency = time.Duration(latency * float64(time.Second))
	}
	replicas := float64(a.Replicas)
	e.Cores = max(replicas*a.Size.CPURequest, station.Cores(o.Load))
	bytes := replicas * float64(max(a.Size.MemoryRequest, service.Memory.Base))
	e.PerHour = t.Prices.Resources(3600*e.Cores, 3600*bytes)
	return e
}
