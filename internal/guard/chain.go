package guard

import (
	"errors"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/loop"
)

// Chain is the guards of an application in the order in which they are asked:
//
//  1. sense: nonsense goes first, so that nothing is made of it.
//  2. disagreement: what is wanted at all, before how fast. It may lower a
//     proposal, and what it lowers has to pass the rest like any reduction.
//  3. observed, starting, burning: may the service be reduced at all, and to
//     what. Each only takes reductions back, so their order does not matter.
//  4. gray, cool-down, step: how fast. Gray comes before the others because its
//     step back is a raise like any other, and limited like one.
//  5. brownout: what is done without in need. It goes against nothing above, since
//     it moves an axis of its own.
//  6. absent, clamp: what nothing may undo, and so nothing that could comes after
//     them. Clamp is last: from within the bounds it can only shorten a step, so
//     the step limits hold after it too.
//
// The rule may be nil; then there is nobody to disagree with. The settings are
// valid.
func Chain(set Settings, app *loadline.App, rule Adviser) []loop.Guard {
	n, maxAge := len(app.Services), set.Data.MaxAge
	b := &set.Burn
	chain := []loop.Guard{Sense{}}
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
		OfWorkers: set.Observed.OfWorkers, OfMemory: set.Observed.OfMemory,
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
	return append(chain, Absent{MaxAge: maxAge}, Clamp{})
}

// Guarded is all that keeps one application safe.
type Guarded struct {
	Ladder *Ladder
	Guards []loop.Guard
	Filter func(now time.Time, o *loadline.Observation)
}

// Around puts everything around a model, which may be nil, and a rule.
func Around(set Settings, app *loadline.App, model, rule loadline.Policy) (*Guarded, error) {
	if rule == nil {
		return nil, errors.New("the guard needs a rule to fall back on, such as hpa")
	}
	if err := set.Validate(app); err != nil {
		return nil, err
	}
	ladder := NewLadder(set, app, model, rule)
	return &Guarded{Ladder: ladder, Guards: Chain(set, app, ladder), Filter: Filter(set)}, nil
}

// Filter puts observations in order before anything looks at them.
func Filter(set Settings) func(now time.Time, o *loadline.Observation) {
	return func(now time.Time, o *loadline.Observation) {
		Fresh(now, set.Data.MaxAge, o)
		if set.has("startup-cpu") {
			IgnoreStartupCPU(set.Starting.Settle, o)
		}
	}
}

// Install has a loop use it.
func (g *Guarded) Install(l *loop.Loop) {
	l.Policy, l.Guards, l.Filter = g.Ladder, g.Guards, g.Filter
}
