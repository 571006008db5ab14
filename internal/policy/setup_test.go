package policy

import (
	"testing"
	"time"
)

// TestFloorsByTheClock: days are those on which a floor begins.
func TestFloorsByTheClock(t *testing.T) {
	monday := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		setting string
		day     int
		at      time.Duration
		want    bool
	}{
		{"08:00-20:00:5", 0, 8 * time.Hour, true},
		{"08:00-20:00:5", 0, 20 * time.Hour, false},
		{"Mon-Fri/08:00-20:00:web:5", 4, 12 * time.Hour, true},
		{"Mon-Fri/08:00-20:00:web:5", 5, 12 * time.Hour, false},
		{"Sat-Mon/08:00-20:00:5", 0, 12 * time.Hour, true},
		{"Sun/22:00-02:00:5", 6, 23 * time.Hour, true},
		{"Sun/22:00-02:00:5", 0, time.Hour, true},
		{"Sun/22:00-02:00:5", 6, time.Hour, false},
	} {
		floors := FloorsOf(row.setting)
		if got := floors[0].covers(monday.Add(time.Duration(row.day)*24*time.Hour + row.at)); got != row.want {
			t.Errorf("%s on day %d at %v: %v", row.setting, row.day, row.at, got)
		}
		if again := FloorSetting(floors); again != row.setting {
			t.Errorf("%s is written as %s", row.setting, again)
		}
	}
	for _, wrong := range []string{"Mo-Fri/08:00-20:00:5", "Mon-/08:00-20:00:5", "/08:00-20:00:5", "Mon-Fri/08:00-20:00:0"} {
		if floorSpec(wrong) == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}
