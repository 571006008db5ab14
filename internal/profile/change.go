package profile

import (
	"fmt"
	"time"
)

// ChangeKind is how a change came to be known.
type ChangeKind string

const (
	// Jumped: the windows no longer fit the curve. A release, or a profile that was
	// wrong from the beginning.
	Jumped ChangeKind = "jumped"
	// Resized: instances have another size, which is seen and needs no test.
	Resized ChangeKind = "resized"
	// Refined: no new change, but what the last one came to is known better.
	Refined ChangeKind = "refined"
)

// Change is a profile that no longer holds, and the one that does.
type Change struct {
	Service string     `json:"service"`
	Kind    ChangeKind `json:"kind"`
	At      time.Time  `json:"at"`      // when it was noticed
	Since   time.Time  `json:"since"`   // the end of the first window that it explains
	Windows int        `json:"windows"` // that tell of the new curve
	// Factor is by how much visits take more time and work than before (see Stretch);
	// of a refined change, than before the change that it refines.
	Factor float64 `json:"factor"`
	Error  float64 `json:"factor_error"` // standard error of the factor
	// Profile is the new one; the errors of its points hold the factor's.
	Profile *Profile `json:"profile"`
}

// String tells it in a sentence.
func (c Change) String() string {
	switch c.Kind {
	case Resized:
		return fmt.Sprintf("%s has instances of another size: visits take %.3g times as long by the CPU that they have", c.Service, c.Factor)
	case Refined:
		return fmt.Sprintf("%s: visits take %.3g ± %.2g times as long, by %d windows since %s", c.Service, c.Factor, c.Error, c.Windows, c.Since.UTC().Format(time.DateTime))
	}
	return fmt.Sprintf("%s no longer fits its profile: visits take %.3g ± %.2g times as long since %s (%d windows)", c.Service, c.Factor, c.Error, c.Since.UTC().Format(time.DateTime), c.Windows)
}
