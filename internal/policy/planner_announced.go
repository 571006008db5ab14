package policy

import (
	"time"

	"github.com/loadline/loadline"
)

// Announced events multiply the load: what is observed during one is divided by its factor before
// it is learned, so that the forecast stays that of usual days, and what is forecast is multiplied
// by the factor of the events until then. Those that overlap multiply each other.

// factorAt is the factor of the events at an instant.
func factorAt(events []loadline.Event, at time.Time) float64 {
	factor := 1.0
	for i := range events {
		if e := &events[i]; !at.Before(e.Start) && at.Before(e.End) && e.Factor > 0 {
			factor *= e.Factor
		}
	}
	return factor
}

// factorAhead is the largest factor within a time from now, and the event that begins last of those
// that it is of; nil = there is none.
func factorAhead(events []loadline.Event, now time.Time, lead time.Duration) (float64, *loadline.Event) {
	until := now.Add(lead)
	most, by := factorAt(events, now), (*loadline.Event)(nil)
	for i := range events {
		e := &events[i]
		switch {
		case e.Start.After(until):
		case !e.Start.After(now):
			if now.Before(e.End) && by == nil {
				by = e
			}
		default: // factors change at starts and ends; an end lowers it, or raises it where a factor is below 1
			if f := factorAt(events, e.Start); f > most {
				most, by = f, e
			}
		}
		if end := e.End; end.After(now) && !end.After(until) {
			most = max(most, factorAt(events, end))
		}
	}
	return most, by
}
