package drpc

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

func TestPaceFollowsTheLoad(t *testing.T) {
	pace := Pace{Least: 10 * time.Second, Most: 2 * time.Minute, Tolerance: 0.05}
	for _, c := range []struct {
		name          string
		rate          func(seconds float64) float64
		ahead         float64 // relative to the rate
		changed, late bool
		want          time.Duration
	}{
		{"a still load is looked at seldom", func(float64) float64 { return 1000 }, 1, false, false, 2 * time.Minute},
		{"chance is no movement", func(s float64) float64 { return 1000 + 5*float64(int(s)%2) }, 1, false, false, 2 * time.Minute},
		{"a load that grows by a tenth in a minute, often", func(s float64) float64 { return 1000 * math.Pow(1.1, s/60) }, 1, false,
			false, 40 * time.Second},
		{"one that doubles in a minute, as often as can be", func(s float64) float64 { return 1000 * math.Pow(2, s/60) }, 1, false,
			false, 10 * time.Second},
		{"what is expected counts", func(float64) float64 { return 1000 }, 1.5, false, false, 40 * time.Second},
		{"after a change, the next decision comes when its effect shows", func(float64) float64 { return 1000 }, 1, true, false,
			30 * time.Second},
		{"a late service is decided again at once", func(float64) float64 { return 1000 }, 1, true, true, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p pacer
			now := noon
			for range 12 {
				if !p.isDue(now, pace) {
					t.Fatalf("not due at %v, which it has chosen", now)
				}
				rate := c.rate(now.Sub(noon).Seconds())
				p.decided(now, pace, loadline.Sample{Value: rate, At: now}, c.ahead*rate, 5*time.Minute, 30*time.Second, c.changed, c.late)
				if p.isDue(now.Add(p.every-pace.Least), pace) && p.every > pace.Least {
					t.Fatal("due a beat early")
				}
				now = now.Add(p.every)
			}
			if p.every != c.want {
				t.Errorf("decides every %v, want %v", p.every, c.want)
			}
		})
	}
}

func TestPaceIsChecked(t *testing.T) {
	if err := (Pace{Least: time.Millisecond, Most: time.Microsecond, Tolerance: 2}).Validate(); err == nil {
		t.Error("was accepted")
	}
	if err := DefaultPace().Validate(); err != nil {
		t.Error(err)
	}
}
