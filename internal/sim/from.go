package sim

import "time"

// From is a load shifted so that it begins at the given instant.
func From(load Arrivals, start time.Duration) Arrivals { return from{load, start} }

type from struct {
	load  Arrivals
	start time.Duration
}

func (f from) Rate(kind int, t time.Duration) (perSecond float64, until time.Duration) {
	perSecond, until = f.load.Rate(kind, t+f.start)
	if until != Never {
		until -= f.start
	}
	return perSecond, until
}
