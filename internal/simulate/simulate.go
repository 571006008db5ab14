package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/suggest"
)

// Spec is what to run.
type Spec struct {
	App      *loadline.App // or several on one cluster, joined by apps.Join
	Load     sim.Arrivals
	Workload string // its name, for the result
	// Policy is name:key=value,...; of several applications each has one of its own, by the same name
	// and settings or as policy.EachApplication reads them.
	Policy string
	// Decider, if set, is the policy, and Policy only its name. It is used for this run only.
	Decider loadline.Policy
	// Announced are events that the policy is given in advance, in simulated time (sim.Time). They do
	// not change the load.
	Announced []loadline.Event
	// Past is a history for each application, that its policy learns from before the run; nil = none.
	// Only a HistoryLearner can have one.
	Past []*history.History
	// Guard is the fallback rule, name:key=value,..., and puts the guards of production around
	// the policy. Empty: only the bounds are enforced.
	Guard string
	// GuardSettings are those of the guards; nil = the defaults.
	GuardSettings *guard.Settings
	// Axes are those that may be changed, of guard.AxisNames; nil = all. They are enforced by the
	// guard of the controller.
	Axes []string
	// Interval of the loop as in a LoadLine: a policy with a longer period is asked at its own. Only
	// with a guard; 0 = the shortest period of the policy and the rule.
	Interval time.Duration
	// Begin is the instant that the beginning of the run stands for, for policies that go by the
	// clock; zero = sim.Epoch.
	Begin time.Time
	// Partial is each service's part of the users' SLO; nil = by the policy's own split.
	Partial  []loadline.SLO
	Engine   string // one of Engines
	Duration time.Duration
	Seed     uint64
	CPU      sim.CPUModel
	WarmUp   time.Duration
	// Cluster is the nodes, the neighbours on them and their prices; the zero value has the
	// application's own nodes.
	Cluster pool.Cluster

	Perturb Perturb
	Hooks   Hooks
}

// Perturb is the faults of a run.
type Perturb struct {
	MetricsLate int     // scrapes
	MetricsLoss float64 // probability that one scrape is lost
	CPUNoise    float64 // relative deviation of CPU readings
	SlowStart   float64 // factor on the pods' start-up; 0 = 1

	// ResizeRestarts: a pod that is resized restarts, as on clusters that cannot
	// resize in place.
	ResizeRestarts bool `json:",omitempty"`

	Disturbances []sim.Disturbance

	// Twin is how wrong the application model is that policies have: a factor on its CPU times; 0 =
	// 1, it is the application itself.
	Twin float64 `json:",omitempty"`
	// Clients retry users' requests that fail or take too long, in the event engine; nil = as the
	// application says.
	Clients *Clients `json:",omitempty"`
	// Neighbours, if set, are those of the cluster from the start of the run.
	Neighbours *pool.Neighbours `json:",omitempty"`
}

// Clients give an attempt up after so many times the SLO's latency, and retry.
type Clients struct {
	Patience float64
	Retries  loadline.Retries
}

// Hooks observe a run without changing it. Each may be nil.
type Hooks struct {
	Progress func(at time.Duration)
	Decision func(*loadline.Decision)
	// Decided is called with a decision and its situation, before the plan is
	// applied; both are valid during the call only.
	Decided func(*loadline.Decision, loadline.Situation)
	// Scrape is called with what the exporters show at every scrape, before loss, lag and
	// noise; both are valid during the call only.
	Scrape func(*sim.Reading, *sim.ControlPlane)
	// Rung is called with every step on the ladder of the guards.
	Rung    func(guard.Transition)
	CPUTime func() time.Duration // of this thread, to time decisions
	// Of, if set, has the Decision and Decided of each of several applications: decisions and
	// situations are of one application, and refer to its own services.
	Of func(application int) Hooks
}

// Outcome is the result of a run.
type Outcome struct {
	Result   result.Result
	Meter    *sim.Meter
	Timeline *Timeline
	Effort   Effort
	Rungs    []guard.Transition // steps on the guard's ladder
	Deployed loadline.Needs     // of the policy
}

// oracle is a policy that is given the load of the whole run in advance.
type oracle interface {
	SetFuture(start time.Time, duration time.Duration, rate policy.Rate, changes []policy.DemandChange)
}

// HistoryLearner is a policy that can start with what a history of the application shows.
type HistoryLearner interface {
	LearnHistory(app *loadline.App, h *history.History) error
}

// clocked is a policy that goes by the clock.
type clocked interface {
	SetBegin(simulated, real time.Time)
}

// setClock of a policy.
func (s Spec) setClock(p loadline.Policy) {
	if p, ok := p.(clocked); ok && !s.Begin.IsZero() {
		p.SetBegin(sim.Epoch, s.Begin)
	}
}

// partial is a policy that was trained with a split of the SLO, and uses no other.
type partial interface{ Partial() []loadline.SLO }

// DemandChanges are the disturbances that change the CPU demand of a visit.
func (p Perturb) DemandChanges() []policy.DemandChange {
	var changes []policy.DemandChange
	for _, d := range p.Disturbances {
		if v := d.Version; v != nil && v.CPUFactor != 0 {
			changes = append(changes, policy.DemandChange{At: d.At, Service: v.Service, Factor: v.CPUFactor})
		}
	}
	return changes
}

// Effort is the processor time of deciding. It is not reproducible, so it is not part of the
// result.
type Effort struct {
	Decisions, Held int
	CPUTime         time.Duration
	Longest         time.Duration
}

// Validate reports all faults before the run.
func (s Spec) Validate() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if s.Duration <= 0 {
		add("duration %v must be longer than 0", s.Duration)
	}
	if s.WarmUp < 0 || s.WarmUp >= s.Duration && s.Duration > 0 {
		add("warm-up %v must be shorter than the duration %v", s.WarmUp, s.Duration)
	}
	if !slices.Contains(Engines(), s.Engine) {
		add("unknown engine %q%s", s.Engine, suggest.Hint(s.Engine, Engines()))
	}
	if s.Engine == "fluid" {
		if err := fluid.Check(s.perturbed().App); err != nil {
			faults = append(faults, err)
		}
	}
	for i, e := range s.Announced {
		if !e.Start.Before(e.End) || !(e.Factor > 0) || math.IsInf(e.Factor, 1) || i > 0 && e.Start.Before(s.Announced[i-1].Start) {
			add("announced event %d, %v to %v, factor %v: must begin before it ends and not before the one before it, with a factor above 0",
				i+1, sim.Since(e.Start), sim.Since(e.End), e.Factor)
		}
	}
	if s.Cluster.Quota.Limits() && len(s.App.Tenants) > 0 {
		add("a quota is for one application, and there are %d: leave it out, or simulate one of them", len(s.App.Tenants))
	}
	if s.Perturb.MetricsLate < 0 {
		add("metrics late by %d scrapes: must not be negative", s.Perturb.MetricsLate)
	}
	if f := s.Perturb.SlowStart; !(f >= 0 && f <= 1000) {
		add("slow start %v must be a factor from 0 to 1000", f)
	}
	if f := s.Perturb.Twin; !(f >= 0 && f <= 1000) {
		add("twin %v must be a factor from 0 to 1000", f)
	}
	if err := s.perturbed().Cluster.Validate(); err != nil {
		faults = append(faults, err)
	} else if err := s.Cluster.CheckApp(s.App); err != nil {
		faults = append(faults, err)
	}
	if axes, err := guard.ParseAxes(s.Axes); err != nil {
		faults = append(faults, err)
	} else if s.Axes != nil && len(axes) == 0 {
		add("no axis may be changed: name at least one of %s", strings.Join(guard.AxisNames(), ", "))
	}
	if s.Interval < 0 {
		add("interval %v must not be negative", s.Interval)
	}
	if s.Partial != nil && len(s.Partial) != len(s.App.Services) {
		add("%d parts of the SLO for %d services", len(s.Partial), len(s.App.Services))
	}
	faults = append(faults, s.checkTenants())
	if err := (sim.Metrics{Loss: s.Perturb.MetricsLoss, CPUNoise: s.Perturb.CPUNoise}).Validate(); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// model is the application as policies know it.
func (s Spec) model() *loadline.App {
	if s.Perturb.Twin == 0 || s.Perturb.Twin == 1 {
		return s.App
	}
	app := *s.App
	app.Services = slices.Clone(app.Services)
	for i := range app.Services {
		cpu := &app.Services[i].CPU.Mean
		*cpu = time.Duration(float64(*cpu) * s.Perturb.Twin)
	}
	return &app
}

// perturbed is the application and its cluster as they are in the run.
func (s Spec) perturbed() Spec {
	if n := s.Perturb.Neighbours; n != nil {
		s.Cluster.Neighbours = *n
	}
	if c := s.Perturb.Clients; c != nil {
		app := *s.App
		app.Kinds = slices.Clone(app.Kinds)
		for k := range app.Kinds {
			kind := &app.Kinds[k]
			kind.Timeout, kind.Retries = time.Duration(c.Patience*float64(kind.SLO.Latency)), c.Retries
		}
		s.App = &app
	}
	return s
}

// title is the name of the policy in the result.
func (s Spec) title() string {
	if s.Guard == "" {
		return policy.Canonical(s.Policy)
	}
	return policy.Canonical(s.Policy) + " guarded by " + s.Guard
}

// Run simulates. It ends early with the context's error.
func Run(ctx context.Context, s Spec) (*Outcome, error) {
	session, err := Open(s)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	if err := session.AdvanceTo(ctx, s.Duration); err != nil {
		return nil, err
	}
	return session.Finish(), nil
}

// constraintsOf a namespace with a quota. Where it limits limits, pods without any are not admitted.
func constraintsOf(q loadline.Quota, services int) loadline.Constraints {
	c := loadline.Constraints{Quota: q, Services: make([]loadline.ServiceConstraints, services)}
	for i := range c.Services {
		c.Services[i].NeedsCPULimit = q.Hard[loadline.QuotaCPULimits].Set
		c.Services[i].NeedsMemoryLimit = q.Hard[loadline.QuotaMemoryLimits].Set
	}
	return c
}

func (o *Outcome) note(d *loadline.Decision, also func(*loadline.Decision)) {
	o.Effort.Decisions++
	if d.Err != nil {
		o.Effort.Held++
	}
	o.Effort.CPUTime += d.CPUTime
	o.Effort.Longest = max(o.Effort.Longest, d.CPUTime)
	if !d.Applied.IsZero() {
		o.Timeline.Changes = append(o.Timeline.Changes, sim.Since(d.Applied))
	}
	if also != nil {
		also(d)
	}
}

// String is the effort in one line.
func (e Effort) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d decisions", e.Decisions)
	if e.Held > 0 {
		fmt.Fprintf(&b, " (%d held without data)", e.Held)
	}
	if e.CPUTime > 0 && e.Decisions > 0 {
		fmt.Fprintf(&b, ", CPU time %v each, %v at most", (e.CPUTime / time.Duration(e.Decisions)).Round(100*time.Nanosecond),
			e.Longest.Round(time.Microsecond))
	}
	return b.String()
}
