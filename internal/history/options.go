package history

import "time"

// Options select a part of a history. The zero value is all of it.
type Options struct {
	From, To time.Time     // steps that end after From and not after To; zero = open
	Last     time.Duration // only so much of the end; zero = all
	Services []string      // these, and their calls in both directions; empty = all
}
