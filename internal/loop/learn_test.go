package loop_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/loop"
)

// rateEncoder sees the rate, and rewards its growth.
type rateEncoder struct{}

func (rateEncoder) Features(s loadline.Situation, service int, into []float64) []float64 {
	return append(into, s.Now().Services[service].Rate.Value, float64(s.Allocation[service].Replicas))
}

func (rateEncoder) Reward(before, after loadline.Situation, service int) float64 {
	return after.Now().Services[service].Rate.Value - before.Now().Services[service].Rate.Value
}

func TestExperienceTellsWhatWasApplied(t *testing.T) {
	l, _, _ := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Keep: 2}, func(time.Time, loadline.Situation) (loadline.Proposal, error) {
		return replicas(9), nil
	}})
	var got []loadline.Experience
	l.Learn = &loop.Learn{Encoder: rateEncoder{}, Sink: func(e loadline.Experience) { got = append(got, e) }}
	run(t, l, 50*time.Second)
	if len(got) != 8 {
		t.Fatalf("%d experiences, want 4 steps of 2 services", len(got))
	}
	for i, e := range got {
		if e.Service != i%2 || e.Until.Sub(e.At) != 10*time.Second {
			t.Errorf("experience %d: service %d from %v to %v", i, e.Service, e.At, e.Until)
		}
	}
	first, idle := got[0], got[1]
	if first.Proposed.Replicas != loadline.Some(9) || first.Applied.Replicas != loadline.Some(3) {
		t.Errorf("proposed %v, applied %v, want 9 and 3", first.Proposed.Replicas, first.Applied.Replicas)
	}
	if !slices.Equal(first.ChangedBy, []string{"clamp"}) {
		t.Errorf("changed by %v", first.ChangedBy)
	}
	if !slices.Equal(first.Features, []float64{0, 1}) || !slices.Equal(first.Next, []float64{10, 3}) {
		t.Errorf("features %v then %v", first.Features, first.Next)
	}
	for _, e := range []loadline.Experience{got[0], got[2], got[4], got[6]} {
		if e.Reward != 10 {
			t.Errorf("reward %v, want 10: the situation before was overwritten", e.Reward)
		}
	}
	if !idle.Applied.Empty() || idle.ChangedBy != nil {
		t.Errorf("nothing was said of the second service, yet %+v", idle)
	}
}

func TestExperienceOfARefusedPlan(t *testing.T) {
	l, c, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Delay: time.Second}, oneMore})
	c.applyErr = errors.New("conflict")
	var got []loadline.Experience
	l.Learn = &loop.Learn{Encoder: rateEncoder{}, Sink: func(e loadline.Experience) { got = append(got, e) }}
	run(t, l, 15*time.Second)
	if e := got[0]; e.Proposed.Empty() || !e.Applied.Empty() || !slices.Equal(e.ChangedBy, []string{"cluster"}) {
		t.Errorf("%+v", e)
	}
	if d := (*records)[0]; d.Err == nil || !d.Applied.IsZero() {
		t.Errorf("recorded as applied: %+v", d)
	}
}
