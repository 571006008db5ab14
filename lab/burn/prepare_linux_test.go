package burn

import (
	"testing"
	"time"
)

func TestSleepIsNotShort(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, 300 * time.Microsecond, 3 * time.Millisecond} {
		began := time.Now()
		Sleep(d)
		if took := time.Since(began); took < d {
			t.Errorf("slept %v, want at least %v", took, d)
		}
	}
}
