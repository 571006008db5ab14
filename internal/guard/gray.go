package guard

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Gray reduces a service in two steps: part of the reduction first, then, after a time
// in which the SLO was met, the rest. If the error budget burns while either step is
// watched, the service returns to its former allocation and is not reduced for the time
// of the retreat.
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

// descent is the progress of one service's reduction.
type descent struct {
	stage  stage
	since  time.Duration
	broken bool                // the watch was interrupted, or the step is a single one: unwatched follows
	before loadline.Allocation // the first step
	asked  loadline.Allocation // in the check under way
	target loadline.Allocation // which the first step was part of the way to
	last   loadline.Allocation // before the last step
	low    int                 // replicas after it
}

type stage int

const (
	idle           stage = iota
	watchingFirst        // the first step is being watched
	approved             // the rest may follow
	watchingSecond       // the second step is being watched
	reverted             // a step was taken back
	unwatched            // a single step is over, or one that was not watched all the time: the next is short
)

// NewGray watches an application.
func NewGray(g Gray, app *loadline.App, maxAge time.Duration) *Gray {
	g.burn = NewBurn(app, maxAge, g.Window, g.Window)
	g.of = make([]descent, len(app.Services))
	return &g
}

// Name returns the name of the guard in records.
func (*Gray) Name() string { return "gray" }

// Watch evaluates the last steps.
func (g *Gray) Watch(now time.Time, s loadline.Situation) {
	at := g.clock.advance(now)
	g.burn.See(now, s)
	_, rate, over, known := g.burn.Worst(g.Window)
	burning := known && rate >= g.Rate && over >= g.MinOver
	seen := known && !g.clock.interrupted && !g.burn.clock.interrupted && g.burn.uncovered(0) < 0
	for i := range g.of {
		d := &g.of[i]
		elapsed := at - d.since
		watched := d.stage == watchingFirst || d.stage == watchingSecond
		waits := d.stage == approved || d.stage == unwatched
		switch {
		case (watched || waits) && (!lower(&s.InFlight[i], &d.before) || s.InFlight[i].Replicas > d.low):
			d.enter(idle, at) // the reduction was not applied, or replicas are wanted again
		case watched && burning:
			d.enter(reverted, at)
		case watched && !seen:
			d.since, d.broken = at, true // time without measurements does not count
		case d.stage == approved && !seen:
			d.enter(unwatched, at)
		case watched && elapsed >= g.Span && d.broken:
			d.enter(unwatched, at)
		case d.stage == watchingFirst && elapsed >= g.Span:
			d.enter(approved, at)
		case (d.stage == watchingSecond || waits) && elapsed >= g.Span, d.stage == reverted && elapsed >= g.Retreat:
			d.enter(idle, at)
		}
	}
}

// lower reports whether an allocation is less than another on any axis.
func lower(is, before *loadline.Allocation) bool {
	for a := range axes {
		if a.of(is) < a.of(before) {
			return true
		}
	}
	return false
}

// higher is the larger of two allocations on every axis.
func higher(a, b loadline.Allocation) loadline.Allocation {
	var set loadline.Setting
	for x := range axes {
		if x.of(&a) > x.of(&b) {
			x.set(&set, x.of(&a))
		}
	}
	return b.With(set)
}

func (d *descent) enter(to stage, at time.Duration) { d.stage, d.since, d.broken = to, at, false }

// Check shortens a first step down, holds while a step is watched, and reverts it if the
// error budget burned.
func (g *Gray) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	is, d := &s.InFlight[service], &g.of[service]
	if d.stage == reverted {
		return g.goBack(is, d, want)
	}
	if !reduces(&want, is) {
		return want, ""
	}
	d.asked = is.With(want)
	switch d.stage {
	case watchingFirst, watchingSecond:
		return withoutReductions(want, is), fmt.Sprintf("not reduced further: the last reduction is watched for another %v",
			g.Span-(g.clock.at-d.since))
	case approved:
		return g.secondStep(is, d, want)
	case unwatched:
		short, why := g.firstStep(is, want)
		if planned, limited := g.secondStep(is, d, short); limited != "" {
			return planned, limited
		}
		return short, why
	default:
		return g.firstStep(is, want)
	}
}

func (g *Gray) goBack(is *loadline.Allocation, d *descent, want loadline.Setting) (loadline.Setting, string) {
	if is.Brownout {
		return want, ""
	}
	changed := false
	for a := range axes {
		v, set := a.wanted(&want)
		switch was, now := a.of(&d.before), a.of(is); {
		case now < was && (!set || v < was):
			a.set(&want, was)
			changed = true
		case set && v < now:
			a.unset(&want)
			changed = true
		}
	}
	if !changed {
		return want, ""
	}
	return want, fmt.Sprintf("reverted: the error budget burned after the reduction; the next one in %v at the earliest",
		g.Retreat-(g.clock.at-d.since))
}

// secondStep goes no further than was planned on the axes of the first step; on others
// it is a first one.
func (g *Gray) secondStep(is *loadline.Allocation, d *descent, want loadline.Setting) (loadline.Setting, string) {
	why := ""
	for a := range axes {
		if !a.reduces(&want, is) {
			continue
		}
		v, _ := a.wanted(&want)
		switch to := a.of(&d.target); {
		case to < a.of(is) && v < to:
			a.set(&want, to)
			why = "second of two steps, no further than planned"
		case to >= a.of(is) && d.stage == approved && g.shorten(a, is, &want):
			why = fmt.Sprintf("first of two steps, watched for %v before the second", g.Span)
		}
	}
	return want, why
}

func (g *Gray) firstStep(is *loadline.Allocation, want loadline.Setting) (loadline.Setting, string) {
	why := ""
	for a := range axes {
		if a.reduces(&want, is) && g.shorten(a, is, &want) {
			why = fmt.Sprintf("first of two steps, watched for %v before the second", g.Span)
		}
	}
	return want, why
}

// shorten a reduction on an axis to part of the way, and report whether that changed it.
func (g *Gray) shorten(a axis, is *loadline.Allocation, want *loadline.Setting) bool {
	v, _ := a.wanted(want)
	from := a.of(is)
	if math.IsInf(from, 1) {
		return false // without a limit there is no way to go part of
	}
	step := (from - v) * g.Part
	switch {
	case a.isCount():
		step = max(math.Floor(step), 1)
	case a.isBytes():
		step = math.Floor(step)
	}
	if from-step <= v {
		return false
	}
	a.set(want, from-step)
	return true
}

// Decided starts or ends the watch according to the plan.
func (g *Gray) Decided(_ time.Time, s loadline.Situation, plan loadline.Plan) {
	at := g.clock.at
	for i := range plan.Services {
		p := &plan.Services[i]
		d, is := &g.of[p.Service], &s.InFlight[p.Service]
		if !reduces(&p.Setting, is) {
			continue
		}
		switch d.stage {
		case idle:
			d.before, d.target = *is, d.asked
			d.enter(watchingFirst, at)
			if is.With(p.Setting) == d.target { // one step is enough
				d.enter(watchingSecond, at)
				d.broken = true
			}
		case unwatched:
			d.before, d.target = higher(d.last, *is), d.asked
			d.enter(watchingSecond, at)
			d.broken = true
		case approved:
			d.enter(watchingSecond, at)
		}
		d.last, d.low = *is, is.With(p.Setting).Replicas
	}
}
