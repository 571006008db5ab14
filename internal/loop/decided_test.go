package loop_test

import (
	"errors"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// Decided is called while the situation is valid, Record later, in the order in
// which plans are applied.
func TestDecidedComesWithTheSituation(t *testing.T) {
	l, _, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Delay: 15 * time.Second}, oneMore})
	var decided []loadline.Decision
	l.Decided = func(d *loadline.Decision, s loadline.Situation) {
		if got := s.Now().Services[0].Rate.Value; got != d.At.Sub(start).Seconds() {
			t.Errorf("at %v the rate of %v was shown", d.At, got)
		}
		if !d.Applied.IsZero() || len(d.Plan.Services) > 0 && s.InFlight[0].Replicas >= d.Plan.Services[0].Setting.Replicas.Value {
			t.Errorf("decided %+v with %+v in flight", d, s.InFlight)
		}
		decided = append(decided, *d)
	}
	run(t, l, 31*time.Second)
	if len(decided) != 4 || len(*records) != 4 {
		t.Fatalf("%d decisions decided, recorded %d, want 4", len(decided), len(*records))
	}
	for i, d := range decided {
		if want := start.Add(time.Duration(i) * 10 * time.Second); !d.At.Equal(want) {
			t.Errorf("decided %v, want %v", d.At, want)
		}
	}
}

func TestWithoutAnObservationNothingIsDecided(t *testing.T) {
	l, c, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second}, oneMore})
	c.observeErr = errors.New("connection refused")
	l.Decided = func(*loadline.Decision, loadline.Situation) { t.Error("Decided was called") }
	run(t, l, 5*time.Second)
	if len(*records) != 1 {
		t.Errorf("%d records, want the one that says why", len(*records))
	}
}
