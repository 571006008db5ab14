package fleet

import (
	"time"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// pendingDecision is a decision whose outcome is not known yet.
type pendingDecision struct {
	at    time.Time
	local drpc.Local
	want  drpc.Action
	made  bool
}

// Settle ends a pass of an agent with Hold. For each decision, done returns, by the
// index of the service in the application, the part that was applied, or false if
// another policy decided. Only applied actions are experience: a guard may have
// reduced one, or the ladder may have followed the rule. It is for the goroutine that
// decides.
func (a *Agent) Settle(done func(service int, want drpc.Action) (drpc.Action, bool)) {
	for i := range a.pending {
		p := &a.pending[i]
		if !p.made {
			continue
		}
		p.made = false
		if applied, counts := done(a.places[i], p.want); counts {
			a.publish(i, p.at, &p.local, applied)
		}
	}
}

// publish hands a decision to the publisher.
func (a *Agent) publish(student int, at time.Time, local *drpc.Local, done drpc.Action) {
	a.Publisher.Add(student, at, a.policy.Student(a.places[student]).Version(), local, done)
	a.lock.Lock()
	a.status[student].Decisions++
	a.lock.Unlock()
}

// Decides reports whether a service has a student in this agent.
func (a *Agent) Decides(service int) bool { return a.policy.Student(service) != nil }
