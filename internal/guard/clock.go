package guard

import "time"

// clock counts the time that was observed. The timers of the guards use it. It never
// runs backwards, and the time in which passes are missing does not count: when the
// process was stopped, the cluster could not be read, or the machine's clock was set, no
// cool-down ends for that.
type clock struct {
	period func() time.Duration // of the loop; nil = all time counts

	last        time.Time
	at          time.Duration
	begun       bool
	interrupted bool // passes are missing before the last one: what happened then is not known
}

const (
	// farthest is the most that one step counts: longer than every timer, and far below
	// the maximum of a Duration.
	farthest = 30 * 24 * time.Hour
	// leastGap is never taken for missing passes, and neither is a single one: rates are
	// means over longer times, and contain what happened in it.
	leastGap = 15 * time.Second
)

// advance sets the clock to an instant and returns the time on it, 0 at first.
func (c *clock) advance(now time.Time) time.Duration {
	elapsed := now.Sub(c.last)
	if !c.begun {
		elapsed = 0
	}
	c.last, c.begun = now, true
	most := farthest
	if c.period != nil {
		most = max(c.period()*5/2, leastGap)
	}
	c.interrupted = c.period != nil && (elapsed < 0 || elapsed > most)
	if !c.interrupted {
		c.at += min(max(elapsed, 0), most)
	}
	return c.at
}

// begin the clock at an instant, if it does not run yet.
func (c *clock) begin(t time.Time) {
	if !c.begun {
		c.last, c.begun = t, true
	}
}

// adopt goes on where another clock has got to.
func (c *clock) adopt(from clock) { c.last, c.at, c.begun = from.last, from.at, from.begun }

// instant is a time on the clock, or unset.
type instant struct {
	at  time.Duration
	set bool
}

func (i *instant) mark(at time.Duration) { *i = instant{at, true} }

// within reports whether the instant was less than a span ago.
func (i instant) within(at, span time.Duration) bool { return i.set && at-i.at < span }

// keep updates the beginning of an uninterrupted time: it stays where it is while the
// condition holds, and begins anew after it did not.
func (i *instant) keep(at time.Duration, uninterrupted, holds bool) {
	switch {
	case !holds:
		*i = instant{}
	case !i.set || !uninterrupted:
		i.mark(at)
	}
}

// reaches reports whether the instant was a span ago or more.
func (i instant) reaches(at, span time.Duration) bool { return i.set && at-i.at >= span }
