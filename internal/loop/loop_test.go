package loop_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/loop"
)

var start = time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC)

// fakeCluster is a cluster and its clock: waiting takes no time.
type fakeCluster struct {
	now        time.Time
	alloc      []loadline.Allocation
	applied    []string
	observeErr error
	applyErr   error
	onWait     func()
}

func (c *fakeCluster) Now() time.Time { return c.now }
func (c *fakeCluster) WaitUntil(ctx context.Context, t time.Time) error {
	if c.onWait != nil {
		c.onWait()
	}
	if t.After(c.now) {
		c.now = t
	}
	return ctx.Err()
}
func (c *fakeCluster) Observe(_ context.Context, into *loadline.Observation) error {
	into.At = c.now
	into.Services = append(into.Services[:0], loadline.ServiceObservation{
		Rate: loadline.Sample{Value: c.now.Sub(start).Seconds(), At: c.now},
	}, loadline.ServiceObservation{})
	return c.observeErr
}
func (c *fakeCluster) Allocation(into []loadline.Allocation) []loadline.Allocation {
	return append(into, c.alloc...)
}
func (c *fakeCluster) Apply(_ context.Context, p loadline.Plan) error {
	if c.applyErr != nil {
		return c.applyErr
	}
	for _, s := range p.Services {
		c.alloc[s.Service] = c.alloc[s.Service].With(s.Setting)
	}
	c.applied = append(c.applied, c.now.Sub(start).String())
	return nil
}

type fakePolicy struct {
	needs  loadline.Needs
	decide func(time.Time, loadline.Situation) (loadline.Proposal, error)
}

func (p fakePolicy) Name() string          { return "fake" }
func (p fakePolicy) Needs() loadline.Needs { return p.needs }
func (p fakePolicy) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	return p.decide(now, s)
}

func replicas(n int) loadline.Proposal {
	return loadline.Proposal{Services: []loadline.ServiceProposal{{Service: 0, Setting: loadline.Setting{Replicas: loadline.Some(n)}}}}
}

// oneMore asks for one replica more than is in flight, each time.
func oneMore(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
	return replicas(s.InFlight[0].Replicas + 1), nil
}

func newLoop(p fakePolicy) (*loop.Loop, *fakeCluster, *[]loadline.Decision) {
	app := &loadline.App{Services: []loadline.Service{
		{Name: "web", Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 3}}, {Name: "db"},
	}}
	c := &fakeCluster{now: start, alloc: []loadline.Allocation{{Replicas: 1}, {Replicas: 1}}}
	var records []loadline.Decision
	return &loop.Loop{
		App: app, Policy: p, Cluster: c, Clock: c,
		Guards: []loop.Guard{guard.Clamp{}},
		Record: func(d *loadline.Decision) { records = append(records, *d) },
	}, c, &records
}

func run(t *testing.T, l *loop.Loop, d time.Duration) {
	t.Helper()
	if err := l.Run(context.Background(), start.Add(d)); err != nil {
		t.Fatal(err)
	}
}

func TestPlansAreAppliedAfterTheDelay(t *testing.T) {
	l, c, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Delay: 4 * time.Second}, oneMore})
	run(t, l, 25*time.Second)
	if got := strings.Join(c.applied, " "); got != "4s 14s" {
		t.Errorf("applied at %s, want 4s 14s", got)
	}
	if len(*records) != 3 {
		t.Fatalf("%d records", len(*records))
	}
	if d := (*records)[1]; !d.At.Equal(start.Add(10*time.Second)) || !d.Applied.Equal(start.Add(14*time.Second)) {
		t.Errorf("second decision of %v applied at %v", d.At, d.Applied)
	}
}

func TestDecidesWhileAnotherPlanIsInFlight(t *testing.T) {
	l, c, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Delay: 15 * time.Second}, oneMore})
	run(t, l, 31*time.Second)
	if got := strings.Join(c.applied, " "); got != "15s 25s" {
		t.Errorf("applied at %s, want 15s 25s", got)
	}
	if c.alloc[0].Replicas != 3 {
		t.Errorf("%d replicas, want 3: what is in flight was forgotten or counted twice", c.alloc[0].Replicas)
	}
	if n := len(*records); n != 4 {
		t.Errorf("%d records, want 4 decisions", n)
	}
}

func TestPlanInFlightAtTheEndIsRecordedAsNotApplied(t *testing.T) {
	l, c, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Delay: time.Minute}, oneMore})
	run(t, l, 5*time.Second)
	if len(c.applied) != 0 || len(*records) != 1 || !errors.Is((*records)[0].Err, loop.ErrNotApplied) {
		t.Errorf("applied %v, records %+v", c.applied, *records)
	}
}

func TestErrorsHold(t *testing.T) {
	for name, row := range map[string]struct {
		proposal loadline.Proposal
		err      error
		observe  error
		says     string
	}{
		"no data":                  {err: loadline.ErrNoData, says: "no data"},
		"a proposal with an error": {proposal: replicas(2), err: errors.New("half done"), says: "half done"},
		"a failing observation":    {observe: errors.New("connection refused"), says: "observe: connection refused"},
		"an unknown service": {proposal: loadline.Proposal{Services: []loadline.ServiceProposal{{Service: 7}}},
			says: "service 7 of 2"},
		"a service twice": {proposal: loadline.Proposal{Services: []loadline.ServiceProposal{{}, {}}}, says: "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			l, c, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second},
				func(time.Time, loadline.Situation) (loadline.Proposal, error) { return row.proposal, row.err }})
			c.observeErr = row.observe
			run(t, l, 5*time.Second)
			if len(c.applied) != 0 {
				t.Errorf("applied %v", c.applied)
			}
			if d := (*records)[0]; d.Err == nil || !strings.Contains(d.Err.Error(), row.says) {
				t.Errorf("recorded %v, want %q", d.Err, row.says)
			}
		})
	}
}

func TestWindowHoldsTheLastObservations(t *testing.T) {
	var got []float64
	l, _, _ := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Keep: 3},
		func(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
			got = got[:0]
			for _, o := range s.Window {
				got = append(got, o.Services[0].Rate.Value)
			}
			return loadline.Proposal{}, nil
		}})
	run(t, l, 45*time.Second)
	if len(got) != 3 || got[0] != 20 || got[1] != 30 || got[2] != 40 {
		t.Errorf("window %v, want the observations of 20, 30 and 40 s", got)
	}
}

func TestWithoutAPeriodThereIsNoLoop(t *testing.T) {
	l, _, _ := newLoop(fakePolicy{})
	if err := l.Run(context.Background(), start.Add(time.Second)); err == nil {
		t.Error("no error")
	}
}

func TestInterruptEndsTheLoop(t *testing.T) {
	l, c, records := newLoop(fakePolicy{loadline.Needs{Period: 10 * time.Second, Delay: 15 * time.Second}, oneMore})
	ctx, cancel := context.WithCancel(context.Background())
	waits := 0
	c.onWait = func() {
		if waits++; waits == 2 {
			cancel()
		}
	}
	if err := l.Run(ctx, start.Add(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("err %v", err)
	}
	if len(*records) != 1 || !errors.Is((*records)[0].Err, loop.ErrNotApplied) {
		t.Errorf("records %+v", *records)
	}
}
