package loop

import (
	"time"

	"github.com/loadline/loadline"
)

// Encoder turns situations into what a learner sees of one service.
type Encoder interface {
	// Features appends the service's features.
	Features(s loadline.Situation, service int, into []float64) []float64
	// Reward of the step from one situation to the next.
	Reward(before, after loadline.Situation, service int) float64
}

// Learn collects experience while the loop runs: one step of each service per
// decision, whoever decided it.
type Learn struct {
	Encoder Encoder
	// Sink gets each step once its outcome is known, with memory of its own.
	Sink func(loadline.Experience)

	open   []loadline.Experience // of the last decision, by service
	before loadline.Situation
}

// expect opens a step for every service. Services that the policy did not
// speak of have one too: leaving them as they are was what was done.
func (l *Loop) expect(now time.Time, s loadline.Situation, d *loadline.Decision) {
	if l.Learn == nil {
		return
	}
	learn := l.Learn
	learn.before = keepSituation(learn.before, s)
	learn.open = learn.open[:0]
	for i := range l.App.Services {
		learn.open = append(learn.open, loadline.Experience{
			At: now, Service: i, Features: learn.Encoder.Features(s, i, nil),
		})
	}
	for _, p := range d.Proposal.Services {
		e := &learn.open[p.Service]
		e.Proposed, e.Applied = p.Setting, p.Setting
	}
	for _, c := range d.Changed {
		e := &learn.open[c.Service]
		e.Applied = c.To
		e.ChangedBy = append(e.ChangedBy, c.Guard)
	}
}

// learn closes the steps that the last decision opened.
func (l *Loop) learn(now time.Time, s loadline.Situation) {
	if l.Learn == nil || l.Learn.Sink == nil {
		return
	}
	learn := l.Learn
	for _, e := range learn.open {
		e.Until = now
		e.Next = learn.Encoder.Features(s, e.Service, nil)
		e.Reward = learn.Encoder.Reward(learn.before, s, e.Service)
		learn.Sink(e)
	}
	learn.open = learn.open[:0]
}

// notApplied corrects the open steps of a plan that the cluster refused.
func (l *Loop) notApplied(d *loadline.Decision) {
	if l.Learn == nil {
		return
	}
	for _, p := range d.Plan.Services {
		for i := range l.Learn.open {
			if e := &l.Learn.open[i]; e.Service == p.Service && e.At.Equal(d.At) {
				e.Applied = loadline.Setting{}
				e.ChangedBy = append(e.ChangedBy, "cluster")
			}
		}
	}
}

// keepSituation makes a situation outlive the next observation, in the memory
// of an older one. The window's observations stay where they are (the loop
// keeps one more than the policy sees), but they move up by one place.
func keepSituation(older, s loadline.Situation) loadline.Situation {
	s.Window = append(older.Window[:0], s.Window...)
	s.Allocation = append(older.Allocation[:0], s.Allocation...)
	s.InFlight = append(older.InFlight[:0], s.InFlight...)
	return s
}
