package profile

import (
	"fmt"
	"time"
)

// ChangeKind is how a change was detected.
type ChangeKind string

const (
	// Jumped: the windows no longer match the curve. A release, or a profile that was
	// wrong from the start.
	Jumped ChangeKind = "jumped"
	// Resized: instances have another size, which is observed and needs no test.
	Resized ChangeKind = "resized"
	// Refined: no new change, but a better estimate of the last one.
	Refined ChangeKind = "refined"
)

// Change is a profile that is no longer valid, and its replacement.
type Change struct {
	Service string     `json:"service"`
	Kind    ChangeKind `json:"kind"`
	At      time.Time  `json:"at"`      // when it was detected
	Since   time.Time  `json:"since"`   // the end of the first window that it explains
	Windows int        `json:"windows"` // that the new curve is based on
	// Factor is by how much visits take more time and work than before (see Stretch);
	// of a refined change, than before the change that it refines.
	Factor float64 `json:"factor"`
	Error  float64 `json:"factor_error"` // standard error of the factor
	// Profile is the new one; the errors of its points include that of the factor.
	Profile *Profile `json:"profile"`
}

// String describes the change in a sentence.
func (c Change) String() string {
	switch c.Kind {
	case Resized:
		return fmt.Sprintf("%s has instances of another size: visits take %.3g times as long by the CPU that they have", c.Service,
			c.Factor)
	case Refined:
		return fmt.Sprintf("%s: visits take %.3g ± %.2g times as long, by %d windows since %s", c.Service, c.Factor, c.Error, c.Windows,
			c.Since.UTC().Format(time.DateTime))
	}
	return fmt.Sprintf("%s no longer matches its profile: visits take %.3g ± %.2g times as long since %s (%d windows)", c.Service,
		c.Factor, c.Error, c.Since.UTC().Format(time.DateTime), c.Windows)
}
