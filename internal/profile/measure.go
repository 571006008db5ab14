package profile

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
	"github.com/loadline/loadline/internal/suggest"
)

// Options are the options of a measurement. The zero value is a usable default,
// except for Percentile.
type Options struct {
	Percentile float64
	Version    string         // measure this version alone; empty = the mix that is deployed
	Size       *loadline.Size // of an instance; nil = as deployed
	CPU        sim.CPUModel
	Seeds      int       // runs at each load; 0 = 4
	Visits     float64   // in each run; 0 = so many that a hundred lie beyond the percentile, at least 2000
	Loads      []float64 // in parts of what an instance can do at most, rising; nil = DefaultLoads
}

// DefaultLoads are denser where the curve bends.
var DefaultLoads = []float64{0.05, 0.15, 0.3, 0.45, 0.55, 0.65, 0.72, 0.79, 0.85, 0.9, 0.95, 1}

// WithDefaults sets defaults for zero fields.
func (o Options) WithDefaults() Options {
	if o.Seeds == 0 {
		o.Seeds = 4
	}
	if o.Visits == 0 {
		o.Visits = max(2000, 100/(1-o.Percentile/100))
	}
	if o.Loads == nil {
		o.Loads = DefaultLoads
	}
	return o
}

// Validate returns all errors.
func (o Options) Validate() error {
	switch {
	case !(o.Percentile > 0 && o.Percentile <= 99.9):
		return fmt.Errorf("percentile %v must be above 0 and at most 99.9: beyond that there are too few visits", o.Percentile)
	case o.Seeds < 0 || !(o.Visits >= 0):
		return fmt.Errorf("%d seeds of %v visits: neither may be below 0", o.Seeds, o.Visits)
	case !slices.IsSorted(o.Loads) || len(o.Loads) > 0 && !(o.Loads[0] > 0):
		return fmt.Errorf("loads %v must be above 0 and rise", o.Loads)
	}
	return nil
}

// Measure loads one instance of a service in the event engine, from nearly no
// load to saturation. With random routing each of many instances gets such a
// load; least-request routing does better.
//
// Time spent in calls is not counted, but occupies workers: calls are replaced by
// one that takes as long as the real ones without queueing.
func Measure(ctx context.Context, app *loadline.App, service int, o Options) (*Profile, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.WithDefaults()
	app, err := changed(app, service, o)
	if err != nil {
		return nil, err
	}
	alone, most, err := isolate(app, service)
	if err != nil {
		return nil, err
	}
	s := &alone.Services[0]
	p := &Profile{Service: s.Name, Version: o.Version, Size: Size(s.Size), Percentile: o.Percentile}
	for _, part := range o.Loads {
		if part >= 1 {
			// The queue grows during the whole measurement.
			p.Points = append(p.Points, Point{Load: part * most, Saturated: true})
			break
		}
		pt, err := measurePoint(ctx, alone, part*most, o)
		if err != nil {
			return nil, err
		}
		p.Points = append(p.Points, pt)
		if pt.Saturated {
			break
		}
	}
	return p, nil
}

// changed is the app with another version or size of a service.
func changed(app *loadline.App, service int, o Options) (*loadline.App, error) {
	c := *app
	c.Services = slices.Clone(app.Services)
	s := &c.Services[service]
	if o.Size != nil {
		s.Size = *o.Size
	}
	if o.Version == "" {
		return &c, nil
	}
	s.Versions = slices.Clone(s.Versions)
	var names []string
	found := false
	for i := range s.Versions {
		v := &s.Versions[i]
		names = append(names, v.Name)
		v.Weight = 0
		if v.Name == o.Version {
			v.Weight, found = 1, true
		}
	}
	if !found {
		return nil, fmt.Errorf("%s has no version %q%s", s.Name, o.Version, suggest.Hint(o.Version, names))
	}
	return &c, nil
}

// isolate extracts one instance of a service from its application, and returns
// its maximum visits per second.
func isolate(app *loadline.App, service int) (alone *loadline.App, most float64, err error) {
	topology := formulation.NewTopology(app)
	g, s := &topology.Services[service], app.Services[service]
	visited := 0.0
	for _, n := range g.Visits {
		visited += n
	}
	if visited == 0 {
		return nil, 0, fmt.Errorf("%w of %s, and none can be measured: no request visits it", ErrAbsent, s.Name)
	}
	work := 1.0
	if mean := s.CPU.Mean.Seconds() * s.VersionCPU(); mean > 0 {
		work = g.CPU / mean
	}
	s.Replicas, s.Bounds.MinReplicas, s.Bounds.MaxReplicas = 1, 1, 1
	// A service without a limit has the largest node to itself.
	node := loadline.Node{Name: "node"}
	for _, n := range app.Nodes {
		node.Cores, node.Memory = max(node.Cores, n.Cores), max(node.Memory, n.Memory)
	}
	node.Cores = max(node.Cores, s.Size.CPURequest, s.Size.CPULimit) + 1
	node.Memory = 2*max(node.Memory, s.Size.MemoryRequest, s.Size.MemoryLimit) + 2<<30
	root := loadline.Call{Probability: 1, Times: 1, Work: work}
	alone = &loadline.App{Name: s.Name, Services: []loadline.Service{s}, Nodes: []loadline.Node{node}}
	if g.Below > 0 {
		alone.Services = append(alone.Services, loadline.Service{
			Name: "below", Workers: 1 << 20, Backlog: 1 << 20, Replicas: 1,
			Wait:   loadline.Dist{Mean: time.Duration(g.Below * float64(time.Second)), CV: 0.5},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 1},
		})
		root.Stages = [][]loadline.Call{{{Service: 1, Probability: 1, Times: 1, Work: 1}}}
	}
	alone.Kinds = []loadline.Kind{{Name: "visit", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: time.Second}, Root: root}}
	most = capacity(&s, g, node.Cores-1)
	if !(most > 0) || math.IsInf(most, 0) {
		return nil, 0, fmt.Errorf("%s cannot be profiled: its visits take neither CPU nor time, or its instances have no CPU left "+
			"beside their idle load of %v cores", s.Name, s.IdleCPU)
	}
	return alone, most, nil
}

// capacity is the capacity of an instance in visits per second: that of its CPU,
// and that of its workers without queueing.
func capacity(s *loadline.Service, g *formulation.ServiceTopology, nodeCores float64) float64 {
	cores := nodeCores
	if s.Size.CPULimit > 0 {
		cores = s.Size.CPULimit
	}
	most := math.Inf(1)
	if g.CPU > 0 {
		most = (cores - s.IdleCPU) / g.CPU
	}
	held := g.CPU + s.Wait.Mean.Seconds()*s.VersionWait() + g.Below
	if held > 0 {
		most = min(most, float64(s.Workers)/held)
	}
	return most
}

// Each run starts with a warm-up that is not counted, in which the queue fills.
const (
	warmUpShare = 0.25
	leastWarmUp = 5 * time.Second
	leastLength = 20 * time.Second
)

// constant load of one kind of request.
type constant float64

func (c constant) Rate(int, time.Duration) (float64, time.Duration) { return float64(c), sim.Never }

func measurePoint(ctx context.Context, alone *loadline.App, load float64, o Options) (Point, error) {
	pt := Point{Load: load}
	length := max(time.Duration(o.Visits/load*float64(time.Second)), leastLength)
	warmUp := max(time.Duration(warmUpShare*float64(length)), leastWarmUp)
	var latencies []float64
	for seed := range o.Seeds {
		if err := ctx.Err(); err != nil {
			return pt, err
		}
		e := event.New(sim.Config{App: alone, Load: constant(load), Seed: uint64(seed) + 1, CPU: o.CPU})
		e.AdvanceTo(warmUp)
		m := &e.Meter().Services[0]
		before := sim.NewHistogram(sim.ExporterBits)
		before.CopyFrom(m.Own)
		arrived, ended, failed := m.Arrived, m.Ended, m.Failed
		e.AdvanceTo(warmUp + length)
		since := sim.NewHistogram(sim.ExporterBits)
		since.CopyFrom(m.Own)
		since.Sub(before)
		arrived, ended, failed = m.Arrived-arrived, m.Ended-ended, m.Failed-failed
		forgiven := (1 - o.Percentile/100) * arrived
		latency := since.Quantile(o.Percentile / 100)
		// Rejected visits are fast, and no sign of health; unfinished ones are a queue
		// that grows during the whole measurement.
		if failed > forgiven || arrived-ended > max(behindShare*arrived, behindLeast+4*math.Sqrt(arrived)) || math.IsNaN(latency) {
			pt.Saturated = true
			return pt, nil
		}
		latencies = append(latencies, latency/1e9)
	}
	pt.Latency, pt.Error = meanAndError(latencies)
	return pt, nil
}

const (
	behindShare = 0.02
	behindLeast = 20
)

// meanAndError is the mean and its standard error.
func meanAndError(values []float64) (mean, standardError float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	if n < 2 {
		return mean, 0
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(squares / (n - 1) / n)
}
