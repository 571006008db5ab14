package policy

import "time"

// reading is a measured value that a policy keeps for a while.
type reading struct {
	at    time.Time
	value float64
}

// youngerThan drops the readings up to an instant; they are in order of time.
func youngerThan(readings []reading, cutoff time.Time) []reading {
	old := 0
	for old < len(readings) && !readings[old].at.After(cutoff) {
		old++
	}
	return append(readings[:0], readings[old:]...)
}
