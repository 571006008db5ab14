package loop

import (
	"time"

	"github.com/loadline/loadline"
)

// Watcher is a guard with a memory. It sees every pass of the loop, and it is
// also asked about services that the policy does not speak of, with a setting
// that is empty: it may have something to say.
type Watcher interface {
	Guard
	// Watch comes before the policy is asked.
	Watch(now time.Time, s loadline.Situation)
	// Decided comes when every guard has spoken, with what is going to be done.
	Decided(now time.Time, s loadline.Situation, plan loadline.Plan)
}

// watch shows the situation to the guards that want to see it, and says whether
// there are any.
func (l *Loop) watch(now time.Time, s loadline.Situation) bool {
	any := false
	for _, g := range l.Guards {
		if w, ok := g.(Watcher); ok {
			w.Watch(now, s)
			any = true
		}
	}
	return any
}

// guardUnspoken asks the guards about the services that the policy leaves as
// they are.
func (l *Loop) guardUnspoken(now time.Time, s loadline.Situation, d *loadline.Decision) {
	l.spoken = append(l.spoken[:0], make([]bool, len(l.App.Services))...)
	for i := range d.Proposal.Services {
		l.spoken[d.Proposal.Services[i].Service] = true
	}
	for i, spoken := range l.spoken {
		if !spoken {
			l.guardService(now, s, i, loadline.Setting{}, d)
		}
	}
}

// decided tells the guards what is going to be done.
func (l *Loop) decided(now time.Time, s loadline.Situation, d *loadline.Decision) {
	for _, g := range l.Guards {
		if w, ok := g.(Watcher); ok {
			w.Decided(now, s, d.Plan)
		}
	}
}
