package controller

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/decisionlog/expect"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/resource"
)

// foreseeWithin is how long the twin may think about one decision.
const foreseeWithin = 50 * time.Millisecond

// application is one LoadLine put together: a loop and what it rests on. It is for
// one goroutine.
type application struct {
	*resource.Application
	ends   *ends
	loop   *loop.Loop
	ladder *guard.Ladder
	models models
	model  decider
	fleet  *Fleet                // nil = students decide alone
	name   string                // of the application's fleet
	world  *loadline.App         // the twin, with what the user says of it; nil = there is none
	member *member               // the students in it; nil = there are none
	apart  error                 // why there are none
	log    *decisionlog.Log      // nil = decisions are not kept
	record *decisionlog.Recorder // likewise

	view *view // of the pass in progress
	done func(*view)
}

// assemble an application. Every fault of the resource is told at once.
func (c *Controller) assemble(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
	from := named{c.Live, l.Namespace}
	twin, err := from.twin(ctx, l)
	if err != nil {
		return nil, err
	}
	spec, err := resource.Read(l, twin)
	if err != nil {
		return nil, err
	}
	a := &application{Application: spec, ends: newEnds(spec)}
	c.joinEnds(a, l, from, latest)
	if c.Fleet != nil && spec.Mode != v1alpha1.Observe {
		a.fleet, a.name = c.Fleet, fleetName(c.Fleet.Config.Name, l)
		if twin != nil {
			a.world = spec.App
		}
	}
	if err := a.guardIt(ctx, models{from, c.Models, spec}, l, c.Now()); err != nil {
		a.leave()
		return nil, err
	}
	if c.Decisions != "" {
		if a.log, err = decisionlog.Open(filepath.Join(c.Decisions, l.Namespace, l.Name), decisionlog.Options{TotalBytes: decisionBytes, Sync: time.Minute}); err != nil {
			a.leave()
			return nil, fmt.Errorf("open the log of decisions: %w", err)
		}
		a.recordIt(twin != nil, c.Log)
	}
	return a, nil
}

// decisionBytes is how much of its decisions is kept of each application.
const decisionBytes = 64 << 20

// joinEnds gives the application its cluster and its metrics.
func (c *Controller) joinEnds(a *application, l *v1alpha1.LoadLine, from named, latest func() *v1alpha1.LoadLine) {
	var names []string
	for i := range a.App.Services {
		names = append(names, a.App.Services[i].Name)
	}
	e := a.ends
	e.work = kube.New(kube.Options{
		Client: c.Client, Live: c.Live, Namespace: l.Namespace, Owner: client.ObjectKeyFromObject(l),
		Services: a.Targets, Names: names, ScalerHosts: c.ScalerHosts, Now: c.Now,
	})
	m := &meter{named: from, spec: &l.Spec.Prometheus, app: a.Application}
	e.source = m.at
	e.timeout = l.Spec.Prometheus.Timeout.Span()
	if e.timeout == 0 {
		e.timeout = 10 * time.Second
	}
	// A look that takes longer than the interval would be old before it is used.
	e.timeout = min(e.timeout, a.Needs.Period)
	e.resource, e.now = latest, c.Now
	e.act = a.Mode == v1alpha1.Act && !c.DryRun
	e.metrics = c.metricsOf(l)
	status := map[string]*v1alpha1.ServiceStatus{}
	for i := range l.Status.Services {
		status[l.Status.Services[i].Name] = &l.Status.Services[i]
	}
	for i, name := range names {
		if a.Targets[i] != nil {
			e.told[i] = recall(status[name], l.Status.Mode == v1alpha1.Act && a.Mode == v1alpha1.Act)
			e.told[i].size = permitted(e.told[i].size, a.Axes[i])
		}
	}
}

// permitted is the part of a size that may be moved still.
func permitted(size loadline.Setting, p resource.Permit) loadline.Setting {
	drop(&size.CPURequest, p.CPURequest)
	drop(&size.CPULimit, p.CPULimit)
	drop(&size.MemoryRequest, p.MemoryRequest)
	drop(&size.MemoryLimit, p.MemoryLimit)
	return size
}

func drop[T any](o *loadline.Opt[T], allowed bool) {
	if !allowed {
		*o = loadline.Opt[T]{}
	}
}

// guardIt makes the loop: who decides, and everything that keeps it safe.
func (a *application) guardIt(ctx context.Context, m models, l *v1alpha1.LoadLine, now time.Time) error {
	a.models = m
	a.model = a.employ(m.find(ctx, l, now))
	rule, err := policy.New(a.Fallback, a.App)
	if err != nil {
		return fmt.Errorf("spec.fallback: %w", err)
	}
	guarded, err := guard.Around(a.Guard, a.App, a.model.policy, rule)
	if err != nil {
		return fmt.Errorf("spec.guard: %w", err)
	}
	a.ladder = guarded.Ladder
	if a.model.policy == nil {
		a.ladder.Offer(nil, a.model.why)
	}
	a.ladder.SetBeat(a.Needs.Period)
	if was, ok := resource.State(l.Status.Ladder); ok {
		a.ladder.Resume(was)
	}
	a.loop = &loop.Loop{App: a.App, Cluster: a.ends, Filter: guarded.Filter, Decided: a.decided, Record: a.recorded}
	if a.Mode == v1alpha1.Observe {
		a.loop.Policy = observer{a.ladder}
		return nil
	}
	s := still{a.ends}
	a.loop.Policy = prompt{a.ladder}
	a.loop.Guards = append(append([]loop.Guard{s}, a.Axes.Around(append(guarded.Guards, whole{}))...), s)
	return nil
}

// prompt is a ladder whose decisions are carried out as soon as they are made: the
// delays of a real deployment come by themselves in one.
type prompt struct{ *guard.Ladder }

// Needs without a delay.
func (p prompt) Needs() loadline.Needs {
	n := p.Ladder.Needs()
	n.Delay = 0
	return n
}

// observer only looks.
type observer struct{ ladder *guard.Ladder }

// Name of the policy in records.
func (observer) Name() string { return "observer" }

// Needs are those of the policies that it stands in for.
func (o observer) Needs() loadline.Needs { return prompt{o.ladder}.Needs() }

// Decide nothing.
func (observer) Decide(time.Time, loadline.Situation) (loadline.Proposal, error) {
	return loadline.Proposal{}, nil
}

func (a *application) recordIt(foresee bool, log *slog.Logger) {
	a.record = &decisionlog.Recorder{
		Log: a.log, App: a.App, Needs: a.loop.Policy.Needs(), Mode: string(a.Mode),
		Rung:   func() string { return a.ladder.State().Rung.String() },
		Absent: func() []string { return a.ends.report.Reasons() },
		Fault: func(err error) {
			a.ends.metrics.recordFault()
			log.Warn("a decision could not be recorded", "loadline", a.Name, "error", err)
		},
	}
	if foresee {
		a.record.Expect = (&expect.Twin{App: a.App, Budget: foreseeWithin, Now: time.Now}).Of
	}
}

// decided is told of every decision with what it rests on.
func (a *application) decided(d *loadline.Decision, s loadline.Situation) {
	a.view = beginView(a.Application, a.ends, d, s)
	if a.record != nil {
		a.record.Decided(d, s)
	}
	if a.member != nil {
		a.member.saw(a, d, s)
	}
}

// recorded is told of the end of every pass.
func (a *application) recorded(d *loadline.Decision) {
	v := a.view
	a.view = nil
	if v == nil || !v.at.Equal(d.At) {
		v = &view{app: a.Application, at: d.At, err: d.Err} // nothing could be observed
	} else {
		v.finish(d, a.ends)
	}
	if a.member != nil {
		a.member.settle(a, d)
	}
	v.fleet = a.fleetVerdict()
	v.ladder = a.ladder.State()
	v.policy = a.policyName(v.ladder.Rung)
	if a.record != nil {
		a.record.Done(d)
	}
	a.done(v)
}

// policyName is who is followed.
func (a *application) policyName(r guard.Rung) string {
	switch r {
	case guard.Learned:
		return a.model.name
	case guard.Rule:
		return a.Fallback
	}
	return ""
}

// renew looks for another model, and says what came of it if anything did. One that
// is at work is not given up for a file that cannot be read.
func (a *application) renew(ctx context.Context, l *v1alpha1.LoadLine, now time.Time) (news string) {
	found := a.models.find(ctx, l, now)
	switch {
	case found.id == a.model.id && (found.policy == nil) == (a.model.policy == nil) && a.apart == nil:
		return ""
	case found.policy == nil && a.model.policy != nil && found.reason != v1alpha1.ReasonModelOld:
		return fmt.Sprintf("%s is followed on, although there is no other to be had: %s", a.model.name, found.why)
	}
	a.model = a.employ(found)
	a.ladder.Offer(a.model.policy, a.model.why)
	if a.model.policy == nil {
		return a.model.why
	}
	return "the model is now " + found.name
}

func (a *application) close() error {
	a.leave()
	if a.log == nil {
		return nil
	}
	return a.log.Close()
}
