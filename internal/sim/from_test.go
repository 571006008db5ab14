package sim

import (
	"testing"
	"time"
)

// stairs is a load that rises by one each minute, for three minutes.
type stairs struct{}

func (stairs) Rate(_ int, t time.Duration) (perSecond float64, until time.Duration) {
	minute := t / time.Minute
	if minute >= 3 {
		return 3, Never
	}
	return float64(minute), (minute + 1) * time.Minute
}

func TestALoadFromAnInstantOn(t *testing.T) {
	load := From(stairs{}, 90*time.Second)
	for _, row := range []struct {
		at, until time.Duration
		rate      float64
	}{
		{0, 30 * time.Second, 1},
		{30 * time.Second, 90 * time.Second, 2},
		{100 * time.Second, Never, 3},
	} {
		if rate, until := load.Rate(0, row.at); rate != row.rate || until != row.until {
			t.Errorf("at %v: %v until %v, want %v until %v", row.at, rate, until, row.rate, row.until)
		}
	}
}
