package loop

import (
	"time"

	"github.com/loadline/loadline"
)

// Watcher is a guard with a memory. It sees every pass of the loop, and it is
// also asked about services that the proposal does not contain, with an empty
// setting.
type Watcher interface {
	Guard
	// Watch is called before the policy is asked.
	Watch(now time.Time, s loadline.Situation)
	// Decided is called once all guards have run, with the plan.
	Decided(now time.Time, s loadline.Situation, plan loadline.Plan)
}

func (l *Loop) hasWatcher() bool {
	for _, g := range l.Guards {
		if _, ok := g.(Watcher); ok {
			return true
		}
	}
	return false
}

// watch shows the situation to the watchers.
func (l *Loop) watch(p *Pass) {
	for _, g := range l.Guards {
		if w, ok := g.(Watcher); ok {
			w.Watch(p.Decision.At, p.Situation)
		}
	}
}

// guardOthers asks the guards about the services that the proposal does not
// contain.
func (l *Loop) guardOthers(p *Pass) {
	l.proposed = append(l.proposed[:0], make([]bool, len(l.App.Services))...)
	for i := range p.Decision.Proposal.Services {
		l.proposed[p.Decision.Proposal.Services[i].Service] = true
	}
	for i, proposed := range l.proposed {
		if !proposed {
			l.guardService(p, i, loadline.Setting{})
		}
	}
}

// tellWatchers shows the plan to the watchers.
func (l *Loop) tellWatchers(p *Pass) {
	for _, g := range l.Guards {
		if w, ok := g.(Watcher); ok {
			w.Decided(p.Decision.At, p.Situation, p.Decision.Plan)
		}
	}
}
