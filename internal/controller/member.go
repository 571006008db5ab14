package controller

import (
	"context"
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/guard"
)

// member is the students of one application at work, as part of their fleet.
type member struct {
	fleet  *Fleet
	name   string // of the fleet
	agent  *fleet.Agent
	link   *fleet.Link
	lesson *lesson // in this process; nil = the teacher is elsewhere
	// witness tells the teacher of the whole; nil if not all of it is seen here, and
	// why.
	witness     *fleet.Witness
	unwitnessed error

	cancel context.CancelFunc
	atWork sync.WaitGroup
	news   fleetNews
}

// saw shows the whole to the witness, while students are followed. What others do
// cannot be told from what students did, so a teacher is shown none of it.
func (m *member) saw(a *application, d *loadline.Decision, s loadline.Situation) {
	if m.witness == nil || !a.ends.act || d.Err != nil || a.ladder.State().Rung != guard.Primary {
		return
	}
	for i, st := range a.ends.standing {
		if m.agent.Decides(i) && st.still() {
			return
		}
	}
	m.witness.Saw(d.At, s)
}

// settle says what came of the students' decisions at the end of a pass: those
// that were followed and carried out are experience, with what the guards left of
// them. Of the others nobody could learn anything.
func (m *member) settle(a *application, d *loadline.Decision) {
	followed := a.ends.act && d.Err == nil && a.ladder.State().Rung == guard.Primary
	m.agent.Settle(func(service int, want action) (action, bool) {
		if !followed || a.Targets[service] == nil || a.ends.standing[service].still() {
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

// handOver is how long those who leave try to hand over what they did.
const handOver = 3 * time.Second

// leave without making anybody wait: what was not handed over yet is, beside.
func (m *member) leave() {
	m.fleet.leaving.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), handOver)
		defer cancel()
		_ = m.agent.Courier.Flush(ctx) // servers that are away get nothing
		if m.witness != nil {
			_ = m.witness.Flush(ctx)
		}
		m.cancel()
		m.atWork.Wait()
		m.link.Close()
		m.fleet.leaveLesson(m.lesson)
	})
}
