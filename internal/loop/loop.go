// Package loop is the one loop: observe, forecast, split the SLO, decide,
// guard, apply, record. The same code runs over a simulated cluster and over a
// real one; only the two ends differ.
package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// Cluster is what the loop watches and changes.
type Cluster interface {
	// Observe fills into with what is known now, reusing its slices. Metrics that
	// cannot be had are absent samples, so that the guards can do what is right
	// without them; an error is for when not even the pods are known.
	Observe(ctx context.Context, into *loadline.Observation) error
	// Allocation appends what each service has been told to be.
	Allocation(into []loadline.Allocation) []loadline.Allocation
	Apply(ctx context.Context, plan loadline.Plan) error
}

// Clock is the time that the loop lives in: simulated, or the wall's.
type Clock interface {
	Now() time.Time
	// WaitUntil returns at t, or earlier with the context's error.
	WaitUntil(ctx context.Context, t time.Time) error
}

// Guard corrects one service's setting before it is applied. The situation's
// InFlight is what the setting will meet.
type Guard interface {
	Name() string
	// Check returns the setting to apply instead, and why if it differs.
	Check(now time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string)
}

// Loop is one policy at work on one cluster. The fields up to Clock are needed,
// the others may be nil.
type Loop struct {
	App     *loadline.App
	Policy  loadline.Policy
	Cluster Cluster
	Clock   Clock

	Forecast func(window []loadline.Observation) []loadline.Forecast // per service
	Split    func(window []loadline.Observation) []loadline.SLO      // per service
	// Filter corrects each observation before anything looks at it.
	Filter func(now time.Time, o *loadline.Observation)
	Guards []Guard
	// Decided is told of every decision once the guards have spoken, with what it
	// rests on; both are valid during the call only. What became of it, which may
	// take a while, goes to Record. A pass that could not observe has a Record only.
	Decided func(*loadline.Decision, loadline.Situation)
	Record  func(*loadline.Decision) // valid during the call only
	Learn   *Learn

	// CPUTime is the processor time used so far, by which deciding is measured.
	CPUTime func() time.Duration
	// MeasureDelay adds the measured time of each decision to the policy's
	// delay. Runs do not repeat then.
	MeasureDelay bool

	seen      []loadline.Observation // oldest first
	allocated []loadline.Allocation
	arriving  []loadline.Allocation
	inFlight  []flight // decided and not yet applied, in the order of their due
	forecast  []loadline.Forecast
	partial   []loadline.SLO
	spoken    []bool // of which services the policy speaks
}

// Run decides once per period, from now until the given instant. It returns
// when that is reached, or with the context's error.
func (l *Loop) Run(ctx context.Context, until time.Time) error {
	period := l.Policy.Needs().Period
	if period <= 0 {
		return fmt.Errorf("policy %s: its period is %v and must be positive", l.Policy.Name(), period)
	}
	defer l.dropInFlight()
	for at := l.Clock.Now(); at.Before(until); at = nextTick(at, period, l.Clock.Now()) {
		if err := l.waitApplying(ctx, at); err != nil {
			return err
		}
		if err := l.step(ctx); err != nil {
			return err
		}
	}
	return l.waitApplying(ctx, until)
}

// nextTick keeps the beat. Beats that a slow step has missed are left out, so
// that it is not followed by a burst of decisions on the same data.
func nextTick(at time.Time, period time.Duration, now time.Time) time.Time {
	at = at.Add(period)
	if missed := now.Sub(at); missed > 0 {
		at = at.Add((missed + period - 1) / period * period)
	}
	return at
}

// step is one pass. Errors of the cluster or the policy are recorded and the
// loop holds; only the end of the context ends it.
func (l *Loop) step(ctx context.Context) error {
	now := l.Clock.Now()
	if err := l.observe(ctx); err != nil {
		l.hold(now, fmt.Errorf("observe: %w", err))
		return ctx.Err()
	}
	if l.Filter != nil {
		l.Filter(now, &l.seen[len(l.seen)-1])
	}
	l.allocated = l.Cluster.Allocation(l.allocated[:0])
	l.forecastRates()
	l.splitSLO()
	situation := l.situation()
	l.learn(now, situation)
	watched := l.watch(now, situation)
	decision, delay := l.decide(now, situation)
	l.guard(now, situation, &decision)
	if watched {
		l.guardUnspoken(now, situation, &decision)
		l.decided(now, situation, &decision)
	}
	l.expect(now, situation, &decision)
	if l.Decided != nil {
		told := decision // a copy, so that what nobody is told of need not be on the heap
		l.Decided(&told, situation)
	}
	return l.launch(ctx, decision, now.Add(delay))
}

// observe adds an observation to the window. The one that falls out of it
// gives its memory to the new one.
func (l *Loop) observe(ctx context.Context) error {
	keep := max(l.Policy.Needs().Keep, 1)
	if l.Learn != nil {
		keep++ // the situation before stays readable for the reward
	}
	if len(l.seen) < keep {
		l.seen = append(l.seen, loadline.Observation{})
	} else {
		oldest := l.seen[0]
		copy(l.seen, l.seen[1:])
		l.seen[len(l.seen)-1] = oldest
	}
	err := l.Cluster.Observe(ctx, &l.seen[len(l.seen)-1])
	if err != nil {
		l.seen = l.seen[:len(l.seen)-1]
	}
	return err
}

func (l *Loop) forecastRates() {
	if l.Forecast != nil {
		l.forecast = l.Forecast(l.window())
	}
}

func (l *Loop) splitSLO() {
	if l.Split != nil {
		l.partial = l.Split(l.window())
	}
}

// window is what the policy may look back on.
func (l *Loop) window() []loadline.Observation {
	return l.seen[max(0, len(l.seen)-max(l.Policy.Needs().Keep, 1)):]
}

func (l *Loop) situation() loadline.Situation {
	return loadline.Situation{
		App:        l.App,
		Window:     l.window(),
		Allocation: l.allocated,
		InFlight:   l.expected(),
		Forecast:   l.forecast,
		PartialSLO: l.partial,
	}
}

// decide asks the policy and measures how long it thinks.
func (l *Loop) decide(now time.Time, s loadline.Situation) (loadline.Decision, time.Duration) {
	d := loadline.Decision{At: now, Policy: l.Policy.Name()}
	delay := l.Policy.Needs().Delay
	var before time.Duration
	if l.CPUTime != nil {
		before = l.CPUTime()
	}
	d.Proposal, d.Err = l.Policy.Decide(now, s)
	if l.CPUTime != nil {
		d.CPUTime = l.CPUTime() - before
	}
	if l.MeasureDelay {
		delay += d.CPUTime
	}
	if d.Err == nil {
		d.Err = l.checkNames(d.Proposal)
	}
	if d.Err != nil {
		d.Proposal = loadline.Proposal{} // half a thought is none
	}
	return d, delay
}

// checkNames refuses a proposal that speaks of a service twice or of one that
// does not exist: nobody could say what it means.
func (l *Loop) checkNames(p loadline.Proposal) error {
	for i, s := range p.Services {
		if s.Service < 0 || s.Service >= len(l.App.Services) {
			return fmt.Errorf("the proposal names service %d of %d", s.Service, len(l.App.Services))
		}
		for _, earlier := range p.Services[:i] {
			if earlier.Service == s.Service {
				return fmt.Errorf("the proposal names service %s twice", l.App.Services[s.Service].Name)
			}
		}
	}
	return nil
}

// guard turns the proposal into a plan of what is left to change.
func (l *Loop) guard(now time.Time, s loadline.Situation, d *loadline.Decision) {
	for i := range d.Proposal.Services {
		p := &d.Proposal.Services[i]
		l.guardService(now, s, p.Service, p.Setting, d)
	}
}

func (l *Loop) guardService(now time.Time, s loadline.Situation, service int, setting loadline.Setting, d *loadline.Decision) {
	for _, g := range l.Guards {
		to, reason := g.Check(now, s, service, setting)
		if to != setting {
			d.Changed = append(d.Changed, loadline.GuardChange{
				Guard: g.Name(), Service: service, From: setting, To: to, Reason: reason,
			})
			setting = to
		}
	}
	if change := s.InFlight[service].Changes(setting); !change.Empty() {
		d.Plan.Services = append(d.Plan.Services, loadline.ServicePlan{Service: service, Setting: change})
	}
}

// hold records that nothing was decided.
func (l *Loop) hold(now time.Time, err error) {
	l.record(&loadline.Decision{At: now, Policy: l.Policy.Name(), Err: err})
}

func (l *Loop) record(d *loadline.Decision) {
	if l.Record != nil {
		l.Record(d)
	}
}
