package guard

import (
	"testing"
	"time"
)

func TestClockOnlyGoesForward(t *testing.T) {
	var c clock
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, step := range []struct{ by, at time.Duration }{
		{0, 0}, {15 * time.Second, 15 * time.Second}, {-time.Hour, 15 * time.Second}, {15 * time.Second, 30 * time.Second},
		{1000 * 24 * time.Hour, 30*time.Second + farthest},
	} {
		now = now.Add(step.by)
		if at := c.advance(now); at != step.at {
			t.Fatalf("%v after a step of %v, want %v", at, step.by, step.at)
		}
	}
	c.advance(time.Time{})
	if at := c.advance(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)); at != 30*time.Second+2*farthest {
		t.Errorf("%v after all of history", at)
	}
}

func TestPeakForgets(t *testing.T) {
	const span = time.Minute
	var p peak
	if _, known := p.get(0, span); known {
		t.Error("a peak of nothing")
	}
	p.add(0, span, 5)
	for at := time.Duration(0); at < 5*time.Minute; at += 5 * time.Second {
		p.add(at, span, 1)
		v, known := p.get(at, span)
		if !known || at <= span && v != 5 || at > span+span/6 && v != 1 {
			t.Fatalf("peak %v after %v", v, at)
		}
	}
	if _, known := p.get(10*time.Minute, span); known {
		t.Error("a peak of long ago")
	}
}
