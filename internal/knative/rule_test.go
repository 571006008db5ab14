package knative

import (
	"errors"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// second of a revision with pods that have a direct load each, and a load in activators; a negative one
// means that they did not answer.
func of(ready int, each, activators float64) Load {
	l := Load{Ready: ready}
	for range ready {
		l.Direct, l.All = append(l.Direct, each), append(l.All, each)
	}
	if activators >= 0 {
		l.Activators, l.Waiting = loadline.Some(activators), activators
	}
	return l
}

// play a rule for some ticks with the same load.
func play(t *testing.T, r *Rule, from time.Time, ticks int, replicas int32, l Load) (Wanted, time.Time, error) {
	t.Helper()
	var w Wanted
	var err error
	for range ticks {
		from = from.Add(tick)
		l.At = from
		w, err = r.Decide(from, replicas, []Load{l, l})
	}
	return w, from, err
}

func newRule(t *testing.T, annotations ...string) *Rule {
	t.Helper()
	s, err := SettingsOf(revision("", 0, false, annotations...), DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRule("hello-00001", s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRule(t *testing.T) {
	for _, row := range []struct {
		name        string
		annotations []string
		replicas    int32
		load        Load
		want        int32
	}{
		{"the target's share of the load in pods and activators", []string{"target=10"}, 2, of(2, 7, 21), 5},
		{"a load of nothing wants nothing", []string{"target=10"}, 1, of(1, 0, 0), 0},
		{"a request in an activator wants a pod", []string{"target=10"}, 0, of(0, 0, 1), 1},
		{"many of them want many", []string{"target=10"}, 0, of(0, 0, 70), 10},
		{"nothing in the activators leaves it at zero", nil, 0, of(0, 0, 0), 0},
		{"without activators the last pod stays", []string{"target=10"}, 1, of(1, 0, -1), 1},
		{"without activators pods are counted by themselves", []string{"target=10"}, 2, of(2, 14, -1), 4},
		{"pods that did not answer are as the others", []string{"target=10"}, 4, Load{Ready: 4, Direct: []float64{7, 7}, All: []float64{7, 7},
			Activators: loadline.Some(0.0)}, 4},
		{"requests per second, likewise", []string{"metric=rps", "target=100"}, 2, of(2, 140, 0), 4},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, _, err := play(t, newRule(t, row.annotations...), noon, 45, row.replicas, row.load)
			if err != nil || w.Replicas != row.want {
				t.Errorf("%d (%s), %v; want %d", w.Replicas, w.Why, err, row.want)
			}
		})
	}
}

// TestRuleWithoutData: nothing is decided, and the scale of a restarted process holds for a window.
func TestRuleWithoutData(t *testing.T) {
	r := newRule(t, "target=10")
	if _, _, err := play(t, r, noon, 3, 4, Load{Ready: 4, Activators: loadline.Some(0.0)}); !errors.Is(err, loadline.ErrNoData) {
		t.Errorf("no pod has answered: %v", err)
	}
	w, now, err := play(t, r, noon, 3, 4, of(4, 0, 0))
	if err != nil || w.Replicas != 4 {
		t.Errorf("a rule that has just begun: %+v, %v", w, err)
	}
	if w, _, err = play(t, r, now, 60, 4, of(4, 0, 0)); err != nil || w.Replicas > 2 {
		t.Errorf("two minutes later: %+v, %v", w, err)
	}
}

// TestRuleWakesAfterSilence: at zero with activators that do not answer, requests may be waiting.
func TestRuleWakesAfterSilence(t *testing.T) {
	r := newRule(t)
	_, now, err := play(t, r, noon, 15, 0, of(0, 0, -1))
	if !errors.Is(err, loadline.ErrNoData) {
		t.Errorf("half a minute: %v", err)
	}
	if w, _, err := play(t, r, now, 20, 0, of(0, 0, -1)); err != nil || w.Replicas != 1 {
		t.Errorf("more than a minute: %+v, %v", w, err)
	}
	r = newRule(t)
	_, now, _ = play(t, r, noon, 15, 0, of(0, 0, -1))
	_, now, _ = play(t, r, now, 1, 0, of(0, 0, 0))
	if _, _, err := play(t, r, now, 25, 0, of(0, 0, -1)); !errors.Is(err, loadline.ErrNoData) {
		t.Errorf("an answer in between begins the time again: %v", err)
	}
}

// TestRuleScaleDownDelay: what was wanted within the delay is kept.
func TestRuleScaleDownDelay(t *testing.T) {
	r := newRule(t, "target=10", "scale-down-delay=5m", "window=6s")
	w, now, err := play(t, r, noon, 30, 4, of(4, 7, 0))
	if err != nil || w.Replicas != 4 {
		t.Fatalf("%+v, %v", w, err)
	}
	if w, now, err = play(t, r, now, 60, 4, of(4, 1, 0)); err != nil || w.Replicas != 4 {
		t.Errorf("two minutes later: %+v, %v", w, err)
	}
	if w, _, err = play(t, r, now, 120, 4, of(4, 1, 0)); err != nil || w.Replicas >= 4 {
		t.Errorf("six minutes later: %+v, %v", w, err)
	}
}

// TestByLoadLine: its decision counts, the rule's as long as there is none, and a request that waits is
// not left to its next pass.
func TestByLoadLine(t *testing.T) {
	from := source{service: "hello"}
	busy, idle := Wanted{Replicas: 2, Load: loadline.Some(3.0)}, Wanted{Replicas: 0, Load: loadline.Some(0.0)}
	for _, row := range []struct {
		name string
		says decided
		rule *Wanted
		want int32
	}{
		{"it decides", decided{n: 7}, &busy, 7},
		{"it decides without the rule's data", decided{n: 7}, nil, 7},
		{"zero, when nothing waits", decided{n: 0}, &idle, 0},
		{"zero, but a request waits", decided{n: 0}, &busy, 1},
		{"without a decision the rule decides", decided{err: errors.New("stale")}, &busy, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			rule := row.rule
			if rule != nil {
				copied := *rule
				rule = &copied
			}
			w := (&tracked{}).byLoadLine(row.says, noon, from, rule)
			if w == nil || w.Replicas != row.want {
				t.Errorf("%+v, want %d", w, row.want)
			}
		})
	}
	if w := (&tracked{}).byLoadLine(decided{err: errors.New("stale")}, noon, from, nil); w != nil {
		t.Errorf("neither knows anything: %+v", w)
	}
}
