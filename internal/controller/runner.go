package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/loop"
)

// runner runs one LoadLine in this process, from start to stop.
type runner struct {
	c      *Controller
	log    *slog.Logger
	latest atomic.Pointer[v1alpha1.LoadLine]
	class  atomic.Pointer[string] // key of the class that is in use; nil = none is yet
	poked  chan struct{}
	cancel context.CancelFunc
	ended  chan struct{}
	pulse  pulse // what it does now

	events    eventWriter
	notices   notices
	newest    v1alpha1.LoadLineStatus // of the last pass, written or not
	status    v1alpha1.LoadLineStatus // as last written
	written   time.Time
	stored    v1alpha1.LoadLineStatus // as the API server has it, to our knowledge
	version   string                  // resourceVersion of the LoadLine then; empty = to be read
	renewed   time.Time               // when another model was last looked for
	forbidden error                   // by the API server, at the last pass
	unknown   string                  // which constraints of the namespace could not be read, as last logged
	news      string                  // of the model, as last published
	memory    guard.Memory            // of the guards at the last pass, to be handed on in this process
	watch     *watch                  // of the application as it was last assembled; nil = it has no twin
	twinRead  time.Time               // when another twin was last looked for

	finalizer    bool  // we have added it; the cache may not show it yet
	unrestored   error // why brownouts are not restored
	restoreRetry backOff
	restoreAfter time.Time // when that is tried again
}

func (c *Controller) newRunner(l *v1alpha1.LoadLine) *runner {
	r := &runner{
		c: c, log: c.Log.With("loadline", l.Namespace+"/"+l.Name),
		poked: make(chan struct{}, 1), ended: make(chan struct{}), events: eventWriter{events: c.Events},
	}
	if !c.DryRun {
		r.notices.send = c.Notify
	}
	r.latest.Store(l)
	r.startFrom(l)
	return r
}

// startFrom makes the status of a LoadLine the one to go on with.
func (r *runner) startFrom(l *v1alpha1.LoadLine) {
	r.newest, r.status, r.stored = *l.Status.DeepCopy(), *l.Status.DeepCopy(), *l.Status.DeepCopy()
	r.version = l.ResourceVersion
}

// start a runner, which makes its first pass after the given time. It goes on with
// what the runner before it has decided, if there was one.
func (c *Controller) start(ctx context.Context, l *v1alpha1.LoadLine, after time.Duration, before *runner) *runner {
	r := c.newRunner(l)
	if before != nil {
		r.newest, r.status, r.written, r.stored, r.version = before.newest, before.status, before.written, before.stored, before.version
		r.memory, r.watch, r.notices.told = before.memory, before.watch, before.notices.told
	}
	ctx, r.cancel = context.WithCancel(ctx)
	go func() {
		defer close(r.ended)
		r.run(ctx, after)
	}()
	return r
}

// stop the runner and wait until it has ended: at most for the pass in progress.
func (r *runner) stop() {
	r.cancel()
	<-r.ended
}

// poke makes the runner resize pods that were just created, without waiting for
// the next pass.
func (r *runner) poke() {
	select {
	case r.poked <- struct{}{}:
	default: // it is about to look anyway
	}
}

// run the application until the context ends. One that cannot be assembled or that
// fails is restarted with exponential back-off: what it waits for may appear (a
// Secret, a ConfigMap, a permission), and a fault of one pass may be over. One that
// is stale is not started before this process holds the lease, if it ever does: as
// a rule the process ends with the lost election.
func (r *runner) run(ctx context.Context, after time.Duration) {
	clock := &realClock{now: r.c.Now}
	if clock.WaitUntil(ctx, r.c.Now().Add(after)) != nil {
		return
	}
	var retry backOff
	for {
		began := r.c.Now()
		err := r.attempt(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errTwinChanged) {
			r.log.Info("LoadLine restarted", "reason", err)
			continue
		}
		wait := retry.next(r.c.Now().Sub(began))
		if errors.Is(err, errStale) {
			r.log.Warn("LoadLine stopped", "reason", err, "retryIn", wait)
		} else {
			_ = contained(r.log, "publish a failure", func() error {
				r.publishFailure(ctx, err, wait)
				return nil
			})
		}
		if clock.WaitUntil(ctx, r.c.Now().Add(wait)) != nil {
			return
		}
	}
}

// A passError ended an application that was running.
type passError struct{ error }

func (e passError) Unwrap() error { return e.error }

// attempt assembles the application and makes passes until the context ends or
// something fails. A panic is a failure of this application alone: nothing is
// changed until it is restarted, KEDA's answers expire, and the restart goes on
// with the newest status.
func (r *runner) attempt(ctx context.Context) error {
	var failed error
	panicked := contained(r.log, "pass", func() error {
		failed = r.assembleAndPass(ctx)
		return nil
	})
	if panicked != nil {
		r.memory = guard.Memory{} // the guards may have been in the middle of something: the status has the rest
		return passError{panicked}
	}
	return failed
}

func (r *runner) assembleAndPass(ctx context.Context) error {
	if err := r.resume(ctx); err != nil {
		return passError{err}
	}
	key := r.c.sharedKey(ctx, r.latest.Load())
	r.class.Store(&key) // before the class is read: a change in between is noticed
	var a *application
	var err error
	r.pulse.work(ctx, "assembling", r.c.Now(), openWithin, func(ctx context.Context) {
		if a, err = r.c.open(ctx, r.resource(), r.latest.Load); err == nil {
			a.cluster.confirm = r.confirm
			a.watch.takeOver(r.watch)
			r.watch = a.watch
			r.catchUp(ctx, a)
		}
	})
	if err != nil {
		return err
	}
	r.log.Info("LoadLine started", "mode", a.Mode, "interval", a.Needs.Period, "policy", a.model.name, "services",
		len(r.latest.Load().Spec.Services))
	defer r.close(a)
	a.ladder.OnChange = func(t guard.Transition) { r.publishRung(a, t) }
	return passError{r.passes(ctx, a)}
}

// passes makes one pass per interval.
func (r *runner) passes(ctx context.Context, a *application) error {
	period := a.loop.Policy.Needs().Period
	if period <= 0 {
		return fmt.Errorf("the interval is %v and must be positive", period)
	}
	clock := &realClock{now: r.c.Now, poked: r.poked, poke: func(ctx context.Context) {
		r.resizeNewPods(withPass(ctx, r.c.Now(), period), a)
	}}
	for at := slotOf(r.c.Now(), period); ; at = loop.NextTick(at, period, r.c.Now()) {
		if err := clock.WaitUntil(ctx, at); err != nil {
			return err
		}
		var v *view
		var err error
		r.pulse.work(ctx, "pass", r.c.Now(), passWithin(period), func(ctx context.Context) { v, err = r.pass(ctx, a) })
		if err != nil {
			return err
		}
		r.memory = v.memory
	}
}

// slots of an interval at whose beginning passes are made. Passes at the same instant ask Prometheus together,
// those of other slots keep the work spread.
const slots = 8

// slotOf is the beginning of the slot that an instant is in. The first pass is made at once.
func slotOf(now time.Time, period time.Duration) time.Time {
	into := time.Duration(now.UnixNano()) % max(period/slots, 1)
	return now.Add(-into) // with the monotonic reading
}

func (r *runner) close(a *application) {
	if err := a.close(); err != nil {
		r.log.Warn("decision log not closed", "error", err)
	}
	r.publishStandby()
}

// resizeNewPods raises pods that were just created to the desired size, where the
// admission policy did not. The next pass makes those smaller that are larger.
func (r *runner) resizeNewPods(ctx context.Context, a *application) {
	if err := a.cluster.look(ctx); err != nil {
		return // the next pass reports it
	}
	if err := a.cluster.resizeMismatched(ctx, true); err != nil { // the load was measured earlier
		r.log.Warn("new pods not resized", "error", err)
	}
}

// backOff is the time between attempts to run an application.
type backOff struct{ last time.Duration }

const (
	firstRetry   = 2 * time.Second
	longestRetry = time.Minute
	// steadyAfter is how long an application must have run for its next failure to
	// be taken as the first.
	steadyAfter = 5 * time.Minute
)

// next wait, after an attempt that lasted so long: twice the last one.
func (b *backOff) next(lasted time.Duration) time.Duration {
	if lasted >= steadyAfter || b.last == 0 {
		b.last = firstRetry
	} else {
		b.last = min(2*b.last, longestRetry)
	}
	return b.last
}
