package guard

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// Burning keeps every service of an application from being reduced while its
// error budget burns, or while nobody can see whether it does. Brownout passes:
// it is a way to put the fire out.
type Burning struct {
	Window  time.Duration
	Rate    float64
	MinOver float64
	// Unmeasured lets services be reduced although no kind of request is
	// measured.
	Unmeasured bool

	burn *Burn
}

// NewBurning watches an application.
func NewBurning(g Burning, app *loadline.App, maxAge time.Duration) *Burning {
	g.burn = NewBurn(app, maxAge, g.Window, g.Window)
	return &g
}

// Name of the guard in records.
func (*Burning) Name() string { return "burning" }

// Watch measures.
func (g *Burning) Watch(now time.Time, s loadline.Situation) { g.burn.See(now, s) }

// Decided implements loop.Watcher.
func (*Burning) Decided(time.Time, loadline.Situation, loadline.Plan) {}

// Check takes out what would make it less.
func (g *Burning) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	is := &s.InFlight[service]
	if !falls(&want, is) {
		return want, ""
	}
	kind, rate, over, known := g.burn.Worst(g.Window)
	switch {
	case !known && !g.Unmeasured:
		return noLess(want, is), fmt.Sprintf("not reduced: no share of requests over the SLO has been measured for %v", g.Window)
	case rate >= g.Rate && over >= g.MinOver:
		return noLess(want, is), fmt.Sprintf("not reduced: %s burns its error budget %.3g times as fast as allowed over %v",
			s.App.Kinds[kind].Name, rate, g.Window)
	}
	return want, ""
}
