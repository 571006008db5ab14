package guard_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/loop"
)

// always proposes the same replicas for the only service.
type always int

func (always) Name() string          { return "always" }
func (always) Needs() loadline.Needs { return loadline.Needs{Period: promiseTick, Keep: 1} }
func (n always) Decide(time.Time, loadline.Situation) (loadline.Proposal, error) {
	return loadline.Proposal{Services: []loadline.ServiceProposal{{Setting: toReplicas(int(n))}}}, nil
}

// process is one that runs the guards over a fixture.
type process struct {
	sc   *fixture
	rule loadline.Policy
	set  guard.Settings
	*guard.Guarded
	loop *loop.Loop
}

func newProcess(t *testing.T, sc *fixture, set guard.Settings, rule loadline.Policy) *process {
	t.Helper()
	g, err := guard.Around(set, sc.App, nil, rule)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{sc: sc, rule: rule, set: set, Guarded: g, loop: &loop.Loop{App: sc.App, Immediate: true}}
	p.loop.Cluster, p.loop.Clock = fixtureCluster{sc}, fixtureCluster{sc}
	g.Install(p.loop)
	return p
}

// pass makes a pass of the loop a tick later.
func (p *process) pass(t *testing.T) {
	t.Helper()
	p.sc.later(promiseTick)
	if _, err := p.loop.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestRestartPerPass: a process that ends after every pass reduces no faster than one
// that goes on. With guards that forget, 40 replicas become 3 within three minutes.
func TestRestartPerPass(t *testing.T) {
	run := func(restart bool) (replicas []int) {
		sc := newFixture()
		sc.set(40)
		p := newProcess(t, sc, guard.Defaults(), always(3))
		for range 40 {
			sc.observe(10, 1, 0)
			p.pass(t)
			if restart {
				m := p.Memory(sc.now)
				p = newProcess(t, sc, guard.Defaults(), always(3))
				p.Resume(guard.Memory{At: m.At, Services: m.Services, Kinds: m.Kinds}, sc.now, sc.now)
			}
			replicas = append(replicas, sc.Allocation[0].Replicas)
		}
		return replicas
	}
	steady, restarted := run(false), run(true)
	if last := steady[len(steady)-1]; last == 40 {
		t.Fatalf("nothing was reduced at all: %v", steady)
	}
	for i := range steady {
		if restarted[i] < steady[i] {
			t.Fatalf("after %d passes %d replicas are left with restarts, and %d without", i+1, restarted[i], steady[i])
		}
	}
}

// TestFirstPassAfterAPeak: a new process knows of no peak, and must not reduce before it
// has seen that there was none.
func TestFirstPassAfterAPeak(t *testing.T) {
	sc := newFixture()
	sc.set(38)
	p := newProcess(t, sc, guard.Defaults(), always(3))
	for range 20 {
		sc.observe(1000, 30, 0)
		p.pass(t)
	}
	before := sc.Allocation[0].Replicas
	p = newProcess(t, sc, guard.Defaults(), always(3)) // with nothing to resume
	for range 11 {
		sc.observe(10, 1, 0)
		p.pass(t)
		if now := sc.Allocation[0].Replicas; now < before {
			t.Fatalf("%v after its start the process goes from %d to %d replicas", sc.now.Sub(start), before, now)
		}
	}
}

// TestEditKeepsTheWindows: new settings do not begin anew within one process.
func TestEditKeepsTheWindows(t *testing.T) {
	sc := newFixture()
	sc.set(10)
	p := newProcess(t, sc, guard.Defaults(), always(10))
	for range 20 {
		sc.observe(10, 1, 0)
		p.pass(t)
	}
	set := guard.Defaults()
	set.Step.DownPercent = 50
	m := p.Memory(sc.now)
	p = newProcess(t, sc, set, always(5))
	p.Resume(m, sc.now, sc.now)
	sc.observe(10, 1, 0)
	p.pass(t)
	if got := sc.Allocation[0].Replicas; got != 8 { // half of the way, at once
		t.Errorf("%d replicas after the edit, want 8: the windows were filled", got)
	}
}

// TestBrownoutIsRemembered: restarts do not prolong a brownout.
func TestBrownoutIsRemembered(t *testing.T) {
	set := guard.Defaults()
	set.Brownout.Services, set.Brownout.Recovery = []string{"web"}, 4*time.Minute
	sc := newFixture()
	sc.set(4)
	p := newProcess(t, sc, set, always(4))
	passes := func(n int, over float64, stop func() bool) int {
		for i := range n {
			sc.observe(100, 1, over)
			p.pass(t)
			if stop() {
				return i + 1
			}
			m := p.Memory(sc.now)
			p = newProcess(t, sc, set, always(4))
			p.Resume(guard.Memory{At: m.At, Services: m.Services, Kinds: m.Kinds, Brownout: m.Brownout}, sc.now, sc.now)
			for at := -8; at < 0; at++ { // the metrics remember how the last two minutes were
				o := *sc.Now()
				when := sc.now.Add(time.Duration(at+1) * promiseTick)
				o.Kinds = []loadline.KindObservation{{Rate: loadline.Sample{Value: 100, At: when}, OverSLO: loadline.Sample{Value: over, At: when}}}
				p.Replay(when, &o, sc.InFlight)
			}
		}
		return n
	}
	off := func() bool { return sc.Allocation[0].Brownout }
	if n := passes(20, 0.5, off); !off() {
		t.Fatalf("the service is not off after %d passes of a burn", n)
	}
	if n := passes(40, 0, func() bool { return !off() }); off() || n > 30 {
		t.Errorf("the service is still off (%v) after %d passes in which the SLO was met", off(), n)
	}
}

// fixtureCluster is a loop's view of a fixture.
type fixtureCluster struct{ sc *fixture }

func (c fixtureCluster) Now() time.Time { return c.sc.now }

func (c fixtureCluster) WaitUntil(context.Context, time.Time) error { return nil }

func (c fixtureCluster) Observe(_ context.Context, o *loadline.Observation) error {
	c.sc.restamp()
	*o = *c.sc.Now()
	o.Services, o.Kinds = slices.Clone(o.Services), slices.Clone(o.Kinds)
	for i := range o.Services {
		o.Services[i].Pods = slices.Clone(o.Services[i].Pods)
	}
	return nil
}

func (c fixtureCluster) Allocation(into []loadline.Allocation) []loadline.Allocation {
	return append(into, c.sc.Situation.Allocation...)
}

func (c fixtureCluster) Apply(_ context.Context, plan loadline.Plan) error {
	for _, p := range plan.Services {
		c.sc.Situation.Allocation[p.Service] = c.sc.Situation.Allocation[p.Service].With(p.Setting)
		c.sc.InFlight[p.Service] = c.sc.Situation.Allocation[p.Service]
	}
	return nil
}

// TestLoweredMaximum: a service above its maximum comes down in guarded steps, even if
// the policy proposes nothing for it; at once only if the user says so.
func TestLoweredMaximum(t *testing.T) {
	run := func(set guard.Settings, passes int) (replicas []int) {
		sc := newFixture()
		sc.set(40)
		sc.App.Services[0].Bounds.MaxReplicas = 10
		p := newProcess(t, sc, set, silent{})
		for range passes {
			sc.observe(10, 1, 0)
			p.pass(t)
			replicas = append(replicas, sc.Allocation[0].Replicas)
		}
		return replicas
	}
	guarded := run(guard.Defaults(), 100)
	was := 40
	for i, n := range guarded {
		if n < was-10 || n > was { // a quarter of 40
			t.Fatalf("after %d passes it goes from %d to %d replicas", i+1, was, n)
		}
		was = n
	}
	if guarded[0] != 40 || was != 10 {
		t.Errorf("the maximum of 10 is not reached in steps: %v", guarded)
	}
	set := guard.Defaults()
	set.Bounds.AtOnce = true
	if forced := run(set, 1); forced[0] != 10 {
		t.Errorf("%d replicas after the first pass, want 10 at once", forced[0])
	}
}

// silent proposes nothing.
type silent struct{}

func (silent) Name() string          { return "silent" }
func (silent) Needs() loadline.Needs { return loadline.Needs{Period: promiseTick, Keep: 1} }
func (silent) Decide(time.Time, loadline.Situation) (loadline.Proposal, error) {
	return loadline.Proposal{}, nil
}
