package decisionlog

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Seen reports whether the record has an observation: a pass that could not observe has none.
func (r *Record) Seen() bool { return len(r.Services) > 0 }

// Observation is the recorded one, in the order of an application's services, kinds and nodes.
// What the record lacks is absent.
func (r *Record) Observation(app *loadline.App) loadline.Observation {
	o := loadline.Observation{
		At: r.At, Services: make([]loadline.ServiceObservation, len(app.Services)),
		Kinds: make([]loadline.KindObservation, len(app.Kinds)),
	}
	for i := range r.Services {
		if at := app.ServiceIndex(r.Services[i].Name); at >= 0 {
			o.Services[at] = r.Services[i].observation(r.At)
		}
	}
	for i := range r.Kinds {
		k := &r.Kinds[i]
		if at := app.KindIndex(k.Name); at >= 0 {
			restore(loadline.KindTable, k.Samples, r.At, &o.Kinds[at])
		}
	}
	for _, n := range r.Nodes {
		node := loadline.NodeObservation{Lost: n.Lost}
		restore(loadline.NodeTable, n.Samples, r.At, &node)
		o.Nodes = append(o.Nodes, node)
	}
	return o
}

// Situation is the policy's situation. The window is the observations up to this record's,
// which the caller has collected.
func (r *Record) Situation(app *loadline.App, window []loadline.Observation) loadline.Situation {
	s := loadline.Situation{
		App: app, Window: window,
		Allocation: make([]loadline.Allocation, len(app.Services)), InFlight: make([]loadline.Allocation, len(app.Services)),
	}
	for _, e := range r.Events {
		s.Announced = append(s.Announced, loadline.Event{Name: e.Name, Start: e.Start, End: e.End, Factor: float64(e.Factor)})
	}
	if c := r.Constraints; c != nil && (len(c.Services) == 0 || len(c.Services) == len(app.Services)) {
		s.Constraints = *c
	}
	for i := range app.Services {
		of := r.Service(app.Services[i].Name)
		if of == nil {
			s.Allocation[i] = loadline.Allocation{Replicas: app.Services[i].Replicas, Size: app.Services[i].Size}
			s.InFlight[i] = s.Allocation[i]
			continue
		}
		s.Allocation[i] = of.Desired.Allocation()
		s.InFlight[i] = of.Before()
		if of.Forecast != nil {
			if s.Forecast == nil {
				s.Forecast = make([]loadline.Forecast, len(app.Services))
			}
			s.Forecast[i] = of.Forecast.from(r.At)
		}
		if of.PartialSLO != nil {
			if s.PartialSLO == nil {
				s.PartialSLO = make([]loadline.SLO, len(app.Services))
			}
			s.PartialSLO[i] = loadline.SLO{Percentile: float64(of.PartialSLO.Percentile), Latency: time.Duration(of.PartialSLO.Latency)}
		}
	}
	return s
}

// Before is the service's allocation without this decision.
func (s *Service) Before() loadline.Allocation {
	if s.Expecting != nil {
		return s.Expecting.Allocation()
	}
	return s.Desired.Allocation()
}

func (s *Service) observation(at time.Time) loadline.ServiceObservation {
	n := &s.Seen
	o := loadline.ServiceObservation{Brownout: n.Brownout}
	restore(loadline.ServiceTable, n.Samples, at, &o)
	for i := range n.Pods {
		p := &n.Pods[i]
		size := s.Desired.Size
		if p.Size != nil {
			size = *p.Size
		}
		pod := loadline.PodObservation{
			ID: p.ID, Node: p.Node, Phase: phaseOf(p.Phase), Created: before(at, p.Created), Ready: before(at, p.Ready),
			Size: size.size(),
		}
		restore(loadline.PodTable, p.Samples, at, &pod)
		o.Pods = append(o.Pods, pod)
	}
	return o
}

// phaseOf a name. An unknown phase does not serve.
func phaseOf(name string) loadline.PodPhase {
	for _, p := range []loadline.PodPhase{loadline.PodStarting, loadline.PodReady, loadline.PodDraining} {
		if p.String() == name {
			return p
		}
	}
	return loadline.PodPending
}

func (s Sample) at(at time.Time) loadline.Sample {
	if !s.Present {
		return loadline.Sample{}
	}
	return loadline.Sample{Value: s.Value, At: at.Add(-s.Age)}
}

func before(at time.Time, ago *Seconds) time.Time {
	if ago == nil {
		return time.Time{}
	}
	return at.Add(-time.Duration(*ago))
}

// Allocation converts to loadline.Allocation.
func (t Allocation) Allocation() loadline.Allocation {
	return loadline.Allocation{Replicas: t.Replicas, Size: t.Size.size(), Brownout: t.Brownout}
}

func (s Size) size() loadline.Size {
	return loadline.Size{
		CPURequest: float64(s.CPURequest), CPULimit: float64(s.CPULimit), MemoryRequest: s.MemoryRequest, MemoryLimit: s.MemoryLimit,
	}
}

// Setting converts to loadline.Setting.
func (s Setting) Setting() loadline.Setting {
	number := func(n *Number) loadline.Opt[float64] {
		if n == nil {
			return loadline.Opt[float64]{}
		}
		return loadline.Some(float64(*n))
	}
	return loadline.Setting{
		Replicas: opt(s.Replicas), CPURequest: number(s.CPURequest), CPULimit: number(s.CPULimit),
		MemoryRequest: opt(s.MemoryRequest), MemoryLimit: opt(s.MemoryLimit), Brownout: opt(s.Brownout),
	}
}

func opt[T any](v *T) loadline.Opt[T] {
	if v == nil {
		return loadline.Opt[T]{}
	}
	return loadline.Some(*v)
}

func (f *Forecast) from(at time.Time) loadline.Forecast {
	samples := func(values []Number) []loadline.Sample {
		var all []loadline.Sample
		for i, v := range values {
			s := loadline.Sample{}
			if !math.IsNaN(float64(v)) {
				s = loadline.Sample{Value: float64(v), At: at.Add(time.Duration(i+1) * time.Duration(f.Step))}
			}
			all = append(all, s)
		}
		return all
	}
	return loadline.Forecast{Step: time.Duration(f.Step), Median: samples(f.Median), High: samples(f.High)}
}

// Needs converts to loadline.Needs.
func (n Needs) Needs() loadline.Needs {
	return loadline.Needs{
		Period: time.Duration(n.Period), Delay: time.Duration(n.Delay), Scrape: time.Duration(n.Scrape),
		Window: time.Duration(n.Window), Lag: time.Duration(n.Lag), Keep: n.Keep,
	}
}

func needsOf(n loadline.Needs) Needs {
	return Needs{Seconds(n.Period), Seconds(n.Delay), Seconds(n.Scrape), Seconds(n.Window), Seconds(n.Lag), n.Keep}
}
