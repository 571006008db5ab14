package controller

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/metrics/live"
	"github.com/loadline/loadline/internal/resource"
)

// view is one pass as it is published: in the status, as Events and as metrics. It
// shares nothing with the loop.
type view struct {
	app  *resource.Application
	at   time.Time
	err  error // why nothing was decided, or not applied
	seen bool  // there was an observation

	blind    error         // why the metrics could not be asked
	report   live.Report   // which metrics were absent or stale, and why
	late     time.Duration // age of the newest sample, if that is too old to be used
	ladder   guard.State
	memory   guard.Memory
	policy   string     // that is followed
	fleet    *verdict   // of the condition Fleet; nil = there is none
	watch    *watchView // nil = there is no twin
	records  *verdict   // of the condition DecisionLog; likewise
	services []serviceView
	kinds    []loadline.KindObservation
	changed  []loadline.GuardChange
	plan     loadline.Plan
	applied  bool // the plan was carried out, or there was none

	events      []loadline.Event // that are announced, running or to come
	unannounced error            // what of them is not understood
	limited     string           // what keeps services below their need; empty = nothing
	unknown     error            // which constraints of the namespace could not be read
	reserve     loadline.Opt[loadline.Room]

	brownedOut []v1alpha1.BrownedOut
	unrestored error // why brownouts are not restored
	unstored   error // why the plan was not stored, and only in part carried out
}

// serviceView is one service's part of it.
type serviceView struct {
	hold      hold
	conflicts []kube.Conflict
	observed  loadline.ServiceObservation // without pods
	ready     int
	wanted    loadline.Setting
	reason    string              // of the policy
	sentence  string              // why it changes; empty if it does not
	before    loadline.Allocation // desired when the decision was made
	desired   loadline.Allocation // desired afterwards
	size      loadline.Setting    // that pods which are created from now on get
	change    time.Time
	manual    time.Time
	resizes   string // what is in the way of sizes
	coverage  guard.Coverage
	unscaled  string // why nothing scales it at present, KEDA included
}

// newView of a pass, after its plan was applied.
func newView(app *resource.Application, c *cluster, p *loop.Pass) *view {
	d := &p.Decision
	v := &view{app: app, at: d.At, err: d.Err, seen: p.Observed(), brownedOut: c.brownedOut(loadline.Plan{})}
	if !v.seen {
		return v
	}
	v.blind, v.report, v.unstored = c.blind, c.report, c.unstored
	if age := d.At.Sub(c.newest); !c.newest.IsZero() && age > app.Guard.Data.MaxAge {
		v.late = age
	}
	now := p.Situation.Now()
	v.kinds = append(v.kinds, now.Kinds...)
	v.services = make([]serviceView, len(app.App.Services))
	for i := range v.services {
		sv := &v.services[i]
		sv.hold, sv.conflicts = c.holds[i], c.states[i].Conflicts
		sv.ready = now.Services[i].ReadyPods()
		sv.observed = now.Services[i]
		sv.coverage = guard.CoverageOf(&now.Services[i], d.At, app.Guard.Data.MaxAge, app.Guard.Starting.Settle)
		sv.observed.Pods = nil
		sv.before = p.Situation.Allocation[i]
	}
	for i := range d.Proposal.Services {
		of := &d.Proposal.Services[i]
		v.services[of.Service].wanted, v.services[of.Service].reason = of.Setting, of.Reason
	}
	for _, p := range d.Plan.Services {
		v.services[p.Service].sentence = decisionlog.Why(d, app.App, p.Service)
	}
	v.events = append(v.events, p.Situation.Announced...)
	v.unannounced, v.reserve = c.unannounced, d.Proposal.Reserve
	v.limited, v.unknown = d.Proposal.Limited, c.constraints.err
	v.changed = append(v.changed, d.Changed...)
	v.plan.Services = append(v.plan.Services, d.Plan.Services...)
	v.applied = d.Err == nil || !d.Applied.IsZero() // guards raise also where no policy has data
	v.fillDesired(c)
	return v
}

// fillDesired adds what the services are to be after the pass.
func (v *view) fillDesired(c *cluster) {
	for i := range v.services {
		sv := &v.services[i]
		sv.desired = c.allocation(i)
		sv.size = c.desired[i].size
		sv.change, sv.manual = c.desired[i].changed, c.desired[i].manual
		sv.unscaled = c.unscaled(i)
		sv.resizes = resizeText(c.states[i].Resize, c.resizes[i])
	}
}

// why gives the reason for a service's setting: the sentence of its change, or else the hold,
// the last guard that changed what was proposed, or the policy.
func (v *view) why(service int) string {
	sv := &v.services[service]
	if sv.hold.held() && planOf(v.plan, service).Empty() {
		return sv.hold.why
	}
	why := sv.reason
	for i := range v.changed {
		if c := &v.changed[i]; c.Service == service && c.Reason != "" {
			why = c.Guard + ": " + c.Reason
		}
	}
	if sv.sentence != "" {
		why = sv.sentence
	}
	if v.unstored != nil && !planOf(v.plan, service).Empty() {
		why = sentence(v.unstored.Error(), why)
	}
	return sentence(why, sv.resizes)
}

// sentence joins two parts, either of which may be empty.
func sentence(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// outcome of the pass, for metrics.
func (v *view) outcome() string {
	switch {
	case errors.Is(v.err, errStale):
		return "stale"
	case v.err != nil && errors.Is(v.err, loadline.ErrNoData):
		return "held"
	case v.err != nil:
		return "failed"
	case len(v.plan.Services) > 0:
		return "changed"
	}
	return "kept"
}

// met reports whether an objective was met; not known if it was not measured. A share over the objective
// that a rule records decides before the latency does.
func (v *view) met(kind int) (met, known bool) {
	k := &v.kinds[kind]
	if kind < len(v.app.Sources) && v.app.Sources[kind].Over != "" {
		const slack = 1e-9 // 1 - 0.999 is not 0.001
		return k.OverSLO.Value <= 1-v.app.App.Kinds[kind].SLO.Percentile/100+slack, k.OverSLO.Present()
	}
	if !k.AtSLO.Present() {
		return false, false
	}
	return k.AtSLO.Value <= v.app.App.Kinds[kind].SLO.Latency.Seconds(), true
}

// newest is the time of the newest sample of any service; zero if there is none.
func (v *view) newest() time.Time {
	var newest time.Time
	for i := range v.services {
		o := &v.services[i].observed
		for _, s := range []loadline.Sample{o.Rate, o.CPU} {
			if s.At.After(newest) {
				newest = s.At
			}
		}
	}
	return newest
}

// partial are the services of ours of which too few pods are measured to reduce them.
func (v *view) partial() []string {
	var list []string
	for i := range v.services {
		if c := v.services[i].coverage.Least(); v.app.Targets[i] != nil && !c.Enough() {
			list = append(list, fmt.Sprintf("%s (%v)", v.app.App.Services[i].Name, c))
		}
	}
	return list
}

// unseen are the names of services of ours of which neither rate nor CPU is known.
func (v *view) unseen() []string {
	var names []string
	for i := range v.services {
		sv := &v.services[i]
		if v.app.Targets[i] == nil || sv.desired.Replicas == 0 || sv.desired.Brownout {
			continue
		}
		if !sv.observed.Rate.Present() && !sv.observed.CPU.Present() {
			names = append(names, v.app.App.Services[i].Name)
		}
	}
	return names
}
