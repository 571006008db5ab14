package loop

import (
	"context"
	"fmt"
	"time"
)

// Periodic is what else happens on a cluster, such as holding a reserve that its applications share.
type Periodic struct {
	Every time.Duration
	Do    func(ctx context.Context, now time.Time) error
}

// ticker is a periodic with its next tick.
type ticker struct {
	Periodic
	next time.Time
}

// Together runs several loops with one clock, each as Run does, until the given instant: one for each
// application of a simulated cluster. At one instant plans that are due are applied first, then come
// the passes in the order of the loops, then the others.
func Together(ctx context.Context, until time.Time, loops []*Loop, others ...Periodic) error {
	clock := loops[0].Clock
	var tickers []ticker
	for _, l := range loops {
		period := l.Policy.Needs().Period
		if period <= 0 {
			return fmt.Errorf("policy %s: its period is %v and must be positive", l.Policy.Name(), period)
		}
		defer l.dropInFlight()
		pass := func(ctx context.Context, _ time.Time) error {
			_, err := l.Step(ctx)
			return err
		}
		tickers = append(tickers, ticker{Periodic{period, pass}, clock.Now()})
	}
	for _, p := range others {
		tickers = append(tickers, ticker{p, clock.Now()})
	}
	for at, more := earliest(until, tickers, loops); more; at, more = earliest(until, tickers, loops) {
		if err := clock.WaitUntil(ctx, at); err != nil {
			return err
		}
		for _, l := range loops {
			if err := l.applyDue(ctx); err != nil {
				return err
			}
		}
		for i := range tickers {
			t := &tickers[i]
			if t.next.After(at) || !t.next.Before(until) {
				continue
			}
			if err := t.Do(ctx, at); err != nil {
				return err
			}
			t.next = NextTick(t.next, t.Every, clock.Now())
		}
	}
	return clock.WaitUntil(ctx, until)
}

// earliest is when something is next due: a tick before the end, or a plan until then.
func earliest(until time.Time, tickers []ticker, loops []*Loop) (at time.Time, more bool) {
	for i := range tickers {
		if t := tickers[i].next; t.Before(until) && (!more || t.Before(at)) {
			at, more = t, true
		}
	}
	for _, l := range loops {
		if len(l.inFlight) == 0 {
			continue
		}
		if due := l.inFlight[0].due; !due.After(until) && (!more || due.Before(at)) {
			at, more = due, true
		}
	}
	return at, more
}
