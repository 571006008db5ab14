package guard

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// CoolDown is the minimum time between changes of one service. A raise waits for the last
// raise only, so that a wrong reduction can be undone at once. A reduction waits for the
// last change in either direction: reducing right after raising is flapping, and the load
// of the added pods is not known yet.
type CoolDown struct {
	Up, Down time.Duration

	clock clock
	last  []lastChange // by service
}

type lastChange struct {
	up, down instant
	elapsed  bool // the raise may be longer ago than the clock says, or not have been applied
}

// NewCoolDown returns the guard for a number of services.
func NewCoolDown(up, down time.Duration, services int) *CoolDown {
	return &CoolDown{Up: up, Down: down, last: make([]lastChange, services)}
}

// Name returns the name of the guard in records.
func (*CoolDown) Name() string { return "cool-down" }

// Watch advances the clock. If passes are missing, reductions wait longer, and raises no
// more: more time may have passed than the clock counts.
func (g *CoolDown) Watch(now time.Time, _ loadline.Situation) {
	g.clock.advance(now)
	if g.clock.interrupted {
		for i := range g.last {
			g.last[i].elapsed = true
		}
	}
}

// Check drops changes that come too soon after the last one.
func (g *CoolDown) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	is, last, at := &s.InFlight[service], g.last[service], g.clock.at
	hotUp := !last.elapsed && last.up.within(at, g.Up)
	hotDown := last.up.within(at, g.Down) || last.down.within(at, g.Down)
	if !hotUp && !hotDown {
		return want, ""
	}
	why := ""
	for a := range axes {
		switch {
		case hotUp && a.raises(&want, is):
			a.unset(&want)
			why = fmt.Sprintf("it was raised %v ago, and %v must pass between raises", at-last.up.at, g.Up)
		case hotDown && a.reduces(&want, is):
			a.unset(&want)
			why = fmt.Sprintf("it was changed %v ago, and %v must pass before it is reduced", at-last.latest(), g.Down)
		}
	}
	return want, why
}

func (l lastChange) latest() time.Duration {
	if l.up.set && (!l.down.set || l.up.at > l.down.at) {
		return l.up.at
	}
	return l.down.at
}

// Decided records the direction of each change.
func (g *CoolDown) Decided(_ time.Time, s loadline.Situation, plan loadline.Plan) {
	for i := range plan.Services {
		p := &plan.Services[i]
		for a := range axes {
			if a.raises(&p.Setting, &s.InFlight[p.Service]) {
				g.last[p.Service].up.mark(g.clock.at)
				g.last[p.Service].elapsed = false
			}
			if a.reduces(&p.Setting, &s.InFlight[p.Service]) {
				g.last[p.Service].down.mark(g.clock.at)
			}
		}
	}
}
