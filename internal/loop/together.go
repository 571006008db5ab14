package loop

import (
	"context"
	"fmt"
	"slices"
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

// Joint is several loops with one clock, and what else happens on their cluster: one loop for each
// application of a simulated cluster. At one instant plans that are due are applied first, then come
// the passes in the order of the loops, then the others.
type Joint struct {
	clock   Clock
	loops   []*Loop
	tickers []ticker
}

// Join puts loops on one clock, that of the first. Their first passes are due now.
func Join(loops []*Loop, others ...Periodic) (*Joint, error) {
	j := &Joint{clock: loops[0].Clock, loops: loops}
	for _, l := range loops {
		period := l.Policy.Needs().Period
		if period <= 0 {
			return nil, fmt.Errorf("policy %s: its period is %v and must be positive", l.Policy.Name(), period)
		}
		pass := func(ctx context.Context, _ time.Time) error {
			_, err := l.Step(ctx)
			return err
		}
		j.tickers = append(j.tickers, ticker{Periodic{period, pass}, j.clock.Now()})
	}
	for _, p := range others {
		j.tickers = append(j.tickers, ticker{p, j.clock.Now()})
	}
	return j, nil
}

// Until runs the loops, each as Run does, until the given instant: ticks at that instant are left to
// the next call. In how many parts a run is made does not change it.
func (j *Joint) Until(ctx context.Context, until time.Time) error {
	for at, more := earliest(until, j.tickers, j.loops); more; at, more = earliest(until, j.tickers, j.loops) {
		if err := j.clock.WaitUntil(ctx, at); err != nil {
			return err
		}
		for _, l := range j.loops {
			if err := l.applyDue(ctx); err != nil {
				return err
			}
		}
		for i := range j.tickers {
			t := &j.tickers[i]
			if t.next.After(at) || !t.next.Before(until) {
				continue
			}
			if err := t.Do(ctx, at); err != nil {
				return err
			}
			t.next = NextTick(t.next, t.Every, j.clock.Now())
		}
	}
	return j.clock.WaitUntil(ctx, until)
}

// End records the plans that will not be applied.
func (j *Joint) End() {
	for _, l := range slices.Backward(j.loops) {
		l.dropInFlight()
	}
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
