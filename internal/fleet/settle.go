package fleet

import (
	"time"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// pendingDecision is a decision of which it is not known yet what came of it.
type pendingDecision struct {
	at    time.Time
	local drpc.Local
	want  drpc.Action
	made  bool
}

// Settle ends a pass of an agent that holds its decisions: it says of each, by
// the service's place in the application, what of it was done, or that it does
// not count since somebody else decided. What is learned from must have happened:
// a guard may have taken a step back, or the ladder may have followed the rule. It
// is for the goroutine that decides.
func (a *Agent) Settle(done func(service int, want drpc.Action) (drpc.Action, bool)) {
	for i := range a.pending {
		h := &a.pending[i]
		if !h.made {
			continue
		}
		h.made = false
		if was, counts := done(a.places[i], h.want); counts {
			a.publish(i, h.at, &h.local, was)
		}
	}
}

// publish hands a decision to the courier.
func (a *Agent) publish(student int, at time.Time, local *drpc.Local, done drpc.Action) {
	a.Publisher.Add(student, at, a.policy.Student(a.places[student]).Version(), local, done)
	a.lock.Lock()
	a.status[student].Decisions++
	a.lock.Unlock()
}

// Decides says whether a service has a student here. The others are for whoever
// else there is.
func (a *Agent) Decides(service int) bool { return a.policy.Student(service) != nil }
