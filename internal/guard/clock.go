package guard

import "time"

// clock counts time that only goes forward. The guards' timers run on it, so
// that a clock that is set back neither ends a cool-down early nor makes it
// last until the old time comes round again.
type clock struct {
	last  time.Time
	at    time.Duration
	begun bool
}

// farthest is the most that one step counts: beyond every timer, and far from
// the end of a Duration.
const farthest = 30 * 24 * time.Hour

// advance to an instant and return the time on the clock, 0 at first.
func (c *clock) advance(now time.Time) time.Duration {
	if c.begun && now.After(c.last) {
		c.at += min(now.Sub(c.last), farthest)
	}
	c.last, c.begun = now, true
	return c.at
}

// instant is a time on a clock that may not have come.
type instant struct {
	at  time.Duration
	set bool
}

func (i *instant) mark(at time.Duration) { *i = instant{at, true} }

// within says whether the instant was less than a span ago.
func (i instant) within(at, span time.Duration) bool { return i.set && at-i.at < span }
