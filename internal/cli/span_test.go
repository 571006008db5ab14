package cli

import (
	"testing"
	"time"
)

func TestSpansMayBeDays(t *testing.T) {
	day := 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"7d": 7 * day, "14d": 14 * day, "2w": 14 * day, "1w2d": 9 * day, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour,
		"36h": 36 * time.Hour, "90m": 90 * time.Minute, "15s": 15 * time.Second, "0": 0,
	} {
		if got, err := parseSpan(text); err != nil || got != want {
			t.Errorf("%q is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "7", "7 days", "-3d", "-1h", "1h2d", "nand", "1e9d", "3dd"} {
		if got, err := parseSpan(text); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
	s := span(7 * day)
	if s.String() != "7d" {
		t.Errorf("a week is written %q", s.String())
	}
}
