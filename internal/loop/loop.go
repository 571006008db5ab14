// Package loop is the one loop: observe, forecast, split the SLO, decide,
// guard, apply, record. The same code runs over a simulated cluster, a recorded
// one and a real one; only the two ends differ.
//
// Simulation, training, replay, run --once and the controller all use it: Step is
// one pass, Run repeats it. Training has the halves of a pass, Begin and Finish,
// apart, since its agents choose their actions between the two.
//
// Reading order: loop.go (the pass), stages.go (the forecast and the split),
// watcher.go (guards with a memory), flight.go (plans between deciding and
// applying).
package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// Cluster is what the loop observes and changes.
type Cluster interface {
	// Observe fills into with what is known now, reusing its slices. Metrics that
	// cannot be read are absent samples, so that the guards can act without them;
	// an error means that not even the pods are known.
	Observe(ctx context.Context, into *loadline.Observation) error
	// Allocation appends the desired allocation of each service.
	Allocation(into []loadline.Allocation) []loadline.Allocation
	Apply(ctx context.Context, plan loadline.Plan) error
}

// Clock is the time of the loop: simulated, recorded or real.
type Clock interface {
	Now() time.Time
	// WaitUntil returns at t, or earlier with the context's error.
	WaitUntil(ctx context.Context, t time.Time) error
}

// Guard corrects one service's setting before it is applied. The situation's
// InFlight is the allocation that the setting changes.
type Guard interface {
	Name() string
	// Check returns the setting to apply instead, and the reason if it differs.
	Check(now time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string)
}

// Loop runs one policy on one cluster. The fields up to Clock are required, the
// others may be nil.
type Loop struct {
	App     *loadline.App
	Policy  loadline.Policy
	Cluster Cluster
	Clock   Clock

	// Immediate applies plans without the policy's delay: in a real cluster
	// collecting and deciding take the time that they take.
	Immediate bool
	// Reserves: plans contain the policy's reserve whenever it changes. Otherwise it stays in the
	// proposal, for the owner of a reserve that several applications share.
	Reserves bool
	// Forecaster and Splitter are for a policy that brings none of its own.
	Forecaster Forecaster
	Splitter   Splitter
	// Filter corrects each observation before anything else reads it.
	Filter func(now time.Time, o *loadline.Observation)
	Guards []Guard
	// Decided is called once the guards have run, before the plan is applied. A
	// pass that could not observe has no call. The arguments are valid during the
	// call only.
	Decided func(*loadline.Decision, loadline.Situation)
	// Record is called when a decision is complete: applied, failed, or without
	// anything to apply. With a delay between deciding and applying that is later
	// than the pass. The argument is valid during the call only.
	Record func(*loadline.Decision)

	// Announced are the announced changes of the load, by start; nil = there are none. The
	// policy sees those that are not over.
	Announced func() []loadline.Event
	// Constraints of the cluster and the namespace; nil = none are known.
	Constraints func() loadline.Constraints

	// CPUTime is the processor time used so far, to measure each decision by.
	CPUTime func() time.Duration

	reserve loadline.Opt[loadline.Room] // as planned last

	pass      Pass
	passes    uint64
	recorded  bool                   // the pass's decision is
	window    []loadline.Observation // oldest first
	allocated []loadline.Allocation
	arriving  []loadline.Allocation
	inFlight  []flight                 // decided and not yet applied, by due time
	landed    flight                   // the last one that was applied
	spare     [][]loadline.ServicePlan // memory of plans that are recorded
	proposed  []bool                   // services that the proposal contains
	events    []loadline.Event         // that are announced and not over
}

// Pass is one pass of the loop. It is valid until the next one begins.
type Pass struct {
	Situation loadline.Situation // the window is empty if nothing was observed
	Decision  loadline.Decision  // Applied is zero while the plan is in flight
}

// Observed reports whether the pass has an observation to decide on.
func (p *Pass) Observed() bool { return len(p.Situation.Window) > 0 }

// Run calls Step once per period, from now until the given instant. It returns
// when that is reached, or with the context's error.
func (l *Loop) Run(ctx context.Context, until time.Time) error {
	period := l.Policy.Needs().Period
	if period <= 0 {
		return fmt.Errorf("policy %s: its period is %v and must be positive", l.Policy.Name(), period)
	}
	defer l.dropInFlight()
	for at := l.Clock.Now(); at.Before(until); at = NextTick(at, period, l.Clock.Now()) {
		if err := l.WaitUntil(ctx, at); err != nil {
			return err
		}
		if _, err := l.Step(ctx); err != nil {
			return err
		}
	}
	return l.WaitUntil(ctx, until)
}

// NextTick is the first tick after at that is not in the past. Ticks that a slow
// pass has missed are skipped, so that it is not followed by a burst of
// decisions on the same data.
func NextTick(at time.Time, period time.Duration, now time.Time) time.Time {
	at = at.Add(period)
	if missed := now.Sub(at); missed > 0 {
		at = at.Add((missed + period - 1) / period * period)
	}
	return at
}

// Step makes one pass. Errors of the cluster and of the policy are part of the
// pass, and nothing changes then; the error returned is the context's.
//
// Step does not wait: the caller advances the clock with WaitUntil, which
// also applies the plans that fall due.
func (l *Loop) Step(ctx context.Context) (*Pass, error) {
	p, err := l.Begin(ctx)
	if err != nil || !p.Observed() {
		return p, err
	}
	return p, l.Finish(ctx)
}

// Begin is the first half of Step: all that is known before the policy is asked.
// A pass that could not observe ends here.
func (l *Loop) Begin(ctx context.Context) (*Pass, error) {
	p := l.begin()
	if err := l.observe(ctx, p); err != nil {
		l.hold(p, err)
		return p, ctx.Err()
	}
	l.forecast(p)
	l.split(p)
	l.watch(p)
	return p, nil
}

// Finish is the second half of Step, for a pass that has observed.
func (l *Loop) Finish(ctx context.Context) error {
	p := &l.pass
	l.decide(p)
	l.guard(p)
	l.announce(p)
	return l.apply(ctx, p) // and record
}

// Reset forgets the window and drops the plans in flight, so that the next pass is
// the first one of another cluster.
func (l *Loop) Reset() {
	l.dropInFlight()
	l.window = l.window[:0]
	l.reserve = loadline.Opt[loadline.Room]{}
}

func (l *Loop) begin() *Pass {
	if l.recorded {
		l.reuse(l.pass.Decision.Plan)
	}
	l.passes++
	l.recorded = false
	l.pass = Pass{Decision: loadline.Decision{At: l.Clock.Now(), Policy: l.Policy.Name()}}
	return &l.pass
}

// observe adds an observation to the window and describes the situation. The
// observation that leaves the window gives its memory to the new one.
func (l *Loop) observe(ctx context.Context, p *Pass) error {
	keep := max(l.Policy.Needs().Keep, 1)
	switch n := len(l.window); {
	case n >= keep:
		oldest := l.window[0]
		copy(l.window, l.window[1:])
		l.window[n-1] = oldest
	case n < cap(l.window):
		l.window = l.window[:n+1] // with the memory of one that has left
	default:
		l.window = append(l.window, loadline.Observation{})
	}
	newest := &l.window[len(l.window)-1]
	if err := l.Cluster.Observe(ctx, newest); err != nil {
		l.window = l.window[:len(l.window)-1]
		return fmt.Errorf("observe: %w", err)
	}
	if l.Filter != nil {
		l.Filter(p.Decision.At, newest)
	}
	l.allocated = l.Cluster.Allocation(l.allocated[:0])
	p.Situation = loadline.Situation{
		App:        l.App,
		Window:     l.window[max(0, len(l.window)-keep):],
		Allocation: l.allocated,
		InFlight:   l.expected(),
		Announced:  l.announced(p.Decision.At),
	}
	if l.Constraints != nil {
		p.Situation.Constraints = l.Constraints()
	}
	return nil
}

// announced are the events that are not over.
func (l *Loop) announced(now time.Time) []loadline.Event {
	if l.Announced == nil {
		return nil
	}
	l.events = l.events[:0]
	for _, e := range l.Announced() {
		if now.Before(e.End) {
			l.events = append(l.events, e)
		}
	}
	return l.events
}

// hold records a pass in which nothing could be decided.
func (l *Loop) hold(p *Pass, err error) {
	p.Decision.Err = err
	l.recordPass(p)
}

// decide asks the policy and measures its processor time.
func (l *Loop) decide(p *Pass) {
	d := &p.Decision
	var before time.Duration
	if l.CPUTime != nil {
		before = l.CPUTime()
	}
	d.Proposal, d.Err = l.Policy.Decide(d.At, p.Situation)
	if l.CPUTime != nil {
		d.CPUTime = l.CPUTime() - before
	}
	if d.Err == nil {
		d.Err = l.checkServices(d.Proposal)
	}
	if d.Err != nil {
		d.Proposal = loadline.Proposal{} // a proposal with an error is not followed in part
	}
}

// checkServices rejects a proposal that contains a service twice or one that
// does not exist.
func (l *Loop) checkServices(p loadline.Proposal) error {
	for i, s := range p.Services {
		if s.Service < 0 || s.Service >= len(l.App.Services) {
			return fmt.Errorf("the proposal contains service %d of %d", s.Service, len(l.App.Services))
		}
		for _, earlier := range p.Services[:i] {
			if earlier.Service == s.Service {
				return fmt.Errorf("the proposal contains service %s twice", l.App.Services[s.Service].Name)
			}
		}
	}
	return nil
}

// guard turns the proposal into a plan of what is left to change.
func (l *Loop) guard(p *Pass) {
	for i := range p.Decision.Proposal.Services {
		of := &p.Decision.Proposal.Services[i]
		l.guardService(p, of.Service, of.Setting)
	}
	if wanted := p.Decision.Proposal.Reserve; l.Reserves && wanted.Set && wanted != l.reserve {
		l.reserve, p.Decision.Plan.Reserve = wanted, wanted
	}
	if l.hasWatcher() {
		l.guardOthers(p)
		l.tellWatchers(p)
	}
}

func (l *Loop) guardService(p *Pass, service int, setting loadline.Setting) {
	d := &p.Decision
	for _, g := range l.Guards {
		to, reason := g.Check(d.At, p.Situation, service, setting)
		if to != setting {
			d.Changed = append(d.Changed, loadline.GuardChange{
				Guard: g.Name(), Service: service, From: setting, To: to, Reason: reason,
			})
			setting = to
		}
	}
	if change := p.Situation.InFlight[service].Changes(setting); !change.Empty() {
		if d.Plan.Services == nil {
			d.Plan.Services = l.takeSpare()
		}
		d.Plan.Services = append(d.Plan.Services, loadline.ServicePlan{Service: service, Setting: change})
	}
}

func (l *Loop) announce(p *Pass) {
	if l.Decided != nil {
		l.Decided(&p.Decision, p.Situation)
	}
}

// recordPass records the decision of the present pass.
func (l *Loop) recordPass(p *Pass) {
	l.recorded = true
	l.record(&p.Decision)
}

func (l *Loop) record(d *loadline.Decision) {
	if l.Record != nil {
		l.Record(d)
	}
}
