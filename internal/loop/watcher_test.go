package loop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/loop"
)

// diary is a guard that keeps a list of its calls, and wants two replicas of
// services that the proposal does not contain.
type diary struct{ lines []string }

func (d *diary) Name() string { return "diary" }

func (d *diary) Watch(now time.Time, s loadline.Situation) {
	d.lines = append(d.lines, fmt.Sprintf("watch %v", now.Sub(start)))
}

func (d *diary) Check(_ time.Time, _ loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	d.lines = append(d.lines, fmt.Sprintf("check %d %d", service, want.Replicas.Value))
	if want.Empty() {
		return loadline.Setting{Replicas: loadline.Some(2)}, "not in the proposal"
	}
	return want, ""
}

func (d *diary) Decided(_ time.Time, _ loadline.Situation, p loadline.Plan) {
	d.lines = append(d.lines, fmt.Sprintf("decided %d", len(p.Services)))
}

func TestWatchersSeeEveryPassAndEveryService(t *testing.T) {
	l, c, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second},
		func(time.Time, loadline.Situation) (loadline.Proposal, error) { return replicas(3), nil }})
	d := &diary{}
	l.Guards = append([]loop.Guard{d}, l.Guards...)
	run(t, l, 15*time.Second)
	want := "watch 0s, check 0 3, check 1 0, decided 2, watch 10s, check 0 3, check 1 0, decided 0"
	if got := strings.Join(d.lines, ", "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if c.alloc[0].Replicas != 3 || c.alloc[1].Replicas != 2 {
		t.Errorf("%+v", c.alloc)
	}
	if changed := (*records)[0].Changed; len(changed) != 1 || changed[0].Service != 1 || changed[0].Reason != "not in the proposal" {
		t.Errorf("recorded %+v", changed)
	}
}

func TestWatchersMayChangeServicesWhenThePolicyFails(t *testing.T) {
	l, c, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second},
		func(time.Time, loadline.Situation) (loadline.Proposal, error) { return replicas(3), loadline.ErrNoData }})
	l.Guards = append([]loop.Guard{&diary{}}, l.Guards...)
	run(t, l, 5*time.Second)
	if c.alloc[0].Replicas != 2 || (*records)[0].Err == nil {
		t.Errorf("%+v, recorded %v", c.alloc, (*records)[0].Err)
	}
}

func TestFilterComesBeforeThePolicy(t *testing.T) {
	var seen float64
	l, _, _ := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second},
		func(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
			seen = s.Now().Services[0].Rate.Value
			return loadline.Proposal{}, nil
		}})
	l.Filter = func(now time.Time, o *loadline.Observation) { o.Services[0].Rate.Value = 77 }
	run(t, l, 5*time.Second)
	if seen != 77 {
		t.Errorf("the policy saw %v", seen)
	}
}
