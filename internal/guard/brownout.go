package guard

import (
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// Brownout turns optional services off while the error budget burns, the cheapest first,
// and on again when it has not burned for a while, the most expensive first. It switches
// one at a time, so that no more are off than needed. It leaves a service alone whose
// brownout the policy decides itself.
type Brownout struct {
	Window    time.Duration // over which the burn is measured, and between two steps
	Rate      float64       // of the burn from which a service is done without
	MinOver   float64       // requests over the SLO, at least
	Recovered float64       // burn that counts as kept
	Recovery  time.Duration // for which it must be kept before a service is taken back

	burn     *Burn
	optional []int // services, the cheapest first
	off      int   // of them, the first so many are done without
	begun    bool
	clock    clock
	step     instant // the last one
	calm     instant // since when the budget has been kept
	why      string
}

// NewBrownout returns the guard for the named services of an application.
func NewBrownout(g Brownout, app *loadline.App, services []string, maxAge time.Duration) *Brownout {
	g.burn = NewBurn(app, maxAge, g.Window, g.Window)
	for _, name := range services {
		g.optional = append(g.optional, app.ServiceIndex(name))
	}
	slices.SortStableFunc(g.optional, func(a, b int) int {
		switch pa, pb := app.Services[a].OptionalPrice, app.Services[b].OptionalPrice; {
		case pa < pb:
			return -1
		case pa > pb:
			return 1
		}
		return 0
	})
	return &g
}

// Name returns the name of the guard in records.
func (*Brownout) Name() string { return "brownout" }

// Watch measures the burn rate and takes a step if one is due.
func (g *Brownout) Watch(now time.Time, s loadline.Situation) {
	at := g.clock.advance(now)
	g.burn.See(now, s)
	if !g.begun {
		g.begun = true
		g.takeOver(func(service int) bool { return s.InFlight[service].Brownout })
	}
	kind, rate, over, known := g.burn.Worst(g.Window)
	if !known {
		g.calm = instant{} // it is not known to be over
		return
	}
	switch {
	case rate >= g.Rate && over >= g.MinOver:
		g.calm = instant{}
		if g.off < len(g.optional) && !g.step.within(at, g.Window) {
			g.off++
			g.step.mark(at)
			g.why = fmt.Sprintf("turned off: %s burns its error budget %.3g times as fast as allowed over %v", s.App.Kinds[kind].Name,
				rate, g.Window)
		}
	case rate > g.Recovered && over >= g.MinOver:
		g.calm = instant{}
	default:
		if !g.calm.set {
			g.calm.mark(at)
		}
		if g.off > 0 && !g.calm.within(at, g.Recovery) && !g.step.within(at, g.Recovery) {
			g.off--
			g.step.mark(at)
			g.why = fmt.Sprintf("turned on again: the error budget has not burned for %v", g.Recovery)
		}
	}
}

// takeOver counts what another process left: services that are off count as the
// first steps.
func (g *Brownout) takeOver(isOff func(service int) bool) {
	slices.SortStableFunc(g.optional, func(a, b int) int {
		switch is, other := isOff(a), isOff(b); {
		case is && !other:
			return -1
		case other && !is:
			return 1
		}
		return 0
	})
	for g.off < len(g.optional) && isOff(g.optional[g.off]) {
		g.off++
	}
	g.why = "done without before, and not recovered since"
}

// Check switches a service off or on.
func (g *Brownout) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	i := slices.Index(g.optional, service)
	if i < 0 || want.Brownout.Set {
		return want, ""
	}
	if off := i < g.off; off != s.InFlight[service].Brownout {
		want.Brownout = loadline.Some(off)
		return want, g.why
	}
	return want, ""
}

// Decided implements loop.Watcher.
func (*Brownout) Decided(time.Time, loadline.Situation, loadline.Plan) {}
