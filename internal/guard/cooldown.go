package guard

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// CoolDown is the time between changes of one service. More waits for the last
// raise only: a step down that proves wrong may be undone at once. Less waits
// for the last change of either kind: going down right after going up is
// flapping, and the pods that were added have not shown yet what they are worth.
type CoolDown struct {
	Up, Down time.Duration

	clock clock
	last  []lastChange // by service
}

type lastChange struct{ up, down instant }

// NewCoolDown of so many services.
func NewCoolDown(up, down time.Duration, services int) *CoolDown {
	return &CoolDown{Up: up, Down: down, last: make([]lastChange, services)}
}

// Name of the guard in records.
func (*CoolDown) Name() string { return "cool-down" }

// Watch keeps time.
func (g *CoolDown) Watch(now time.Time, _ loadline.Situation) { g.clock.advance(now) }

// Check leaves as it is what changed too lately.
func (g *CoolDown) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	is, last, at := &s.InFlight[service], g.last[service], g.clock.at
	hotUp := last.up.within(at, g.Up)
	hotDown := last.up.within(at, g.Down) || last.down.within(at, g.Down)
	if !hotUp && !hotDown {
		return want, ""
	}
	why := ""
	for a := range axes {
		switch {
		case hotUp && a.rises(&want, is):
			a.unset(&want)
			why = fmt.Sprintf("it was raised %v ago, and %v must pass between raises", at-last.up.at, g.Up)
		case hotDown && a.falls(&want, is):
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

// Decided remembers which way each service goes.
func (g *CoolDown) Decided(_ time.Time, s loadline.Situation, plan loadline.Plan) {
	for i := range plan.Services {
		p := &plan.Services[i]
		for a := range axes {
			if a.rises(&p.Setting, &s.InFlight[p.Service]) {
				g.last[p.Service].up.mark(g.clock.at)
			}
			if a.falls(&p.Setting, &s.InFlight[p.Service]) {
				g.last[p.Service].down.mark(g.clock.at)
			}
		}
	}
}
