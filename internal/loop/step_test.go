package loop_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/loop"
)

func TestStepReturnsTheWholePass(t *testing.T) {
	l, c, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second}, oneMore})
	pass, err := l.Step(t.Context())
	if err != nil || !pass.Observed() || !pass.Decision.Applied.Equal(start) || pass.Decision.Err != nil {
		t.Fatalf("%+v, %v", pass.Decision, err)
	}
	if c.alloc[0].Replicas != 2 || pass.Situation.Allocation[0].Replicas != 1 || len(*records) != 1 {
		t.Errorf("%d replicas, %d before the pass, %d records", c.alloc[0].Replicas, pass.Situation.Allocation[0].Replicas, len(*records))
	}
	c.applyErr = errors.New("conflict")
	if pass, _ = l.Step(t.Context()); pass.Decision.Err == nil || pass.Decision.Err.Error() != "apply: conflict" ||
		!pass.Decision.Applied.IsZero() {
		t.Errorf("after a failed apply: %+v", pass.Decision)
	}
	c.observeErr = errors.New("connection refused")
	if pass, _ = l.Step(t.Context()); pass.Observed() || pass.Decision.Err == nil {
		t.Errorf("without an observation: %+v", pass.Decision)
	}
}

func TestPlansHaveTheReserveWhereTheClusterKeepsIt(t *testing.T) {
	room := loadline.Room{Cores: 2}
	decide := func(time.Time, loadline.Situation) (loadline.Proposal, error) {
		return loadline.Proposal{Reserve: loadline.Some(room)}, nil
	}
	l, c, _ := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second}, decide})
	step := func() loadline.Opt[loadline.Room] {
		t.Helper()
		pass, err := l.Step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return pass.Decision.Plan.Reserve
	}
	if got := step(); got.Set || len(c.applied) != 0 {
		t.Errorf("plan with %+v, applied at %v: the reserve is the controller's", got, c.applied)
	}
	l.Reserves = true
	c.applyErr = errors.New("conflict")
	step()
	c.applyErr = nil
	if got := step(); got != loadline.Some(room) || len(c.applied) != 1 {
		t.Errorf("plan with %+v, applied at %v: what failed is planned again", got, c.applied)
	}
	if got := step(); got.Set || len(c.applied) != 1 {
		t.Errorf("plan with %+v, applied at %v: nothing has changed", got, c.applied)
	}
	room.Cores = 1
	if got := step(); got != loadline.Some(room) {
		t.Errorf("plan with %+v, want %+v", got, room)
	}
}

func TestImmediateLeavesTheDelayOut(t *testing.T) {
	l, c, _ := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Delay: 4 * time.Second}, oneMore})
	l.Immediate = true
	if pass, err := l.Step(t.Context()); err != nil || !pass.Decision.Applied.Equal(start) || c.alloc[0].Replicas != 2 {
		t.Errorf("%+v, %v", pass.Decision, err)
	}
}

func TestStepEndsWithTheContext(t *testing.T) {
	l, _, _ := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second}, oneMore})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Step(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Training decides from outside: between the halves of a pass it chooses an action by
// what was observed, and after the pass it advances the simulated clock.
func TestBeginAndFinishAreOnePass(t *testing.T) {
	var action int
	l, c, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Delay: 4 * time.Second},
		func(time.Time, loadline.Situation) (loadline.Proposal, error) { return replicas(action), nil }})
	for i, want := range []int{2, 3, 1} {
		pass, err := l.Begin(t.Context())
		if err != nil || !pass.Observed() || len(*records) != i {
			t.Fatalf("%+v, %v, %d records", pass, err, len(*records))
		}
		action = want
		if err := l.Finish(t.Context()); err != nil || !pass.Decision.Applied.IsZero() {
			t.Fatalf("applied before its delay: %+v, %v", pass.Decision, err)
		}
		if err := l.WaitUntil(t.Context(), start.Add(time.Duration(i+1)*10*time.Second)); err != nil {
			t.Fatal(err)
		}
		if c.alloc[0].Replicas != want || pass.Decision.Applied.IsZero() {
			t.Errorf("step %d: %d replicas, want %d", i, c.alloc[0].Replicas, want)
		}
	}
	c.observeErr = errors.New("connection refused")
	if pass, err := l.Begin(t.Context()); err != nil || pass.Observed() || len(*records) != 4 {
		t.Errorf("a pass without an observation ends with its first half: %+v, %v, %d records", pass, err, len(*records))
	}
}

// The memory of a plan is used again once it is recorded, never while it is in flight.
func TestPlansInFlightKeepTheirMemory(t *testing.T) {
	action := 0
	l, c, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Delay: 25 * time.Second},
		func(time.Time, loadline.Situation) (loadline.Proposal, error) { return replicas(action), nil }})
	l.Guards = nil
	var applied []int
	l.Record = func(d *loadline.Decision) { applied = append(applied, d.Plan.Services[0].Setting.Replicas.Value) }
	for action = 2; action < 10; action++ {
		if _, err := l.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.WaitUntil(t.Context(), c.now.Add(10*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(applied, []int{2, 3, 4, 5, 6, 7}) || len(*records) != 0 {
		t.Errorf("applied %v, want 2 to 7", applied)
	}
}

func TestResetBeginsAnew(t *testing.T) {
	l, c, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Delay: 15 * time.Second, Keep: 3}, oneMore})
	for range 2 {
		if _, err := l.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.Reset()
	if n := len(*records); n != 2 || !errors.Is((*records)[0].Err, loop.ErrNotApplied) {
		t.Fatalf("%d records of plans in flight: %+v", n, *records)
	}
	pass, err := l.Begin(t.Context())
	if err != nil || len(pass.Situation.Window) != 1 || pass.Situation.InFlight[0].Replicas != c.alloc[0].Replicas {
		t.Errorf("%d observations, %d replicas in flight, %v", len(pass.Situation.Window), pass.Situation.InFlight[0].Replicas, err)
	}
}

// realTime is a cluster and a clock that read the time of the synctest bubble.
type realTime struct{ *fakeCluster }

func (c realTime) Now() time.Time { return time.Now() }

func (c realTime) WaitUntil(ctx context.Context, t time.Time) error {
	time.Sleep(time.Until(t))
	return ctx.Err()
}

func (c realTime) Observe(ctx context.Context, into *loadline.Observation) error {
	c.now = time.Now()
	return c.fakeCluster.Observe(ctx, into)
}

func TestASlowPassSkipsTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		l, c, _ := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Delay: time.Second},
			func(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
				at = append(at, now.Sub(began))
				if len(at) == 2 {
					time.Sleep(25 * time.Second) // misses two ticks
				}
				return loadline.Proposal{}, nil
			}})
		l.Cluster, l.Clock = realTime{c}, realTime{c}
		if err := l.Run(context.Background(), began.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{0, 10 * time.Second, 40 * time.Second, 50 * time.Second}
		if len(at) != len(want) {
			t.Fatalf("decided at %v, want %v", at, want)
		}
		for i := range want {
			if at[i] != want[i] {
				t.Errorf("decided at %v, want %v", at, want)
			}
		}
		if got := time.Since(began); got != time.Minute {
			t.Errorf("ended after %v", got)
		}
	})
}

// stagedPolicy brings a forecaster and a splitter.
type stagedPolicy struct{ fakePolicy }

func (p stagedPolicy) Forecast(now time.Time, window []loadline.Observation) []loadline.Forecast {
	rate := window[len(window)-1].Services[0].Rate
	return []loadline.Forecast{{Step: time.Minute, Median: []loadline.Sample{{Value: 2 * rate.Value, At: now}}}, {}}
}

func (p stagedPolicy) Split(_ time.Time, s loadline.Situation) []loadline.SLO {
	if len(s.Forecast) == 0 {
		return nil
	}
	return []loadline.SLO{{Percentile: 99, Latency: time.Second}, {}}
}

// constant is a forecast that never changes.
type constant []loadline.Forecast

func (c constant) Forecast(time.Time, []loadline.Observation) []loadline.Forecast { return c }

func TestThePolicysStagesFillInTheSituation(t *testing.T) {
	forecast := loadline.Horizon{Step: time.Minute, Steps: 1}
	own, other := time.Second, time.Minute
	for _, row := range []struct {
		name       string
		needs      loadline.Needs
		forecaster loop.Forecaster
		splitter   loop.Splitter
		forecast   int // services
		latency    time.Duration
	}{
		{"both", loadline.Needs{Forecast: forecast, PartialSLO: true}, nil, nil, 2, own},
		{"no need", loadline.Needs{}, nil, nil, 0, 0},
		{"a split that lacks what it depends on", loadline.Needs{PartialSLO: true}, nil, nil, 0, 0},
		{"the loop's split where the policy has none", loadline.Needs{}, nil, loop.FixedSplit{{Latency: other}, {}}, 0, other},
		{"the loop's forecast where the policy has none", loadline.Needs{}, constant{{}}, nil, 1, 0},
		{"the policy's split goes first", loadline.Needs{Forecast: forecast, PartialSLO: true}, nil,
			loop.FixedSplit{{Latency: other}, {}}, 2, own},
		{"the policy's forecast goes first", loadline.Needs{Forecast: forecast}, constant{{}}, nil, 2, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.needs.Period = 10 * time.Second
			l, c, _ := newLoop(fakePolicy{})
			c.now = start.Add(time.Minute)
			var seen loadline.Situation
			l.Policy = stagedPolicy{fakePolicy{row.needs, func(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
				seen = s
				return loadline.Proposal{}, nil
			}}}
			l.Forecaster, l.Splitter = row.forecaster, row.splitter
			if _, err := l.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(seen.Forecast) != row.forecast || row.forecast > 1 && seen.Forecast[0].Median[0].Value != 120 {
				t.Errorf("forecast %+v", seen.Forecast)
			}
			var latency time.Duration
			if len(seen.PartialSLO) > 0 {
				latency = seen.PartialSLO[0].Latency
			}
			if latency != row.latency {
				t.Errorf("partial SLO %+v, want %v", seen.PartialSLO, row.latency)
			}
		})
	}
}

func TestThePolicySeesAnnouncedEventsUntilTheyEnd(t *testing.T) {
	var saw [][]string
	see := func(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
		var names []string
		for _, e := range s.Announced {
			names = append(names, e.Name)
		}
		saw = append(saw, names)
		return loadline.Proposal{}, nil
	}
	l, c, _ := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second}, see})
	l.Announced = func() []loadline.Event {
		return []loadline.Event{
			{Name: "sale", Start: start, End: start.Add(time.Minute), Factor: 3},
			{Name: "film", Start: start.Add(time.Hour), End: start.Add(2 * time.Hour), Factor: 2},
		}
	}
	for _, after := range []time.Duration{0, time.Minute - 1, time.Minute, 2 * time.Hour} {
		c.now = start.Add(after)
		if _, err := l.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := [][]string{{"sale", "film"}, {"sale", "film"}, {"film"}, nil}
	if !slices.EqualFunc(saw, want, slices.Equal[[]string]) {
		t.Errorf("saw %v, want %v", saw, want)
	}
}
