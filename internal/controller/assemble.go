package controller

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/outlook"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/resource"
)

// foreseeWithin is how long predicting the users' latencies after one decision may take. The plan
// is applied by then.
const foreseeWithin = 200 * time.Millisecond

// application is one LoadLine put together: a loop and what it uses. It is for one
// goroutine.
type application struct {
	*resource.Application
	cluster *cluster
	loop    *loop.Loop
	ladder  *guard.Ladder
	guarded *guard.Guarded
	models  models
	model   decider
	fleet   *Fleet        // nil = students decide alone
	name    string        // of the application's fleet
	world   *loadline.App // the twin, with what the user says of it; nil = there is none
	member  *member       // the students in it; nil = there are none
	apart   error         // why there are none
	records *records      // nil = decisions are not recorded
	sink    *slog.Logger  // of what cannot be

	meter    *meter
	recorder *decisionlog.Recorder // nil = the log is not open
	outlook  *outlook.Twin         // estimates what changes; nil = there is no twin
	watch    *watch                // compares the application with its twin; likewise
}

// assemble an application. All faults of the resource are reported at once.
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
	class, err := c.classOf(ctx, l)
	if err != nil {
		return nil, err
	}
	metering, err := resource.MeteringOf(l, class, c.Prometheus)
	if err != nil {
		return nil, err
	}
	a := &application{Application: spec, cluster: newCluster(spec)}
	if twin != nil {
		a.outlook = &outlook.Twin{App: a.App, Budget: foreseeWithin, Now: time.Now}
	}
	c.joinCluster(a, l, metering, latest)
	if c.Fleet != nil && spec.Mode != v1alpha1.Observe {
		a.fleet, a.name = c.Fleet, fleetName(c.Fleet.Config.Name, l)
		if twin != nil {
			a.world = spec.App
		}
	}
	if err := a.guardIt(ctx, models{from, c.Models, spec}, l, c.Now()); err != nil {
		a.leave() // no metrics were read yet: the meter is not open
		return nil, err
	}
	a.loop.Clock = &realClock{now: c.Now}
	if twin != nil {
		a.watchIt(ctx, from, l)
	}
	a.records, a.sink = c.recordsOf(l), c.Log
	a.openLog(c.Now())
	return a, nil
}

// joinCluster gives the application its cluster and its metrics.
func (c *Controller) joinCluster(a *application, l *v1alpha1.LoadLine, from resource.Metering, latest func() *v1alpha1.LoadLine) {
	var names []string
	for i := range a.App.Services {
		names = append(names, a.App.Services[i].Name)
	}
	cl := a.cluster
	cl.work = kube.New(kube.Options{
		Client: c.Client, Live: c.Live, Namespace: l.Namespace, Owner: client.ObjectKeyFromObject(l),
		Services: a.Targets, Names: names, ScalerHosts: c.ScalerHosts, Now: c.Now,
	})
	m := &meter{named: named{c.Live, l.Namespace}, secrets: named{c.Live, l.Namespace}, spec: from, app: a.Application,
		allow: c.AllowPrometheus, answers: c.Answers, shares: c.shares, log: c.Log.With("loadline", l.Namespace+"/"+l.Name)}
	if from.ByClass {
		m.secrets.namespace = c.Namespace
	}
	cl.source, a.meter = m.at, m
	cl.timeout = from.Source.Timeout.Span()
	if cl.timeout == 0 {
		cl.timeout = 10 * time.Second
	}
	// A reading that takes longer than the interval would be outdated before it is used.
	cl.timeout = min(cl.timeout, a.Needs.Period)
	cl.resource, cl.now = latest, c.Now
	cl.act = a.Mode == v1alpha1.Act && !c.DryRun
	cl.metrics = c.metricsOf(l)
	cl.resume(l)
}

// withinAxes is the part of a size that the axes still allow to change.
func withinAxes(size loadline.Setting, p guard.AllowedAxes) loadline.Setting {
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

// guardIt makes the loop: the policy, and the guards around it.
func (a *application) guardIt(ctx context.Context, m models, l *v1alpha1.LoadLine, now time.Time) error {
	a.models = m
	a.model = a.joinFleet(m.find(ctx, l, now))
	rule, err := policy.New(a.Fallback, a.App)
	if err != nil {
		return fmt.Errorf("spec.fallback: %w", err)
	}
	guarded, err := guard.Around(a.Guard, a.App, a.model.policy, rule)
	if err != nil {
		return fmt.Errorf("spec.guard: %w", err)
	}
	a.guarded, a.ladder = guarded, guarded.Ladder
	if a.model.policy == nil {
		a.ladder.Offer(nil, a.model.why)
	}
	a.ladder.SetBeat(a.Needs.Period)
	if was, ok := resource.State(l.Status.Ladder); ok {
		a.ladder.Resume(was)
	}
	// In a cluster the delays of collecting and deciding are real, not simulated.
	a.loop = &loop.Loop{App: a.App, Cluster: a.cluster, Filter: guarded.Filter, Immediate: true, Announced: a.cluster.announced,
		Constraints: func() loadline.Constraints { return a.cluster.constraints.known }}
	if a.Mode == v1alpha1.Observe {
		a.loop.Policy = observer{a.ladder}
		return nil
	}
	s := holdGuard{a.cluster, a.ladder.SLOBurns}
	a.loop.Policy = a.ladder
	a.loop.Guards = append(append([]loop.Guard{s}, guarded.Within(a.Axes)...), s)
	return nil
}

// observer makes no decisions.
type observer struct{ ladder *guard.Ladder }

// Name of the policy in records.
func (observer) Name() string { return "observer" }

// Needs are those of the policies that it replaces, without their stages.
func (o observer) Needs() loadline.Needs {
	n := o.ladder.Needs()
	n.Forecast, n.PartialSLO = loadline.Horizon{}, false
	return n
}

// Decide nothing.
func (observer) Decide(time.Time, loadline.Situation) (loadline.Proposal, error) {
	return loadline.Proposal{}, nil
}

// openLog opens the decision log, if it is time to. A log that cannot be opened does not stop scaling.
func (a *application) openLog(now time.Time) {
	if a.records == nil {
		return
	}
	was := a.records.err
	opened, ok := a.records.ready(now)
	if !ok && was == nil {
		a.cluster.metrics.recordFault()
		a.sink.Warn("decisions are not recorded", "loadline", a.Name, "error", a.records.err, "retryIn", reopenAfter)
	}
	if opened {
		a.recordIt(a.sink)
	}
}

func (a *application) recordIt(log *slog.Logger) {
	needs := a.loop.Policy.Needs()
	needs.Delay = 0 // plans are applied at once
	a.recorder = &decisionlog.Recorder{
		Log: a.records, App: a.App, Needs: needs, Mode: string(a.Mode),
		Rung:   func() string { return a.ladder.State().Rung.String() },
		Absent: func() []loadline.Diagnosis { return a.cluster.report.Lacking() },
		Remark: func() string { return a.watch.remark() },
		Fault: func(err error) {
			a.records.err = err
			a.cluster.metrics.recordFault()
			log.Warn("decision not recorded", "loadline", a.Name, "error", err)
		},
	}
}

// refusedNews is in the news about a model that is not taken over.
const refusedNews = " stays in use, since no other can be read: "

func newsRefuses(news string) bool { return strings.Contains(news, refusedNews) }

// renew looks for another model, and returns what changed. A model that is in use is
// not given up for a file that cannot be read.
func (a *application) renew(ctx context.Context, l *v1alpha1.LoadLine, now time.Time) (news string) {
	found := a.models.find(ctx, l, now)
	switch {
	case found.id == a.model.id && (found.policy == nil) == (a.model.policy == nil) && a.apart == nil:
		return ""
	case found.policy == nil && a.model.policy != nil && found.reason != v1alpha1.ReasonModelOld:
		return a.model.name + refusedNews + found.why
	}
	a.model = a.joinFleet(found)
	a.ladder.Offer(a.model.policy, a.model.why)
	if a.model.policy == nil {
		return a.model.why
	}
	return "the model is now " + found.name
}

func (a *application) close() error {
	a.leave()
	if a.meter != nil {
		a.meter.close()
	}
	a.watch.close()
	return a.records.close()
}
