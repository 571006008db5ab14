package loop_test

import (
	"errors"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// Whoever keeps records is told of a decision while what it rests on is still
// there, and of its end later, in the order of the ends.
func TestDecidedComesWithTheSituation(t *testing.T) {
	l, _, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Delay: 15 * time.Second}, oneMore})
	var told []loadline.Decision
	l.Decided = func(d *loadline.Decision, s loadline.Situation) {
		if got := s.Now().Services[0].Rate.Value; got != d.At.Sub(start).Seconds() {
			t.Errorf("at %v the rate of %v was shown", d.At, got)
		}
		if !d.Applied.IsZero() || len(d.Plan.Services) > 0 && s.InFlight[0].Replicas >= d.Plan.Services[0].Setting.Replicas.Value {
			t.Errorf("told of %+v with %+v in flight", d, s.InFlight)
		}
		told = append(told, *d)
	}
	run(t, l, 31*time.Second)
	if len(told) != 4 || len(*records) != 4 {
		t.Fatalf("told of %d decisions, recorded %d, want 4", len(told), len(*records))
	}
	for i, d := range told {
		if want := start.Add(time.Duration(i) * 10 * time.Second); !d.At.Equal(want) {
			t.Errorf("told of %v, want %v", d.At, want)
		}
	}
}

func TestWithoutAnObservationNothingIsDecided(t *testing.T) {
	l, c, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second}, oneMore})
	c.observeErr = errors.New("connection refused")
	l.Decided = func(*loadline.Decision, loadline.Situation) { t.Error("told of a decision") }
	run(t, l, 5*time.Second)
	if len(*records) != 1 {
		t.Errorf("%d records, want the one that says why", len(*records))
	}
}
