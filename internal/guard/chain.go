package guard

import (
	"errors"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/loop"
)

// Chain returns the guards of an application in the order in which they are called:
//
//  1. sense, bounds: implausible values are dropped before anything is derived from
//     them, and the target is within the user's bounds.
//  2. disagreement: what is wanted at all, before how fast. It may lower a
//     proposal, and what it lowers has to pass the rest like any reduction.
//  3. observed, starting, burning: may the service be reduced at all, and to
//     what. Each only takes reductions back, so their order does not matter.
//  4. gray, cool-down, step: how fast. Gray comes before the others because its
//     step back is a raise like any other, and limited like one.
//  5. brownout: optional services off under overload. It does not conflict with the
//     guards above, since it changes an axis of its own.
//  6. calendar: least replicas at times that the user chose, at once.
//  7. absent, clamp: no other guard may undo them, so none comes after. Clamp
//     is last: from within the bounds it can only shorten a step, and it takes
//     nothing below what the others allowed, so their limits hold after it too.
//
// The rule may be nil; then there is no disagreement. The settings are
// valid.
func Chain(set Settings, app *loadline.App, rule Adviser) []loop.Guard {
	n, maxAge := len(app.Services), set.Data.MaxAge
	b := &set.Burn
	chain := []loop.Guard{Sense{}, Bounds{}}
	add := func(g loop.Guard) {
		if set.has(g.Name()) {
			chain = append(chain, g)
		}
	}
	if rule != nil {
		add(Disagreement{Rule: rule, Low: set.Disagreement.Low, High: set.Disagreement.High, Slack: set.Disagreement.Slack})
	}
	add(NewObserved(Observed{
		Window: set.Observed.Window, MaxAge: maxAge, OfLimit: set.Observed.OfLimit, OfRequest: set.Observed.OfRequest,
		OfWorkers: set.Observed.OfWorkers, OfMemory: set.Observed.OfMemory, Settle: set.Starting.Settle,
	}, n))
	add(NewStarting(set.Starting.Patience, n))
	add(NewBurning(Burning{Window: b.ScaleInWindow, Rate: b.ScaleInRate, MinOver: b.MinOver, Unmeasured: b.Unmeasured}, app, maxAge))
	add(NewGray(Gray{
		Part: set.Gray.Part, Span: set.Gray.Span, Retreat: set.Gray.Retreat,
		Window: b.ScaleInWindow, Rate: b.ScaleInRate, MinOver: b.MinOver,
	}, app, maxAge))
	add(NewCoolDown(set.CoolDown.Up, set.CoolDown.Down, n))
	add(set.Step)
	if d := &set.Brownout; len(d.Services) > 0 {
		add(NewBrownout(Brownout{Window: d.Window, Rate: d.Rate, MinOver: b.MinOver, Recovered: min(b.ScaleInRate, d.Rate),
			Recovery: d.Recovery}, app, d.Services, maxAge))
	}
	if len(set.Calendar) > 0 {
		chain = append(chain, NewCalendar(set.Calendar, app))
	}
	return append(chain, Absent{MaxAge: maxAge, Settle: set.Starting.Settle}, Clamp{AtOnce: set.Bounds.AtOnce})
}

// Guarded is the ladder, the guards and the filter of one application.
type Guarded struct {
	Ladder *Ladder
	Guards []loop.Guard
	Filter func(now time.Time, o *loadline.Observation)

	resumed time.Time // the pass after which another process left them
}

// Around returns them for a model, which may be nil, and a rule.
func Around(set Settings, app *loadline.App, model, rule loadline.Policy) (*Guarded, error) {
	if rule == nil {
		return nil, errors.New("the guard needs a rule to fall back on, such as hpa")
	}
	if err := set.Validate(app); err != nil {
		return nil, err
	}
	ladder := NewLadder(set, app, model, rule)
	g := &Guarded{Ladder: ladder, Guards: Chain(set, app, ladder), Filter: Filter(set)}
	g.noticeGaps(func() time.Duration { return ladder.needs.Period })
	return g, nil
}

// noticeGaps lets the timers that delay reductions stand still while passes are
// missing. Those of a brownout do not: they end one.
func (g *Guarded) noticeGaps(period func() time.Duration) {
	for _, guard := range g.Guards {
		switch guard := guard.(type) {
		case *Observed:
			guard.clock.period = period
		case *Starting:
			guard.clock.period = period
		case *Burning:
			guard.burn.clock.period = period
		case *Gray:
			guard.clock.period, guard.burn.clock.period = period, period
		case *CoolDown:
			guard.clock.period = period
		}
	}
}

// Filter returns the filter of observations: see Fresh, IgnoreStartupCPU and Complete.
func Filter(set Settings) func(now time.Time, o *loadline.Observation) {
	return func(now time.Time, o *loadline.Observation) {
		Fresh(now, set.Data.MaxAge, o)
		if set.has("startup-cpu") {
			IgnoreStartupCPU(set.Starting.Settle, o)
		}
		Complete(now, set.Data.MaxAge, set.Starting.Settle, o)
	}
}

// Within are the guards of a deployment that may change the given axes only, in a cluster as in
// a simulation: sizes are whole millicores and MiB.
func (g *Guarded) Within(axes Axes) []loop.Guard {
	return axes.Around(append(slices.Clone(g.Guards), Round{}))
}

// Install makes a loop use them.
func (g *Guarded) Install(l *loop.Loop) {
	l.Policy, l.Guards, l.Filter = g.Ladder, g.Guards, g.Filter
}
