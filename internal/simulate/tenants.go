package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/reserve"
	"github.com/loadline/loadline/internal/sim"
)

// tenant is one application of a run with what decides for it. A run has one, or several that share
// the cluster and nothing else: each has its own policy, guards and loop, as it has in the
// controller, and sees its own services and kinds only.
type tenant struct {
	number   int
	of       loadline.TenantRange
	app      *loadline.App // as its policy knows it
	policy   loadline.Policy
	guarded  *guard.Guarded // nil = without guards
	deployed loadline.Needs // of the policy, without guards
	wanted   loadline.Opt[loadline.Room]
}

// deciders are the policies of the applications.
func (s Spec) deciders(models []*loadline.App) ([]loadline.Policy, error) {
	if s.Decider != nil {
		if len(models) > 1 {
			return nil, fmt.Errorf("policy %s decides for one application, and there are %d", s.Policy, len(models))
		}
		return []loadline.Policy{s.Decider}, nil
	}
	specs, err := policy.EachApplication(s.Policy, s.App)
	if err != nil {
		return nil, err
	}
	all := make([]loadline.Policy, len(models))
	var faults []error
	for i, app := range models {
		var err error
		if all[i], err = policy.New(specs[i], app); err != nil && len(models) > 1 {
			err = fmt.Errorf("application %s: %w", app.Name, err)
		}
		faults = append(faults, err)
	}
	return all, errors.Join(faults...)
}

// checkTenants reports the faults of policies and guards.
func (s Spec) checkTenants() error {
	models := apps.Split(s.model())
	policies, err := s.deciders(models)
	if err != nil {
		return err
	}
	var faults []error
	if s.Past != nil && len(s.Past) != len(models) {
		faults = append(faults, fmt.Errorf("%d histories for %d applications", len(s.Past), len(models)))
	}
	given := s.Partial != nil && len(s.Partial) == len(s.App.Services)
	for i, t := range s.App.TenantRanges() {
		if p, has := policies[i].(partial); has && given && !slices.Equal(p.Partial(), s.partialOf(t)) {
			faults = append(faults, fmt.Errorf("policy %s was trained with other shares of the SLO: leave them out to use those of its "+
				"training, or train it with these", s.Policy))
		} else if _, err := s.guardedBy(policies[i], models[i]); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// tenants of the run, with policies that are ready for their first decision.
func (s Spec) tenants() ([]*tenant, error) {
	models := apps.Split(s.model())
	policies, err := s.deciders(models)
	if err != nil {
		return nil, err
	}
	var all []*tenant
	for i, of := range s.App.TenantRanges() {
		t := &tenant{number: i, of: of, app: models[i], policy: policies[i]}
		if p, ok := t.policy.(oracle); ok {
			p.SetFuture(sim.Epoch, s.Duration, s.rateOf(of), s.demandChangesOf(of))
		}
		if s.Past != nil {
			p, ok := t.policy.(HistoryLearner)
			if !ok {
				return nil, fmt.Errorf("policy %s cannot start with a history", s.Policy)
			}
			if err := p.LearnHistory(t.app, s.Past[i]); err != nil {
				return nil, err
			}
		}
		s.setClock(t.policy)
		t.deployed = t.policy.Needs()
		if t.guarded, err = s.guardedBy(t.policy, t.app); err != nil {
			return nil, err
		}
		if t.guarded != nil {
			t.policy = t.guarded.Ladder
		}
		all = append(all, t)
	}
	return all, nil
}

// rateOf is the load of one application.
func (s Spec) rateOf(t loadline.TenantRange) policy.Rate {
	return func(kind int, at time.Duration) (float64, time.Duration) { return s.Load.Rate(t.FirstKind+kind, at) }
}

// demandChangesOf are those of one application's services.
func (s Spec) demandChangesOf(t loadline.TenantRange) []policy.DemandChange {
	var own []policy.DemandChange
	for _, c := range s.Perturb.DemandChanges() {
		if c.Service -= t.FirstService; c.Service >= 0 && c.Service < t.Services {
			own = append(own, c)
		}
	}
	return own
}

// partialOf are the parts of the SLO of one application's services.
func (s Spec) partialOf(t loadline.TenantRange) []loadline.SLO {
	return s.Partial[t.FirstService : t.FirstService+t.Services]
}

// deployedNeeds is what the policies of all applications need of the cluster itself; the rest is
// that of the first.
func deployedNeeds(tenants []*tenant) loadline.Needs {
	needs := tenants[0].deployed
	for _, t := range tenants[1:] {
		needs.Reserve += t.deployed.Reserve
		needs.RecreateAfter = max(needs.RecreateAfter, t.deployed.RecreateAfter)
	}
	return needs
}

// guardedBy puts the guards around a policy; nil without guards.
func (s Spec) guardedBy(inner loadline.Policy, model *loadline.App) (*guard.Guarded, error) {
	if s.Guard == "" {
		return nil, nil
	}
	rule, err := policy.New(s.Guard, model)
	if err != nil {
		return nil, fmt.Errorf("guard: the rule: %w", err)
	}
	s.setClock(rule)
	settings := guard.Defaults()
	if s.GuardSettings != nil {
		settings = *s.GuardSettings
	}
	g, err := guard.Around(settings, model, inner, rule)
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	if s.Interval > 0 {
		g.Ladder.SetBeat(s.Interval)
	}
	return g, nil
}

// guards of the loop: those of production or only the bounds, within the axes.
func (s Spec) guards(t *tenant) []loop.Guard {
	var optional []string
	if s.GuardSettings != nil {
		optional = s.GuardSettings.Brownout.Services
	}
	axes := guard.AxesFor(t.app, s.Axes, optional)
	switch {
	case t.guarded != nil && s.Axes != nil:
		return t.guarded.Within(axes)
	case t.guarded != nil:
		return t.guarded.Guards
	case s.Axes != nil:
		return axes.Around([]loop.Guard{guard.Clamp{}})
	}
	return []loop.Guard{guard.Clamp{}}
}

// metrics that an application's policy has.
func (s Spec) metrics(t *tenant) sim.Metrics {
	metrics := sim.MetricsFor(t.policy.Needs())
	if t.guarded != nil { // it runs in the controller
		metrics = sim.PrometheusFor(t.policy.Needs())
	}
	metrics = metrics.Late(s.Perturb.MetricsLate)
	metrics.Loss, metrics.CPUNoise = s.Perturb.MetricsLoss, s.Perturb.CPUNoise
	return metrics
}

// loop of an application.
func (s Spec) loop(t *tenant, cluster *sim.Cluster, out *Outcome) *loop.Loop {
	hooks := s.Hooks
	if s.Hooks.Of != nil {
		hooks = s.Hooks.Of(t.number)
	}
	alone := len(s.App.Tenants) == 0
	run := &loop.Loop{
		App: t.app, Policy: t.policy, Cluster: cluster.Tenant(t.of, s.metrics(t)), Clock: cluster,
		Reserves: alone,
		Decided:  hooks.Decided,
		Record:   func(d *loadline.Decision) { out.note(d, hooks.Decision) },
		CPUTime:  s.Hooks.CPUTime,
	}
	if !alone {
		run.Decided = func(d *loadline.Decision, situation loadline.Situation) {
			if d.Proposal.Reserve.Set {
				t.wanted = d.Proposal.Reserve
			}
			if hooks.Decided != nil {
				hooks.Decided(d, situation)
			}
		}
	}
	if len(s.Announced) > 0 {
		run.Announced = func() []loadline.Event { return s.Announced }
	}
	if s.Cluster.Quota.Limits() {
		constraints := constraintsOf(s.Cluster.Quota, len(t.app.Services))
		run.Constraints = func() loadline.Constraints { return constraints }
	}
	if s.Partial != nil {
		run.Splitter = loop.FixedSplit(s.partialOf(t.of))
	}
	if t.guarded != nil {
		t.guarded.Ladder.OnChange = func(step guard.Transition) {
			out.Rungs = append(out.Rungs, step)
			if hooks.Rung != nil {
				hooks.Rung(step)
			}
		}
		t.guarded.Install(run)
	}
	run.Guards = s.guards(t)
	return run
}

// jointReserve holds one reserve for all applications, as the controller does for those of a class.
// One that is alone on the cluster has its own, by its plans.
func (s Spec) jointReserve(tenants []*tenant, cluster *sim.Cluster) []loop.Periodic {
	if len(s.App.Tenants) == 0 {
		return nil
	}
	var shared reserve.Shared
	var held reserve.Pods
	static := deployedNeeds(tenants).Reserve
	var allocated []loadline.Allocation
	return []loop.Periodic{{Every: reserve.Every, Do: func(_ context.Context, now time.Time) error {
		allocated = cluster.Allocation(allocated[:0])
		pods, _ := shared.Pods(now, nodeLead(s), wishes(tenants, allocated), nil)
		if pods == held {
			return nil
		}
		held = pods
		room := pods.Room()
		room.Cores += static
		cluster.HoldReserve(room, pods.Size)
		return nil
	}}}
}

// wishes of the applications, with what their services request.
func wishes(tenants []*tenant, allocated []loadline.Allocation) []reserve.Wish {
	all := make([]reserve.Wish, 0, len(tenants))
	for _, t := range tenants {
		w := reserve.Wish{Name: t.of.Name, Wanted: t.wanted.Value}
		for _, a := range allocated[t.of.FirstService : t.of.FirstService+t.of.Services] {
			w.Count(loadline.Room{Cores: a.Size.CPURequest, Memory: a.Size.MemoryRequest}, a.Replicas, t.wanted.Set)
		}
		all = append(all, w)
	}
	return all
}

// nodeLead is the time until the slowest pool has a new node.
func nodeLead(s Spec) time.Duration {
	lead := time.Duration(0)
	for _, p := range s.Cluster.Pools {
		lead = max(lead, p.WithDefaults().Start.Mean)
	}
	if lead == 0 {
		return reserve.DefaultLead
	}
	return lead
}
