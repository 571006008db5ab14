package guard

import "time"

// clock is monotonic: a system clock that is set back neither ends a cool-down early nor
// prolongs it. The timers of the guards use it.
type clock struct {
	last  time.Time
	at    time.Duration
	begun bool
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
