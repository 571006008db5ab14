package controller

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/loop"
)

// pass makes one pass over an application and publishes its result, with every
// interval as with --once. The error is the context's, or wraps errStale: whatever
// else fails is part of the result. A stale process publishes nothing.
func (r *runner) pass(ctx context.Context, a *application) (*view, error) {
	ctx = withPass(ctx, r.c.Now(), a.Needs.Period)
	a.cluster.persist = func(ctx context.Context, plan loadline.Plan) error { return r.writeAhead(ctx, a, plan) }
	r.restoreOrphans(ctx, a)
	r.c.proposeReserve(ctx, r.latest.Load(), a)
	step, err := a.loop.Step(ctx) // observe, forecast, split the SLO, decide, guard, apply
	a.tellFleet(step)
	a.foresee(step)
	a.compare(step)
	r.estimate(ctx, a, step.Decision.At)
	a.record(step)
	v := a.view(step)
	r.resizeMismatched(ctx, a, v)
	r.answer(ctx, a, v)
	if errors.Is(v.err, errStale) {
		a.cluster.metrics.pass(v, r.c.Now().Sub(v.at))
		return v, v.err
	}
	r.publishEvents(v)
	r.logPass(a, v)
	stale := r.publishStatus(ctx, a, v)
	r.renewModel(ctx, a, v)
	r.publishMetrics(a, v)
	r.notices.pass(r.latest.Load(), v, a.model, a.ladder.SLOBurns(), r.news)
	r.notices.drift(r.latest.Load(), &r.newest, v.at)
	return v, errors.Join(err, stale, r.renewTwin(ctx, a, v))
}

// tellFleet passes the outcome of the students' decisions on to their teacher.
func (a *application) tellFleet(p *loop.Pass) {
	if a.member == nil {
		return
	}
	if p.Observed() {
		a.member.observe(a, &p.Decision, p.Situation)
	}
	a.member.settle(a, &p.Decision)
}

// foresee adds the twin's estimate of what the pass changed. The plan is applied by then.
func (a *application) foresee(p *loop.Pass) {
	if a.outlook != nil && p.Observed() {
		a.outlook.Foresee(&p.Decision, p.Situation)
	}
}

// record writes the decision to the decision log.
func (a *application) record(p *loop.Pass) {
	if a.openLog(p.Decision.At); a.recorder == nil {
		return
	}
	a.records.err = nil
	if p.Observed() {
		a.recorder.Decided(&p.Decision, p.Situation)
	}
	a.recorder.Done(&p.Decision)
}

// view of the pass, for everything that is published.
func (a *application) view(p *loop.Pass) *view {
	v := newView(a.Application, a.cluster, p)
	v.fleet, v.records = a.fleetVerdict(), a.records.verdict()
	v.ladder = a.ladder.State()
	v.memory = a.guarded.Memory(p.Decision.At)
	v.policy = a.policyName(v.ladder.Rung)
	v.watch = a.watch.view(a)
	return v
}

// policyName is the policy that is followed on a rung.
func (a *application) policyName(r guard.Rung) string {
	switch r {
	case guard.Primary:
		return a.model.name
	case guard.Rule:
		return a.Fallback
	}
	return ""
}

// resizeMismatched resizes pods that do not have the desired size.
func (r *runner) resizeMismatched(ctx context.Context, a *application, v *view) {
	if errors.Is(v.err, errStale) {
		return
	}
	if err := a.cluster.resizeMismatched(ctx, false); err != nil && v.err == nil {
		v.err = err
	}
	r.forbidden = nil
	if v.err != nil && apierrors.IsForbidden(v.err) {
		r.forbidden = v.err
	}
}

// answer gives those who ask for them the desired replicas, which is as good as a write.
func (r *runner) answer(ctx context.Context, a *application, v *view) {
	if r.c.Board == nil || errors.Is(v.err, errStale) {
		return
	}
	if a.cluster.anyAsked() {
		if err := r.c.Lease.Check(ctx); err != nil {
			v.err = errors.Join(v.err, err)
			return
		}
	}
	v.post(r.c.Board, r.latest.Load(), a.cluster)
}

func (r *runner) publishEvents(v *view) { r.events.pass(r.latest.Load(), v) }

func (r *runner) logPass(a *application, v *view) {
	switch v.outcome() {
	case "failed":
		r.log.Warn("pass failed", "error", v.err)
	case "held":
		r.log.Debug("pass held", "reason", v.err)
	}
	if why := text(v.unknown); why != r.unknown {
		if r.unknown = why; why != "" {
			r.log.Warn("constraints of the namespace are not all known", "reason", why, "remedy", "kubectl apply -f deploy/rbac/cluster-role.yaml")
		}
	}
	for _, p := range v.plan.Services {
		sv := &v.services[p.Service]
		r.log.Info("decided", "service", a.App.Services[p.Service].Name, "mode", a.Mode, "applied", v.applied && a.cluster.act,
			"from", sv.before.Replicas, "to", sv.before.With(p.Setting).Replicas, "change", changeOf(sv.before, p.Setting), "reason",
			v.why(p.Service))
	}
}

// publishStatus returns an error that wraps errStale if another process has written
// the status.
func (r *runner) publishStatus(ctx context.Context, a *application, v *view) error {
	l := r.resource()
	v.unrestored = r.unrestored
	status := v.status(l, a.model, r.forbidden)
	status.Agent = r.c.Agent
	if err := r.write(ctx, l, status, v.at); err != nil {
		return err
	}
	r.syncFinalizer(ctx, r.latest.Load())
	return nil
}

// renewModel looks for another model from time to time, and publishes a change.
func (r *runner) renewModel(ctx context.Context, a *application, v *view) {
	if v.at.Sub(r.renewed) < renewAfter {
		return
	}
	r.renewed = v.at
	l := r.latest.Load()
	news := a.renew(ctx, l, v.at)
	if news == r.news {
		return
	}
	r.news = news
	if news != "" {
		r.log.Info("model checked", "result", news)
		r.events.say(l, "model", "Normal", "Model", "Decide", news)
	}
}

// errTwinChanged: the application is to be assembled with another twin.
var errTwinChanged = errors.New("the twin has changed")

// twinAfter is how often another twin is looked for.
const twinAfter = 5 * time.Minute

// renewTwin looks for another twin, or for one that was judged otherwise, from time to time.
func (r *runner) renewTwin(ctx context.Context, a *application, v *view) error {
	if a.watch == nil || v.at.Sub(r.twinRead) < twinAfter {
		return nil
	}
	first := r.twinRead.IsZero()
	r.twinRead = v.at
	if first {
		return nil // it was just read
	}
	if _, digest, _ := a.models.judgedOf(ctx, r.latest.Load()); digest != "" && digest != a.watch.digest {
		return errTwinChanged
	}
	return nil
}

func (r *runner) publishMetrics(a *application, v *view) {
	m := a.cluster.metrics
	if v.app.Mode == v1alpha1.Act && v.applied && a.cluster.act {
		for _, p := range v.plan.Services {
			m.change(a.App.Services[p.Service].Name, p.Setting)
		}
	}
	m.pass(v, r.c.Now().Sub(v.at))
	m.watch(v)
	m.fleet(a.member)
}

// publishRung publishes a step on the guard's ladder.
func (r *runner) publishRung(a *application, t guard.Transition) {
	r.log.Info("rung changed", "from", t.From.String(), "to", t.To.String(), "reason", t.Why)
	r.events.rung(r.latest.Load(), t)
	a.cluster.metrics.rung(t.To)
}
