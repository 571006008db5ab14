package guard

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Gray takes a service down in two steps: part of the way, then, after a while
// in which the SLO has held, the rest. If the error budget burns while either
// step is being watched, the service goes back to what it was, and stays there
// for the time of the retreat.
type Gray struct {
	Part    float64       // of the way, at first
	Span    time.Duration // for which each step is watched
	Retreat time.Duration // without a step down, after one was taken back
	Window  time.Duration // over which the burn is measured
	Rate    float64       // of the burn that takes a step back
	MinOver float64       // requests over the SLO, at least

	clock clock
	burn  *Burn
	of    []descent // by service
}

// descent is how far a service has come on its way down.
type descent struct {
	stage  stage
	since  time.Duration
	before loadline.Allocation // the first step
	asked  loadline.Allocation // in the check under way
	target loadline.Allocation // which the first step was part of the way to
}

type stage int

const (
	level    stage = iota
	partly         // the first step is being watched
	approved       // the rest may follow
	wholly         // the second step is being watched
	back           // a step was taken back
)

// NewGray watches an application.
func NewGray(g Gray, app *loadline.App, maxAge time.Duration) *Gray {
	g.burn = NewBurn(app, maxAge, g.Window, g.Window)
	g.of = make([]descent, len(app.Services))
	return &g
}

// Name of the guard in records.
func (*Gray) Name() string { return "gray" }

// Watch sees how the last steps have done.
func (g *Gray) Watch(now time.Time, s loadline.Situation) {
	at := g.clock.advance(now)
	g.burn.See(now, s)
	_, rate, over, known := g.burn.Worst(g.Window)
	burning := known && rate >= g.Rate && over >= g.MinOver
	for i := range g.of {
		d := &g.of[i]
		elapsed := at - d.since
		switch watched := d.stage == partly || d.stage == wholly; {
		case watched && burning:
			d.enter(back, at)
		case watched && !known:
			d.since = at // unseen time is not a test that was passed
		case d.stage == partly && elapsed >= g.Span:
			d.enter(approved, at)
		case d.stage == wholly && elapsed >= g.Span, d.stage == approved && elapsed >= g.Span, d.stage == back && elapsed >= g.Retreat:
			d.enter(level, at)
		}
	}
}

func (d *descent) enter(to stage, at time.Duration) { d.stage, d.since = to, at }

// Check shortens a first step down, holds during the watch, and goes back if it
// must.
func (g *Gray) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	is, d := &s.InFlight[service], &g.of[service]
	if d.stage == back {
		return g.goBack(is, d, want)
	}
	if !falls(&want, is) {
		return want, ""
	}
	d.asked = is.With(want)
	switch d.stage {
	case partly, wholly:
		return noLess(want, is), fmt.Sprintf("not reduced further: the last step down is watched for %v yet", g.Span-(g.clock.at-d.since))
	case approved:
		return g.theRest(is, d, want)
	default:
		return g.partOfTheWay(is, want)
	}
}

func (g *Gray) goBack(is *loadline.Allocation, d *descent, want loadline.Setting) (loadline.Setting, string) {
	if is.Brownout {
		return want, ""
	}
	changed := false
	for a := range axes {
		v, set := a.wanted(&want)
		was, now := a.of(&d.before), a.of(is)
		switch {
		case now < was && (!set || v < was):
			a.set(&want, was)
			changed = true
		case now >= was && set && v < was:
			a.unset(&want)
			changed = true
		}
	}
	if !changed {
		return want, ""
	}
	return want, fmt.Sprintf("back to what it was: the error budget burned after it was reduced; the next step down in %v at the earliest", g.Retreat-(g.clock.at-d.since))
}

func (g *Gray) theRest(is *loadline.Allocation, d *descent, want loadline.Setting) (loadline.Setting, string) {
	why := ""
	for a := range axes {
		v, _ := a.wanted(&want)
		if to := a.of(&d.target); a.falls(&want, is) && v < to && to < a.of(is) {
			a.set(&want, to)
			why = "the rest of the last step down, and no more yet"
		}
	}
	return want, why
}

func (g *Gray) partOfTheWay(is *loadline.Allocation, want loadline.Setting) (loadline.Setting, string) {
	why := ""
	for a := range axes {
		v, _ := a.wanted(&want)
		from := a.of(is)
		if !a.falls(&want, is) || math.IsInf(from, 1) {
			continue // without a limit there is no way to go part of
		}
		step := (from - v) * g.Part
		switch {
		case a.isCount():
			step = max(math.Floor(step), 1)
		case a.isBytes():
			step = math.Floor(step)
		}
		if to := from - step; to > v {
			a.set(&want, to)
			why = fmt.Sprintf("part of the way, watched for %v before the rest", g.Span)
		}
	}
	return want, why
}

// Decided begins or ends the watch, by what is really going to be done.
func (g *Gray) Decided(_ time.Time, s loadline.Situation, plan loadline.Plan) {
	at := g.clock.at
	for i := range plan.Services {
		p := &plan.Services[i]
		d, is := &g.of[p.Service], &s.InFlight[p.Service]
		switch down := falls(&p.Setting, is); {
		case down && d.stage == level:
			d.before, d.target = *is, d.asked
			d.enter(partly, at)
			if is.With(p.Setting) == d.target {
				d.enter(wholly, at)
			}
		case down && d.stage == approved:
			d.enter(wholly, at)
		case !down && d.stage != back && replicas.rises(&p.Setting, is):
			d.enter(level, at) // it is wanted again
		}
	}
}
