package controller

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/portfolio"
)

const (
	// estimateEvery is how often deployments are estimated, and estimateCPU the CPU time that this
	// may take in that time: a longer estimate is followed by a longer pause.
	estimateEvery = time.Hour
	estimateCPU   = time.Second
	// estimateMost is the CPU time after which an estimate is given up.
	estimateMost = 20 * time.Second
	// estimateShare of one core is what an estimate takes while it runs.
	estimateShare = 0.25
)

// watch compares an application with its twin, and with the deployments that were judged beside
// the one that runs. It is for the goroutine of the loop.
type watch struct {
	digest   string            // of the twin and of judged
	judged   *portfolio.Judged // nil = it is not there, or cannot be read
	unjudged error             // why it cannot be read
	monitor  *portfolio.Monitor
	load     *portfolio.LoadRecord

	runs  []portfolio.Workload
	drift portfolio.Drift

	standing *v1alpha1.PortfolioStatus // the last estimate; nil = none
	idle     string                    // why there is no newer one
	due      time.Time                 // of the next estimate
	asked    chan answer               // of the estimate that is running; nil = none is
	stop     context.CancelFunc        // ends it
}

// answer is an estimate that has ended.
type answer struct {
	at     time.Time
	status *v1alpha1.PortfolioStatus
	ahead  string
	cpu    time.Duration
	err    error
}

// judgedOf reads what the twin of a LoadLine was judged with, if its ConfigMap has it. The digest is
// of both.
func (n named) judgedOf(ctx context.Context, l *v1alpha1.LoadLine) (j *portfolio.Judged, digest string, err error) {
	twin, err := n.configMap(ctx, l.Spec.Twin.Name, l.Spec.Twin.Key)
	if err != nil {
		return nil, "", fmt.Errorf("spec.twin: %w", err)
	}
	text, err := n.configMap(ctx, l.Spec.Twin.Name, portfolio.JudgedFile)
	digest = fmt.Sprintf("%x", sha256.Sum256(append(twin, text...)))[:24]
	var none missingError
	if errors.As(err, &none) {
		return nil, digest, nil
	}
	if err == nil {
		j, err = portfolio.Read("ConfigMap "+n.namespace+"/"+l.Spec.Twin.Name+" key "+portfolio.JudgedFile, text)
	}
	return j, digest, err
}

// watchIt compares an application that has a twin from now on, with what the status says of before.
func (a *application) watchIt(ctx context.Context, from named, l *v1alpha1.LoadLine) {
	w := &watch{load: portfolio.NewLoadRecord(len(a.App.Kinds)), runs: make([]portfolio.Workload, len(a.App.Services))}
	w.judged, w.digest, w.unjudged = from.judgedOf(ctx, l)
	w.monitor = portfolio.NewMonitor(portfolio.Config{App: a.App, Judged: w.judged, Window: a.DriftWindow, Period: a.Needs.Period})
	a.watch = w
	w.resume(&l.Status)
}

// resume what another process has published, if it was of the same twin.
func (w *watch) resume(s *v1alpha1.LoadLineStatus) {
	if s.Drift == nil || s.Drift.Judged != w.digest {
		return
	}
	for i := range s.Drift.Services {
		d := &s.Drift.Services[i]
		var released time.Time
		if d.Released != nil {
			released = d.Released.Time
		}
		var found []portfolio.Finding
		for _, v := range d.Deviations {
			found = append(found, findingOf(d.Name, v))
		}
		w.monitor.Restarted(d.Name, d.Release, released, found)
	}
	if s.Drift.Load != nil {
		w.monitor.RestartedLoad(findingOf("", *s.Drift.Load))
	}
	w.drift = w.monitor.Drift()
	if s.Portfolio != nil {
		w.standing = s.Portfolio.DeepCopy()
		w.due = s.Portfolio.Time.Add(estimateEvery)
	}
}

// takeOver the load that the runner before has recorded, which a status does not hold.
func (w *watch) takeOver(before *watch) {
	if w != nil && before != nil && w.digest == before.digest {
		w.load, w.due = before.load, before.due
	}
}

func (w *watch) close() {
	if w != nil && w.stop != nil {
		w.stop()
	}
}

// compare the application with its twin by this pass.
func (a *application) compare(p *loop.Pass) {
	w := a.watch
	if w == nil || !p.Observed() {
		return
	}
	for i := range w.runs {
		w.runs[i] = portfolio.Workload{}
		if i < len(a.cluster.states) {
			s := &a.cluster.states[i]
			w.runs[i] = portfolio.Workload{Release: s.Release, RollingOut: s.RollingOut != ""}
		}
	}
	now := p.Situation.Now()
	w.load.Observe(now)
	if w.monitor.Observe(now, p.Situation.Allocation, w.runs) || w.drift.Text == "" {
		w.drift = w.monitor.Drift()
	}
}

// estimate takes the result of an estimate that has ended, and begins one that is due. It never
// waits: passes go on meanwhile.
func (r *runner) estimate(ctx context.Context, a *application, now time.Time) {
	w := a.watch
	if w == nil || w.judged == nil {
		return
	}
	select {
	case got := <-w.asked:
		w.take(got, r.log)
	default:
	}
	if w.asked != nil || now.Before(w.due) {
		return
	}
	q, all, why := w.question(a, r.latest.Load())
	if w.idle = why; why != "" {
		return
	}
	select {
	case r.c.estimates <- struct{}{}:
	default:
		return // another application's is running: the next pass tries again
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx)) // it outlives the pass; close ends it
	w.asked = make(chan answer, 1)
	e := estimation{q: q, all: all, now: now, cpuTime: r.c.CPUTime, judged: w.judged}
	e.corrected(a)
	go func(done chan<- answer) {
		defer func() { <-r.c.estimates }()
		var got answer
		if err := contained(r.log, "estimate", func() error { got = e.run(ctx); return nil }); err != nil {
			got = answer{at: now, err: err}
		}
		done <- got
	}(w.asked)
}

// take the result of an estimate.
func (w *watch) take(got answer, log *slog.Logger) {
	w.stop()
	w.asked, w.stop = nil, nil
	pause := estimateEvery
	if longer := time.Duration(float64(estimateEvery) * got.cpu.Seconds() / estimateCPU.Seconds()); longer > pause {
		pause = longer
	}
	w.due = got.at.Add(pause)
	if got.err != nil {
		w.idle = got.err.Error()
		log.Info("deployments not estimated", "reason", got.err, "cpu", got.cpu, "next", w.due)
		return
	}
	if got.ahead != "" {
		got.status.Ahead, got.status.InARow = got.ahead, 1
		if w.standing != nil && w.standing.Ahead == got.ahead {
			got.status.InARow = w.standing.InARow + 1
		}
	}
	w.standing = got.status
	log.Info("deployments estimated", "ahead", got.ahead, "cpu", got.cpu, "next", w.due)
}

// question to estimate with, and the deployments: the one that runs first. Or why there is none.
func (w *watch) question(a *application, l *v1alpha1.LoadLine) (portfolio.Question, []portfolio.Candidate, string) {
	current := w.judged.Current(a.Baseline)
	switch {
	case current < 0:
		return portfolio.Question{}, nil, fmt.Sprintf("what runs was not judged: %s has %s", portfolio.JudgedFile, w.judged.Deployments[0].Label)
	case len(w.judged.Deployments) < 2:
		return portfolio.Question{}, nil, "no other deployment was judged that needs no model"
	}
	load := w.load.Last(24 * time.Hour)
	if load == nil || load.Duration() < portfolio.LeastLoad {
		return portfolio.Question{}, nil, fmt.Sprintf("the load is not known for %v yet", portfolio.LeastLoad)
	}
	for _, f := range w.drift.Found {
		if f.Measure == portfolio.Visits {
			return portfolio.Question{}, nil, "requests make other visits than the twin's: see the condition " + v1alpha1.ConditionDrift
		}
	}
	app, _ := w.monitor.Corrected()
	all := []portfolio.Candidate{{Deployment: w.judged.Deployments[current]}}
	all[0].Fallback = a.Fallback
	if a.Baseline == "" {
		all[0].Decider = func() (loadline.Policy, error) {
			d := a.models.find(context.Background(), l, time.Time{})
			if d.policy == nil {
				return nil, errors.New(d.why)
			}
			return d.policy, nil
		}
	}
	for i, d := range w.judged.Deployments {
		if i != current && d.Policy != "" {
			all = append(all, portfolio.Candidate{Deployment: d})
		}
	}
	q := portfolio.Question{App: app, Load: load, Guard: a.Guard, Axes: w.judged.Axes, Interval: a.Needs.Period, Prices: w.judged.Prices}
	return q.Within(len(all)), all, ""
}

// estimation is one estimate of all deployments.
type estimation struct {
	q       portfolio.Question
	all     []portfolio.Candidate
	judged  *portfolio.Judged
	now     time.Time
	basis   string
	cpuTime func() time.Duration // of the calling thread; nil = not measured
}

// corrected says what of the twin is as measured.
func (e *estimation) corrected(a *application) {
	e.basis = "estimated on the twin"
	if _, n := a.watch.monitor.Corrected(); n > 0 {
		e.basis += fmt.Sprintf(", with the CPU of %d of its %d services as measured", n, len(a.App.Services))
	}
}

// run asks for each deployment in turn, at a part of one core.
func (e *estimation) run(ctx context.Context) answer {
	runtime.LockOSThread() // its CPU time is measured
	defer runtime.UnlockOSThread()
	used := func() time.Duration { return 0 }
	if e.cpuTime != nil {
		began := e.cpuTime()
		used = func() time.Duration { return e.cpuTime() - began }
	}
	rested := time.Duration(0)
	e.q.Pace = func() error {
		now := used()
		if now > estimateMost {
			return fmt.Errorf("%w: %v", portfolio.ErrTooSlow, estimateMost)
		}
		if busy := now - rested; busy > 5*time.Millisecond {
			rested = now
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(float64(busy) * (1/estimateShare - 1))):
			}
		}
		return ctx.Err()
	}
	got := answer{at: e.now}
	var estimates []portfolio.Estimate
	for _, c := range e.all {
		one, err := e.q.Ask(ctx, c)
		if err != nil {
			return answer{at: e.now, cpu: used(), err: err}
		}
		estimates = append(estimates, one)
	}
	got.status, got.ahead = e.status(estimates)
	got.cpu = used()
	return got
}

// status of the estimates, and the best of the deployments that are ahead of the one that runs.
func (e *estimation) status(estimates []portfolio.Estimate) (*v1alpha1.PortfolioStatus, string) {
	s := &v1alpha1.PortfolioStatus{
		Basis: e.basis, Time: *instant(e.now), From: *instant(e.q.Load.From), To: *instant(e.q.Load.From.Add(e.q.Load.Duration())),
		MeanRate: number(e.q.Load.Mean()), Currency: e.judged.Currency, Current: e.estimateOf(0, estimates[0], math.NaN()),
	}
	ahead, best := "", math.Inf(1)
	for i := 1; i < len(estimates); i++ {
		off := e.judged.Error(estimates[0].Label, estimates[i].Label)
		s.Others = append(s.Others, e.estimateOf(i, estimates[i], off))
		if portfolio.Ahead(estimates[0], estimates[i], off) && estimates[i].PerMonth < best {
			ahead, best = estimates[i].Label, estimates[i].PerMonth
		}
	}
	return s, ahead
}

func (e *estimation) estimateOf(i int, of portfolio.Estimate, off float64) v1alpha1.DeploymentEstimate {
	return v1alpha1.DeploymentEstimate{Name: of.Label, Policy: e.all[i].Policy, PerMonth: number(of.PerMonth), OverSLO: number(of.Over),
		Error: number(off)}
}
