package controller

import (
	"context"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/guard"
)

// member is the students of one application as part of their fleet.
type member struct {
	fleet      *Fleet
	name       string // of the fleet
	agent      *fleet.Agent
	link       *fleet.Link
	teacher    *embeddedTeacher // nil = the teacher is elsewhere
	noObserver error            // why the agent has no AppObserver; nil = it has one
	reported   fleetCounts      // by metrics
}

// observe passes the state of the whole application to the observer while the students
// are followed. Changes by others cannot be distinguished from those of the students, so
// the teacher must not see them.
func (m *member) observe(a *application, d *loadline.Decision, s loadline.Situation) {
	if m.agent.AppObserver == nil || !a.cluster.act || d.Err != nil || a.ladder.State().Rung != guard.Primary {
		return
	}
	for i, st := range a.cluster.holds {
		if m.agent.Decides(i) && st.held() {
			return
		}
	}
	m.agent.AppObserver.Observe(d.At, s)
}

// settle ends a pass: decisions that were followed and applied are experience, with what
// the guards left of them.
func (m *member) settle(a *application, d *loadline.Decision) {
	followed := a.cluster.act && d.Err == nil && a.ladder.State().Rung == guard.Primary
	m.agent.Settle(func(service int, want action) (action, bool) {
		if !followed || a.Targets[service] == nil || a.cluster.holds[service].held() {
			return action{}, false
		}
		return carriedOut(want, proposalOf(d.Proposal, service), planOf(d.Plan, service))
	})
}

func proposalOf(p loadline.Proposal, service int) loadline.Setting {
	for i := range p.Services {
		if p.Services[i].Service == service {
			return p.Services[i].Setting
		}
	}
	return loadline.Setting{}
}

// flushWithin is how long a member that leaves tries to publish its last decisions.
const flushWithin = 3 * time.Second

// leave the fleet. It does not wait: the last decisions are published in the background.
func (m *member) leave() {
	m.fleet.leaving.Go(func() {
		defer m.fleet.release(m.teacher)
		err := contained(m.fleet.log(), "leave the fleet", func() error {
			defer m.link.Close()
			ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
			defer cancel()
			return m.agent.Close(ctx)
		})
		if err != nil {
			m.fleet.log().Warn("experience is lost: it could not be published before the students left the fleet", "fleet", m.name,
				"error", err)
		}
	})
}
