package controller

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/resource"
)

// status of a pass, on top of the previous one.
func (v *view) status(l *v1alpha1.LoadLine, model decider, forbidden error) v1alpha1.LoadLineStatus {
	status := *l.Status.DeepCopy()
	status.ObservedGeneration = l.Generation
	status.Mode = v.app.Mode
	status.BrownedOut = v.brownedOut
	setConditions(&status, l.Generation, v.at, v.conditions(l, model, forbidden))
	if v.fleet == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionFleet)
	}
	if v.watch == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionDrift)
		status.Drift, status.Portfolio = nil, nil
	}
	if v.watch == nil || !v.watch.judged {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionRunnerUpAhead)
	}
	if !v.seen {
		return status // what was last observed and applied stays
	}
	if v.watch != nil {
		status.Drift, status.Portfolio = v.watch.status, v.watch.standing
	}
	if len(v.events) == 0 && v.unannounced == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionAnnounced)
	}
	if v.limited == "" {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionLimited)
	}
	status.Event = v.eventStatus()
	status.Reserve = v.reserveStatus(&status)
	status.Policy = v.policy
	status.Ladder = resource.Ladder(v.ladder)
	status.LastDecisionTime = instant(v.at)
	v.objectives(&status)
	moved, all := 0, 0
	status.Services = status.Services[:0]
	for i, target := range v.app.Targets {
		if target == nil {
			continue
		}
		all++
		if !v.services[i].hold.held() {
			moved++
		}
		status.Services = append(status.Services, v.serviceStatus(i))
	}
	status.ServicesMoved = fmt.Sprintf("%d/%d", moved, all)
	resource.Remember(&status, v.memory)
	return status
}

// eventStatus is the announced event that is running, or else the next one.
func (v *view) eventStatus() *v1alpha1.EventStatus {
	if len(v.events) == 0 {
		return nil
	}
	e := v.events[0]
	return &v1alpha1.EventStatus{Name: e.Name, Start: metav1.NewTime(e.Start), End: metav1.NewTime(e.End),
		Factor: resource.Measured(loadline.Sample{Value: e.Factor, At: v.at}), Running: !v.at.Before(e.Start)}
}

// reserveStatus is what the policy wants kept free. A pass in which it does not say
// leaves that as it was, unless another policy is followed now.
func (v *view) reserveStatus(was *v1alpha1.LoadLineStatus) *v1alpha1.Amount {
	switch {
	case v.reserve.Set:
		return resource.Amount(v.reserve.Value)
	case v.ladder.Rung == guard.Primary && v.policy != was.Policy:
		return nil
	}
	return was.Reserve
}

// planned is a status after a plan, before it is applied. Everything that a plan does not
// concern stays.
func (c *cluster) planned(was v1alpha1.LoadLineStatus, plan loadline.Plan) v1alpha1.LoadLineStatus {
	status := *was.DeepCopy()
	old := map[string]v1alpha1.ServiceStatus{}
	for _, s := range status.Services {
		old[s.Name] = s
	}
	now := c.passTime()
	status.Mode, status.LastDecisionTime = c.app.Mode, instant(now)
	status.BrownedOut = c.brownedOut(plan)
	status.Services = nil
	for i, target := range c.app.Targets {
		if target == nil {
			continue
		}
		s := old[target.Name]
		t := c.desired[i]
		set := c.allowed(i, planOf(plan, i))
		if !set.Empty() {
			t.changed = now
		}
		s.Name = target.Name
		s.Applied, s.Size = resource.Desired(c.allocation(i).With(set)), resource.Wanted(over(t.size, sizes(set)))
		s.LastChangeTime, s.ManualUntil = instant(t.changed), nil
		if t.manual.After(now) {
			s.ManualUntil = instant(t.manual)
		}
		status.Services = append(status.Services, s)
	}
	return status
}

// objectives as measured. SLOMet is True only if all of them are measured and met.
func (v *view) objectives(status *v1alpha1.LoadLineStatus) {
	status.Objectives = status.Objectives[:0]
	status.SLOMet = "True"
	for i := range v.kinds {
		k, kind := &v.kinds[i], &v.app.App.Kinds[i]
		o := v1alpha1.ObjectiveStatus{Kind: kind.Name, Rate: resource.Measured(k.Rate)}
		idle := k.Rate.Present() && k.Rate.Value == 0
		switch met, known := v.met(i); {
		case known:
			o.Met = &met
			if k.AtSLO.Present() {
				o.Latency = &v1alpha1.Duration{Duration: time.Duration(k.AtSLO.Value * float64(time.Second)).Round(time.Microsecond)}
				o.OverSLO = resource.Measured(loadline.Sample{Value: k.AtSLO.Value / kind.SLO.Latency.Seconds(), At: k.AtSLO.At})
			}
			if !met {
				status.SLOMet = "False"
			}
		case !idle && status.SLOMet == "True":
			status.SLOMet = "Unknown"
		}
		status.Objectives = append(status.Objectives, o)
	}
}

func (v *view) serviceStatus(i int) v1alpha1.ServiceStatus {
	sv := &v.services[i]
	s := v1alpha1.ServiceStatus{
		Name: v.app.App.Services[i].Name, State: v.state(i), Seen: v.seenStatus(i),
		Wanted: resource.Wanted(sv.wanted), Applied: resource.Desired(sv.desired), Size: resource.Wanted(sv.size),
		Why: resource.Text(v.why(i)), LastChangeTime: instant(sv.change),
	}
	if sv.manual.After(v.at) {
		s.ManualUntil = instant(sv.manual)
	}
	return s
}

// state of a service: why it is left as it is, or what is done with it.
func (v *view) state(i int) v1alpha1.ServiceState {
	sv := &v.services[i]
	switch {
	case sv.hold.held():
		return sv.hold.state
	case !sv.observed.Rate.Present() && !sv.observed.CPU.Present() && sv.desired.Replicas > 0 && !sv.desired.Brownout:
		return v1alpha1.ServiceUnseen
	case v.app.Mode == v1alpha1.Act:
		return v1alpha1.ServiceMoved
	}
	return v1alpha1.ServiceRecommended
}

func (v *view) seenStatus(i int) *v1alpha1.Seen {
	sv := &v.services[i]
	ready := int32(sv.ready)
	seen := &v1alpha1.Seen{Time: metav1.NewTime(v.at), Rate: resource.Measured(sv.observed.Rate), ReadyReplicas: &ready}
	if c := sv.coverage.Least(); c.Of > 0 {
		seen.MeasuredPods = fmt.Sprintf("%d/%d", c.Measured, c.Of)
	}
	if c := sv.observed.CPU; c.Present() {
		seen.CPU = quantity.NewMilliQuantity(int64(c.Value*1000+0.5), quantity.DecimalSI)
	}
	if p, tightest := sv.observed.Latency.P99, v.tightest(); p.Present() && tightest > 0 {
		seen.P99OverSLO = resource.Measured(loadline.Sample{Value: p.Value / tightest.Seconds(), At: p.At})
	}
	return seen
}

// tightest is the shortest latency that any objective promises.
func (v *view) tightest() time.Duration {
	var t time.Duration
	for i := range v.app.App.Kinds {
		if l := v.app.App.Kinds[i].SLO.Latency; t == 0 || l < t {
			t = l
		}
	}
	return t
}

func instant(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	m := metav1.NewTime(t)
	return &m
}

// equalCalm reports whether nothing but figures changed from one status to another.
func equalCalm(a, b v1alpha1.LoadLineStatus) bool {
	return equality.Semantic.DeepEqual(calm(a), calm(b))
}

// wantsMore reports whether the policy wants more kept free than the status says.
func wantsMore(was, now v1alpha1.LoadLineStatus) bool {
	before, after := resource.RoomOf(was.Reserve), resource.RoomOf(now.Reserve)
	return after.Cores > before.Cores || after.Memory > before.Memory
}

// calm is a status without what is measured at each pass.
func calm(s v1alpha1.LoadLineStatus) v1alpha1.LoadLineStatus {
	c := *s.DeepCopy()
	c.LastDecisionTime, c.Objectives, c.Reserve = nil, nil, nil
	if c.Memory != nil {
		c.Memory.Time = metav1.MicroTime{}
	}
	for i := range c.Services {
		c.Services[i].Seen, c.Services[i].Why = nil, ""
	}
	for i := range c.Conditions {
		c.Conditions[i].Message = ""
	}
	if c.Ladder != nil {
		c.Ladder.Why = ""
	}
	if c.Drift != nil {
		if c.Drift.Load != nil {
			c.Drift.Load.Ratio = ""
		}
		for i := range c.Drift.Services {
			for j := range c.Drift.Services[i].Deviations {
				c.Drift.Services[i].Deviations[j].Ratio = ""
			}
		}
	}
	return c
}
