package validate

import (
	"errors"
	"math"
	"testing"
)

// TestNeighboursVaryAsMachinesDo: the simulated use has the variation, the tail and the
// correlation over time that production machines have.
func TestNeighboursVaryAsMachinesDo(t *testing.T) {
	r, err := Neighbours(t.Context(), NeighboursOptions{Data: dataFolder(t, machineUsageFile)})
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, measured, simulated, within float64) {
		t.Helper()
		if math.Abs(simulated-measured) > within {
			t.Errorf("%s: measured %.2f, simulated %.2f", what, measured, simulated)
		}
	}
	near("coefficient of variation", r.Measured.CV[1], r.Simulated.CV[1], 0.03)
	near("p90", r.Measured.Percentiles[0], r.Simulated.Percentiles[0], 0.05)
	near("p99", r.Measured.Percentiles[1], r.Simulated.Percentiles[1], 0.15)
	for i := range variationLags {
		near("correlation", r.Measured.Correlation[i], r.Simulated.Correlation[i], 0.08)
	}
}

func TestNeighboursWithoutData(t *testing.T) {
	if _, err := Neighbours(t.Context(), NeighboursOptions{Data: t.TempDir()}); !errors.Is(err, ErrNoData) {
		t.Errorf("%v, want ErrNoData", err)
	}
}
