package guard

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// Burning drops reductions of all services of an application while its error budget
// burns, or while that is not measured. Brownout passes: it relieves the application.
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

// Name returns the name of the guard in records.
func (*Burning) Name() string { return "burning" }

// Watch measures the burn rate.
func (g *Burning) Watch(now time.Time, s loadline.Situation) { g.burn.See(now, s) }

// Decided implements loop.Watcher.
func (*Burning) Decided(time.Time, loadline.Situation, loadline.Plan) {}

// Check drops reductions.
func (g *Burning) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	is := &s.InFlight[service]
	if !reduces(&want, is) {
		return want, ""
	}
	kind, rate, over, known := g.burn.Worst(g.Window)
	switch {
	case !known && !g.Unmeasured:
		return withoutReductions(want, is), fmt.Sprintf("not reduced: no share of requests over the SLO has been measured for %v",
			g.Window)
	case rate >= g.Rate && over >= g.MinOver:
		return withoutReductions(want, is), fmt.Sprintf("not reduced: %s burns its error budget %.3g times as fast as allowed over %v",
			s.App.Kinds[kind].Name, rate, g.Window)
	case !g.Unmeasured && g.burn.uncovered(g.Window) >= 0:
		k := g.burn.uncovered(g.Window)
		return withoutReductions(want, is), fmt.Sprintf("not reduced: the share of %s over the SLO has not been measured without a gap "+
			"for %v", s.App.Kinds[k].Name, g.Window)
	}
	return want, ""
}
