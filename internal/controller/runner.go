package controller

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
)

const (
	// quietFor is how long a status may go unwritten in which nothing but figures
	// has changed.
	quietFor = 30 * time.Second
	// renewAfter is how often another model is looked for.
	renewAfter = 30 * time.Second
	// writeWithin is how long the API server may take over a status.
	writeWithin = 5 * time.Second
)

// runner is the life of one LoadLine in this process.
type runner struct {
	c      *Controller
	latest atomic.Pointer[v1alpha1.LoadLine]
	poked  chan struct{}
	cancel context.CancelFunc
	ended  chan struct{}

	diary     diary
	status    v1alpha1.LoadLineStatus // as it was last written
	written   time.Time
	renewed   time.Time
	began     time.Time // of the pass
	forbidden error     // by the API server, when something was to be applied
	news      string    // of the model, as last told
}

// start a LoadLine's life.
func (c *Controller) start(ctx context.Context, l *v1alpha1.LoadLine, after time.Duration) *runner {
	ctx, cancel := context.WithCancel(ctx)
	r := &runner{c: c, poked: make(chan struct{}, 1), cancel: cancel, ended: make(chan struct{}), diary: diary{events: c.Events}}
	r.latest.Store(l)
	r.status = *l.Status.DeepCopy()
	go func() {
		defer close(r.ended)
		r.live(ctx, after)
	}()
	return r
}

// stop it, and wait until it has.
func (r *runner) stop() {
	r.cancel()
	<-r.ended
}

// poke has the runner look after pods that were just created.
func (r *runner) poke() {
	select {
	case r.poked <- struct{}{}:
	default: // it will look anyway
	}
}

// live until the context ends. What cannot be put together is tried again, since
// what it waits for may come: a Secret, a ConfigMap, a permission.
func (r *runner) live(ctx context.Context, after time.Duration) {
	clock := &wall{now: r.c.Now}
	if clock.WaitUntil(ctx, r.c.Now().Add(after)) != nil {
		return
	}
	for wait := 2 * time.Second; ; wait = min(2*wait, time.Minute) {
		a, err := r.c.assemble(ctx, r.latest.Load(), r.latest.Load)
		if err == nil {
			r.run(ctx, a)
			return
		}
		if ctx.Err() != nil {
			return
		}
		r.tellNotReady(ctx, err)
		if clock.WaitUntil(ctx, r.c.Now().Add(wait)) != nil {
			return
		}
	}
}

// run the loop until the context ends.
func (r *runner) run(ctx context.Context, a *application) {
	l := r.latest.Load()
	log := r.c.Log.With("loadline", a.Name)
	log.Info("an application is looked after", "mode", a.Mode, "interval", a.Needs.Period, "policy", a.model.name, "services", len(l.Spec.Services))
	defer func() {
		if err := a.close(); err != nil {
			log.Warn("the log of decisions could not be closed", "error", err)
		}
		r.farewell(a)
	}()
	a.ladder.OnChange = func(t guard.Transition) {
		log.Info("another rung", "from", t.From.String(), "to", t.To.String(), "why", t.Why)
		r.diary.rung(r.latest.Load(), t)
		a.ends.metrics.rung(t.To)
	}
	a.done = func(v *view) { r.tell(ctx, a, v) }
	a.loop.Clock = &wall{now: r.c.Now, poked: r.poked, poke: func(ctx context.Context) { r.followPods(ctx, a) }}
	for {
		r.began = r.c.Now()
		err := a.loop.Run(ctx, r.c.Now().Add(365*24*time.Hour))
		if ctx.Err() != nil {
			return
		}
		log.Error("the loop ended, and begins again", "error", err)
	}
}

// tell of a pass: record, status, events, metrics, KEDA.
func (r *runner) tell(ctx context.Context, a *application, v *view) {
	l := r.latest.Load()
	r.forbidden = nil
	if v.err != nil && apierrors.IsForbidden(v.err) {
		r.forbidden = v.err
	}
	if err := a.ends.strays(ctx); err != nil && v.err == nil {
		v.err = err
		if apierrors.IsForbidden(err) {
			r.forbidden = err
		}
	}
	v.post(r.c.Board, l, a.ends)
	r.diary.pass(l, v)
	if v.app.Mode == v1alpha1.Act && v.applied && a.ends.act {
		for _, p := range v.plan.Services {
			a.ends.metrics.change(a.App.Services[p.Service].Name, p.Setting)
		}
	}
	r.log(a, v)
	r.write(ctx, l, v.status(l, a.model, r.forbidden), v.at)
	if v.at.Sub(r.renewed) >= renewAfter {
		r.renewed = v.at
		if news := a.renew(ctx, l, v.at); news != r.news {
			r.news = news
			if news != "" {
				r.c.Log.Info(news, "loadline", a.Name)
				r.diary.say(l, "model", "Normal", "Model", "Decide", news)
			}
		}
	}
	now := r.c.Now()
	a.ends.metrics.pass(v, now.Sub(v.at))
	a.ends.metrics.fleet(a.member)
}

func (r *runner) log(a *application, v *view) {
	log := r.c.Log.With("loadline", a.Name)
	switch {
	case v.outcome() == "failed":
		log.Warn("a pass failed", "error", v.err)
	case v.outcome() == "held":
		log.Debug("held", "why", v.err)
	}
	for _, p := range v.plan.Services {
		sv := &v.services[p.Service]
		log.Info("decided", "service", a.App.Services[p.Service].Name, "mode", a.Mode, "applied", v.applied && a.ends.act,
			"from", sv.before.Replicas, "to", sv.before.With(p.Setting).Replicas, "change", changeOf(sv.before, p.Setting), "why", v.why(p.Service))
	}
}

// write the status if there is something to tell, or it has been long.
func (r *runner) write(ctx context.Context, l *v1alpha1.LoadLine, status v1alpha1.LoadLineStatus, now time.Time) {
	if r.c.DryRun {
		return
	}
	r.diary.conditions(l, r.status.Conditions, status.Conditions)
	if now.Sub(r.written) < quietFor && equalCalm(r.status, status) {
		return
	}
	if reflect.DeepEqual(r.status, status) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	if err := r.patch(ctx, l, status); err != nil {
		if ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			r.c.Log.Warn("the status could not be written", "loadline", l.Namespace+"/"+l.Name, "error", err)
		}
		return
	}
	r.status, r.written = status, now
}

// patch the status only: nobody else writes it while we hold the lease.
func (r *runner) patch(ctx context.Context, l *v1alpha1.LoadLine, status v1alpha1.LoadLineStatus) error {
	base := l.DeepCopy()
	base.Status = *r.status.DeepCopy()
	changed := base.DeepCopy()
	changed.Status = status
	err := r.c.Client.Status().Patch(ctx, changed, client.MergeFrom(base))
	return client.IgnoreNotFound(err)
}

// tellNotReady says why an application cannot be run.
func (r *runner) tellNotReady(ctx context.Context, err error) {
	l := r.latest.Load()
	r.c.Log.Warn("the application cannot be looked after yet", "loadline", l.Namespace+"/"+l.Name, "error", err)
	now := r.c.Now()
	status := *r.status.DeepCopy()
	status.ObservedGeneration, status.Mode = l.Generation, l.Spec.Mode
	setConditions(&status, l.Generation, now, map[string]verdict{
		v1alpha1.ConditionReady:  notReady(err),
		v1alpha1.ConditionActive: no(v1alpha1.ReasonNotReady, "see Ready"),
	})
	r.write(ctx, l, status, now)
}

// farewell says that nobody decides any more, as far as this process knows. One
// that takes over says otherwise within an interval.
func (r *runner) farewell(a *application) {
	if r.c.DryRun || !r.c.ending() {
		return
	}
	l := r.latest.Load()
	status := *r.status.DeepCopy()
	setConditions(&status, l.Generation, r.c.Now(), map[string]verdict{
		v1alpha1.ConditionActive: {"Unknown", v1alpha1.ReasonStandby, "the process that decided has ended"},
	})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := r.patch(ctx, l, status); err != nil {
		r.c.Log.Debug("the last status could not be written", "loadline", a.Name, "error", err)
	}
}

// followPods gives pods that were just created their size, where nobody else did.
func (r *runner) followPods(ctx context.Context, a *application) {
	if err := a.ends.look(ctx); err != nil {
		return // the next pass will tell
	}
	if err := a.ends.strays(ctx); err != nil {
		r.c.Log.Warn("pods that were just created could not be resized", "loadline", a.Name, "error", err)
	}
}
