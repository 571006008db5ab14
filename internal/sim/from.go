package sim

import "time"

// From is a load as it is from an instant on, which becomes its beginning.
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
