package pipeline

import "testing"

// TestPhases: every part of the progress of an evaluation has a name, in the order of its looks.
func TestPhases(t *testing.T) {
	for share, want := range map[float64]string{
		0: "search on the selection part", 0.49: "search on the selection part", 0.5: "the whole test part",
		lookShares[0][0]: "the test part, request by request", lookShares[0][1]: "other conditions",
		lookShares[1][0]: "more runs, as the answer is not clear", lookShares[2][0]: "more runs, as the answer is not clear",
		lookShares[2][1]: "Scaling-Ops' environment", 1: "Scaling-Ops' environment",
	} {
		if got := PhaseAt(share); got != want {
			t.Errorf("at %v: %s, want %s", share, got, want)
		}
	}
	for i := 1; i < len(phases); i++ {
		if phases[i].from <= phases[i-1].from {
			t.Errorf("%s begins before %s", phases[i].name, phases[i-1].name)
		}
	}
}
