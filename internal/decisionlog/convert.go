package decisionlog

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Of makes the record of a decision and what it rests on. Nothing in it is
// shared with either. What became of the plan is added by Finish.
func Of(d *loadline.Decision, s loadline.Situation) *Record {
	r := &Record{At: d.At, Policy: d.Policy}
	if len(s.Window) > 0 {
		r.see(s)
	}
	r.want(d)
	r.Finish(d)
	return r
}

// Finish adds what became of the decision.
func (r *Record) Finish(d *loadline.Decision) {
	r.Applied = d.Applied
	r.Error = ""
	if d.Err != nil {
		r.Error = d.Err.Error()
	}
}

// see copies what was seen. An observation may speak of fewer services than the
// application has, where it is new.
func (r *Record) see(s loadline.Situation) {
	o := s.Now()
	r.Services = make([]Service, len(s.App.Services))
	for i := range r.Services {
		to := &r.Services[i]
		to.Name = s.App.Services[i].Name
		to.Told = ToldOf(s.Allocation[i])
		if s.InFlight[i] != s.Allocation[i] {
			expecting := ToldOf(s.InFlight[i])
			to.Expecting = &expecting
		}
		if i < len(o.Services) {
			to.Seen = seenOf(o.At, &o.Services[i], s.Allocation[i].Size)
		}
		if i < len(s.Forecast) {
			to.Forecast = forecastOf(&s.Forecast[i])
		}
		if i < len(s.PartialSLO) {
			to.PartialSLO = &SLO{Number(s.PartialSLO[i].Percentile), Seconds(s.PartialSLO[i].Latency)}
		}
	}
	for i := range min(len(o.Kinds), len(s.App.Kinds)) {
		k := &o.Kinds[i]
		r.Kinds = append(r.Kinds, Kind{
			Name: s.App.Kinds[i].Name, Rate: sampleOf(o.At, k.Rate), Failed: sampleOf(o.At, k.Failed),
			OverSLO: sampleOf(o.At, k.OverSLO), Latency: latencyOf(o.At, k.Latency), AtSLO: sampleOf(o.At, k.AtSLO),
		})
	}
	for _, n := range o.Nodes {
		r.Nodes = append(r.Nodes, Node{sampleOf(o.At, n.CPU), sampleOf(o.At, n.Memory), n.Lost})
	}
}

// want copies what the policy asked for and what was made of it.
func (r *Record) want(d *loadline.Decision) {
	of := func(service int) *Service {
		if service < 0 || service >= len(r.Services) {
			return nil // the loop refuses such a proposal
		}
		return &r.Services[service]
	}
	for _, p := range d.Proposal.Services {
		if to := of(p.Service); to != nil {
			to.Proposal = &Proposal{Setting: SettingOf(p.Setting), Reason: p.Reason}
			if p.RunnerUp != nil {
				to.Proposal.RunnerUp = &Alternative{Setting: SettingOf(p.RunnerUp.Setting), Reason: p.RunnerUp.Reason}
			}
		}
	}
	for _, c := range d.Changed {
		if to := of(c.Service); to != nil {
			to.Guards = append(to.Guards, Guard{c.Guard, SettingOf(c.From), SettingOf(c.To), c.Reason})
		}
	}
	for _, p := range d.Plan.Services {
		if to := of(p.Service); to != nil {
			plan := SettingOf(p.Setting)
			to.Plan = &plan
		}
	}
}

func seenOf(at time.Time, o *loadline.ServiceObservation, told loadline.Size) Seen {
	s := Seen{
		Rate: sampleOf(at, o.Rate), Errors: sampleOf(at, o.Errors), Refused: sampleOf(at, o.Refused), Dropped: sampleOf(at, o.Dropped),
		Concurrency: sampleOf(at, o.Concurrency), Queue: sampleOf(at, o.Queue), Held: sampleOf(at, o.Held),
		Latency: latencyOf(at, o.Latency), Own: latencyOf(at, o.Own), CPU: sampleOf(at, o.CPU), Memory: sampleOf(at, o.Memory),
		Throttled: sampleOf(at, o.Throttled), Restarts: sampleOf(at, o.Restarts), Brownout: o.Brownout,
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		pod := Pod{
			ID: p.ID, Node: p.Node, Phase: p.Phase.String(), Created: ago(at, p.Created), Ready: ago(at, p.Ready),
			CPU: sampleOf(at, p.CPU), Memory: sampleOf(at, p.Memory), Busy: sampleOf(at, p.Busy),
		}
		if p.Size != told {
			size := sizeOf(p.Size)
			pod.Size = &size
		}
		s.Pods = append(s.Pods, pod)
	}
	return s
}

func sampleOf(at time.Time, s loadline.Sample) Sample {
	if !s.Present() {
		return Sample{}
	}
	return Sample{Value: s.Value, Age: at.Sub(s.At), Present: true}
}

func latencyOf(at time.Time, l loadline.Latency) Latency {
	return Latency{sampleOf(at, l.Mean), sampleOf(at, l.P50), sampleOf(at, l.P90), sampleOf(at, l.P95), sampleOf(at, l.P99)}
}

func ago(at, then time.Time) *Seconds {
	if then.IsZero() {
		return nil
	}
	s := Seconds(at.Sub(then))
	return &s
}

// ToldOf an allocation.
func ToldOf(a loadline.Allocation) Told { return Told{a.Replicas, sizeOf(a.Size), a.Brownout} }

func sizeOf(s loadline.Size) Size {
	return Size{Number(s.CPURequest), Number(s.CPULimit), s.MemoryRequest, s.MemoryLimit}
}

// SettingOf is a setting as records hold it.
func SettingOf(s loadline.Setting) Setting {
	return Setting{
		Replicas: set(s.Replicas), CPURequest: setNumber(s.CPURequest), CPULimit: setNumber(s.CPULimit),
		MemoryRequest: set(s.MemoryRequest), MemoryLimit: set(s.MemoryLimit), Brownout: set(s.Brownout),
	}
}

func set[T any](o loadline.Opt[T]) *T {
	if !o.Set {
		return nil
	}
	return &o.Value
}

func setNumber(o loadline.Opt[float64]) *Number {
	if !o.Set {
		return nil
	}
	v := Number(o.Value)
	return &v
}

func forecastOf(f *loadline.Forecast) *Forecast {
	if len(f.Median) == 0 && len(f.High) == 0 {
		return nil
	}
	values := func(samples []loadline.Sample) []Number {
		var all []Number
		for _, s := range samples {
			all = append(all, Number(s.Or(math.NaN())))
		}
		return all
	}
	return &Forecast{Seconds(f.Step), values(f.Median), values(f.High)}
}
