package controller

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kedascaler"
)

// goodFor is how long a decision is valid for KEDA: long enough that a failed pass
// or a late one does not trigger KEDA's fallback.
func goodFor(interval time.Duration) time.Duration {
	return max(4*interval, time.Minute)
}

func nameOf(l *v1alpha1.LoadLine) kedascaler.Name {
	return kedascaler.Name{Namespace: l.Namespace, Name: l.Name}
}

// withheld is why KEDA gets no replicas for a service; "" = it gets them. Modes that
// do not act would otherwise pin the service at its present replicas for as long as
// they last, and so would a conflict: others scale the service then. A pause, a
// roll-out and a manual change are different: the replicas are meant to stay.
func withheld(l *v1alpha1.LoadLine, mode v1alpha1.Mode, state v1alpha1.ServiceState, why string) string {
	switch {
	case mode != v1alpha1.Act:
		return fmt.Sprintf("LoadLine %s/%s is in mode %s and does not act", l.Namespace, l.Name, mode)
	case state == v1alpha1.ServiceConflict || state == v1alpha1.ServiceNotFound:
		return fmt.Sprintf("Loadline does not scale the service: %s", why)
	}
	return ""
}

// withheld is why KEDA gets no replicas for a service.
func (c *cluster) withheld(l *v1alpha1.LoadLine, i int) string {
	if c.app.Mode == v1alpha1.Act && !c.act {
		return "this process makes a dry run"
	}
	return withheld(l, c.app.Mode, c.holds[i].state, c.holds[i].why)
}

// unscaled is a warning about a service that nothing scales at present: Loadline does
// not, and its ScaledObject has neither a fallback nor another trigger.
func (c *cluster) unscaled(i int) string {
	s := &c.states[i]
	if !c.asked(i) || !s.ScaledObjectAlone {
		return ""
	}
	why := c.withheld(c.resource(), i)
	if why == "" {
		return ""
	}
	return fmt.Sprintf("nothing scales service %s: %s, and ScaledObject %s has neither a fallback nor another trigger: "+
		"add spec.fallback, see docs/keda.md", c.app.App.Services[i].Name, why, s.ScaledObject)
}

// post gives KEDA's server the desired replicas of the whole application. For a
// service on hold these are the present ones, unless it may still be raised.
func (v *view) post(board *kedascaler.Board, l *v1alpha1.LoadLine, c *cluster) {
	if board == nil || !v.seen {
		return
	}
	decisions := map[string]kedascaler.Decision{}
	for i, target := range v.app.Targets {
		if target == nil {
			continue
		}
		d := kedascaler.Decision{Made: v.at, GoodFor: goodFor(v.app.Needs.Period), Withheld: c.withheld(l, i)}
		if d.Withheld == "" {
			d.Replicas, d.Current = v.answer(c, i), loadline.Some(c.states[i].Status)
		}
		decisions[target.Name] = d
	}
	board.Post(nameOf(l), decisions)
}

// answer is the number of replicas for KEDA.
func (v *view) answer(c *cluster, i int) int {
	desired := v.services[i].desired
	switch {
	case v.services[i].hold.held():
		return max(c.states[i].Replicas, desired.Replicas)
	case desired.Brownout:
		return 0
	}
	return desired.Replicas
}

// postStatus gives KEDA's server what the leader wrote into the status: the same
// answers as the leader's.
func postStatus(board *kedascaler.Board, l *v1alpha1.LoadLine) {
	if l.Status.LastDecisionTime == nil {
		return
	}
	interval := l.Spec.Interval.Span()
	if interval == 0 {
		interval = 15 * time.Second
	}
	mode := l.Spec.Mode
	if mode == v1alpha1.Act {
		mode = l.Status.Mode // it acts only when the leader has made a pass in this mode
	}
	decisions := map[string]kedascaler.Decision{}
	for i := range l.Status.Services {
		s := &l.Status.Services[i]
		d := kedascaler.Decision{
			Made: l.Status.LastDecisionTime.Time, GoodFor: goodFor(interval), FromStatus: true,
			Withheld: withheld(l, mode, s.State, s.Why),
		}
		if d.Withheld == "" {
			if s.Applied == nil || s.Applied.Replicas == nil {
				continue
			}
			if s.Applied.Brownout == nil || !*s.Applied.Brownout {
				d.Replicas = int(*s.Applied.Replicas)
			}
		}
		decisions[s.Name] = d
	}
	board.Post(nameOf(l), decisions)
}
