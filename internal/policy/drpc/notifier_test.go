package drpc

import (
	"fmt"
	"testing"

	"github.com/loadline/loadline"
)

// TestAlgorithm4 covers the lines of the algorithm.
func TestAlgorithm4(t *testing.T) {
	n := NewNotifier(NotifierConfig{Rewards: 3, Threshold: 0.5})
	for i, step := range []struct {
		reward float64
		why    string
	}{
		{0.1, "[]"}, {0.1, "[]"}, // line 8: not enough values
		{0.1, "[reward 0.1 is below 0.5]"}, // line 11
		{0.9, "[reward 0.367 is below 0.5]"},
		{0.9, "[]"}, {0.9, "[]"}, // line 13
		{-0.5, "[reward 0.433 is below 0.5]"},
	} {
		if why := fmt.Sprint(n.Notify(Signals{Reward: step.reward})); why != step.why {
			t.Errorf("step %d: %s, want %s", i, why, step.why)
		}
	}
	n.Reset()
	if why := n.Notify(Signals{}); why != nil {
		t.Errorf("%v right after training", why)
	}
}

func TestEveryReasonIsNamed(t *testing.T) {
	n := NewNotifier(NotifierConfig{Rewards: 1, Threshold: 0.5, Novelty: 0.2, Imitation: 0.3, Drift: 0.1})
	got := fmt.Sprint(n.Notify(Signals{Reward: 0.4, Novelty: 0.25, Imitation: 0.5, Drift: 0.2}))
	if want := "[reward 0.4 is below 0.5 novelty 0.25 is above 0.2 imitation 0.5 is above 0.3 drift 0.2 is above 0.1]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if why := NewNotifier(NotifierConfig{Rewards: 1}).Notify(Signals{Reward: 1, Novelty: 1, Imitation: 1, Drift: 1}); why != nil {
		t.Errorf("%v, though it is not checked", why)
	}
}

func TestNovelStates(t *testing.T) {
	s := NewVisitCounts()
	usual, other := Local{0.6, 0.6, 0.7, 0.7, 0.4}, Local{3.2, 0.6, 0.7, 0.7, 0.4}
	for range 10 {
		s.Add(&usual)
	}
	s.Add(&other)
	near := usual
	near[0] += 0.1
	kept := VisitCountsFrom(s.Table())
	for _, x := range []*VisitCounts{s, kept} {
		if x.Novel(&near) || !x.Novel(&other) || x.Cells() != 2 {
			t.Errorf("%d cells: near the usual is novel (%v), seen once is not (%v)", x.Cells(), x.Novel(&near), !x.Novel(&other))
		}
	}
}

func TestDrift(t *testing.T) {
	app := shop()
	o := calm(app).Window[0]
	before := MixOf(&o)
	o.Kinds[0].Rate = seen(30)
	if d := MixOf(&o).Drift(before); d != 0.25 {
		t.Errorf("a quarter of the requests has moved, drift is %v", d)
	}
	o.Kinds = make([]loadline.KindObservation, 2)
	if d := MixOf(&o).Drift(before); d != 0 {
		t.Errorf("nothing was measured, drift is %v", d)
	}
}
