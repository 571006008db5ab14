package decisionlog

import (
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// Of makes the record of a decision and its situation. It shares nothing with either. Finish
// adds the result of the plan.
func Of(d *loadline.Decision, s loadline.Situation) *Record {
	r := &Record{At: d.At, Policy: d.Policy}
	if len(s.Window) > 0 {
		r.see(s)
	}
	r.want(d)
	r.foresee(d, s.App)
	r.Finish(d)
	return r
}

// Finish adds the result of the decision.
func (r *Record) Finish(d *loadline.Decision) {
	r.Applied = d.Applied
	r.Error = ""
	if d.Err != nil {
		r.Error = d.Err.Error()
	}
}

// see copies the observation. It may have fewer services than the application, if the
// application is new.
func (r *Record) see(s loadline.Situation) {
	o := s.Now()
	r.Services = make([]Service, len(s.App.Services))
	for i := range r.Services {
		to := &r.Services[i]
		to.Name = s.App.Services[i].Name
		to.Desired = AllocationOf(s.Allocation[i])
		if s.InFlight[i] != s.Allocation[i] {
			expecting := AllocationOf(s.InFlight[i])
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
		r.Kinds = append(r.Kinds, Kind{s.App.Kinds[i].Name, samplesOf(loadline.KindTable, o.At, &o.Kinds[i])})
	}
	for _, e := range s.Announced {
		r.Events = append(r.Events, Event{e.Name, e.Start, e.End, Number(e.Factor)})
	}
	if s.Constraints.Any() {
		r.Constraints = &loadline.Constraints{Quota: s.Constraints.Quota, Services: slices.Clone(s.Constraints.Services)}
	}
	for i := range o.Nodes {
		r.Nodes = append(r.Nodes, Node{samplesOf(loadline.NodeTable, o.At, &o.Nodes[i]), o.Nodes[i].Lost})
	}
}

// want copies the policy's proposal and the guards' corrections.
func (r *Record) want(d *loadline.Decision) {
	r.Limited = d.Proposal.Limited
	if room := d.Proposal.Reserve; room.Set {
		r.Reserve = &Reserve{Number(room.Value.Cores), room.Value.Memory}
	}
	for i := range d.Proposal.Services {
		if to := r.service(d.Proposal.Services[i].Service); to != nil {
			to.propose(&d.Proposal.Services[i])
		}
	}
	for i := range d.Changed {
		if to := r.service(d.Changed[i].Service); to != nil {
			to.guard(&d.Changed[i])
		}
	}
	for i := range d.Plan.Services {
		if to := r.service(d.Plan.Services[i].Service); to != nil {
			to.plan(&d.Plan.Services[i])
		}
	}
}

// service of an index, or nil: the loop rejects a proposal with one that does not exist.
func (r *Record) service(index int) *Service {
	if index < 0 || index >= len(r.Services) {
		return nil
	}
	return &r.Services[index]
}

func (s *Service) propose(p *loadline.ServiceProposal) {
	s.Proposal = &Proposal{Setting: SettingOf(p.Setting), Reason: p.Reason}
	if p.Expects.Within > 0 {
		s.Proposal.Expects = &LoadAhead{Number(p.Expects.Rate), Seconds(p.Expects.Within)}
	}
	if p.RunnerUp != nil {
		s.Proposal.RunnerUp = &Alternative{Setting: SettingOf(p.RunnerUp.Setting), Reason: p.RunnerUp.Reason}
	}
}

func (s *Service) guard(c *loadline.GuardChange) {
	s.Guards = append(s.Guards, Guard{c.Guard, SettingOf(c.From), SettingOf(c.To), c.Reason})
}

func (s *Service) plan(p *loadline.ServicePlan) {
	plan := SettingOf(p.Setting)
	s.Plan = &plan
}

func seenOf(at time.Time, o *loadline.ServiceObservation, desired loadline.Size) Seen {
	s := Seen{Samples: samplesOf(loadline.ServiceTable, at, o), Brownout: o.Brownout}
	for i := range o.Pods {
		p := &o.Pods[i]
		pod := Pod{
			ID: p.ID, Node: p.Node, Phase: p.Phase.String(), Created: ago(at, p.Created), Ready: ago(at, p.Ready),
			Samples: samplesOf(loadline.PodTable, at, p),
		}
		if p.Size != desired {
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

func ago(at, then time.Time) *Seconds {
	if then.IsZero() {
		return nil
	}
	s := Seconds(at.Sub(then))
	return &s
}

// AllocationOf an allocation.
func AllocationOf(a loadline.Allocation) Allocation {
	return Allocation{a.Replicas, sizeOf(a.Size), a.Brownout}
}

func sizeOf(s loadline.Size) Size {
	return Size{Number(s.CPURequest), Number(s.CPULimit), s.MemoryRequest, s.MemoryLimit}
}

// SettingOf converts a setting for records.
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
