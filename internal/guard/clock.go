package guard

import "time"

// clock is monotonic: a system clock that is set back neither ends a cool-down early nor
// prolongs it. The timers of the guards use it.
type clock struct {
	last   time.Time
	at     time.Duration
	origin time.Duration // where it began: 0, or where another process had got to
	begun  bool
}

// farthest is the most that one step counts: longer than every timer, and far below the
// maximum of a Duration.
const farthest = 30 * 24 * time.Hour

// advance sets the clock to an instant and returns the time on it, 0 at first.
func (c *clock) advance(now time.Time) time.Duration {
	if c.begun && now.After(c.last) {
		c.at += min(now.Sub(c.last), farthest)
	}
	c.last, c.begun = now, true
	return c.at
}

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

// gap notices passes that did not take place: the process was down or stopped, or the
// cluster could not be observed. What happened in between is not known.
type gap struct {
	period func() time.Duration // of the loop; nil = gaps are not looked for
	last   instant
}

// leastGap is never taken for a missing pass: rates are means over longer times.
const leastGap = 15 * time.Second

// interrupted reports whether passes are missing before this one.
func (g *gap) interrupted(at time.Duration) bool {
	was := g.last
	g.last.mark(at)
	if g.period == nil || !was.set {
		return false
	}
	return at-was.at > max(g.period()*7/4, leastGap)
}
