package controller

import (
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

// post gives KEDA's server the desired replicas of the whole application. For a
// service that may not be moved these are the present ones.
func (v *view) post(board *kedascaler.Board, l *v1alpha1.LoadLine, c *cluster) {
	if board == nil || !v.seen {
		return
	}
	decisions := map[string]kedascaler.Decision{}
	for i, target := range v.app.Targets {
		if target == nil || c.states[i].Err != nil {
			continue
		}
		replicas := c.states[i].Replicas
		if v.app.Mode == v1alpha1.Act && !v.services[i].hold.held() {
			replicas = v.services[i].desired.Replicas
			if v.services[i].desired.Brownout {
				replicas = 0
			}
		}
		decisions[target.Name] = kedascaler.Decision{
			Replicas: replicas, Made: v.at, GoodFor: goodFor(v.app.Needs.Period), Current: loadline.Some(c.states[i].Status),
		}
	}
	board.Post(nameOf(l), decisions)
}

// postStatus gives KEDA's server what the leader wrote into the status.
func postStatus(board *kedascaler.Board, l *v1alpha1.LoadLine) {
	if l.Status.LastDecisionTime == nil {
		return
	}
	decisions := map[string]kedascaler.Decision{}
	for i := range l.Status.Services {
		s := &l.Status.Services[i]
		if s.Applied == nil || s.Applied.Replicas == nil {
			continue
		}
		replicas := int(*s.Applied.Replicas)
		if s.Applied.Brownout != nil && *s.Applied.Brownout {
			replicas = 0
		}
		interval := l.Spec.Interval.Span()
		if interval == 0 {
			interval = 15 * time.Second
		}
		decisions[s.Name] = kedascaler.Decision{
			Replicas: replicas, Made: l.Status.LastDecisionTime.Time, GoodFor: goodFor(interval), FromStatus: true,
		}
	}
	board.Post(nameOf(l), decisions)
}
