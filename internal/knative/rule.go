package knative

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
)

// Load is what was measured of one revision in one second, in its metric.
type Load struct {
	At    time.Time
	Ready int // pods
	// Direct and All have one value for each pod that answered: what came to it past activators, and what
	// came either way.
	Direct, All []float64
	// Activators is the load of all activators together; unset = not all of them have answered.
	Activators loadline.Opt[float64]
	// Waiting is the load of those that have answered.
	Waiting float64
}

// total is the load of the revision, if it is known: pods that did not answer are taken to be as
// the others.
func (l Load) total() loadline.Opt[float64] {
	values, held := l.Direct, l.Activators.Value
	if !l.Activators.Set {
		values, held = l.All, 0
	}
	if len(values) == 0 && (l.Ready > 0 || !l.Activators.Set) {
		return loadline.Opt[float64]{}
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	if len(values) > 0 {
		sum *= float64(l.Ready) / float64(len(values))
	}
	return loadline.Some(sum + held)
}

// wakeAfter is how long a revision stays at zero while its activators do not answer: they may
// hold requests that nobody else knows of.
const wakeAfter = time.Minute

// Rule is Knative's own autoscaler, the policy kpa, for one revision. It is for one goroutine.
type Rule struct {
	settings Settings
	policy   loadline.Policy
	app      *loadline.App
	delay    delay
	recent   []Load    // of the panic window
	silent   time.Time // since when the activators have not answered; zero = they have
}

// NewRule is one for the settings of a revision.
func NewRule(revision string, s Settings) (*Rule, error) {
	app := &loadline.App{Name: revision, Services: []loadline.Service{{Name: revision, Hold: 1}}}
	down := s.DownRate
	if s.Unreachable { // nothing routes to it: its pods may go at once
		down = 1e6
	}
	p, err := policy.New(fmt.Sprintf("kpa:target=%g,utilisation=%g,stable-window=%s,panic-window=%g,panic-threshold=%g,"+
		"max-up-rate=%g,max-down-rate=%g,scale-to-zero=on,grace=0s", s.Target, s.Share*100, s.Window, s.PanicWindow, s.PanicThreshold,
		s.UpRate, down), app)
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", revision, err)
	}
	return &Rule{settings: s, policy: p, app: app, delay: delay{window: s.Delay}}, nil
}

// Decide on what was measured of the seconds since the last call, oldest first; replicas are those
// that the Deployment asks for. The error wraps loadline.ErrNoData.
func (r *Rule) Decide(now time.Time, replicas int32, loads []Load) (Wanted, error) {
	l, any := merge(loads)
	if !any {
		return r.unmeasured(now, replicas)
	}
	if l.Activators.Set {
		r.silent = time.Time{}
	} else if r.silent.IsZero() {
		r.silent = now
	}
	seen, values := loadline.ServiceObservation{}, l.Direct
	switch {
	case l.Activators.Set:
		seen.Held = loadline.Sample{Value: l.Activators.Value, At: now}
	case l.Ready == 0 && l.Waiting > 0:
		seen.Held = loadline.Sample{Value: l.Waiting, At: now}
	default:
		values = l.All // what went through an activator is counted at the pods
	}
	for i := range l.Ready {
		pod := loadline.PodObservation{ID: int64(i), Node: -1, Phase: loadline.PodReady}
		if i < len(values) {
			pod.Busy = loadline.Sample{Value: values[i], At: now}
		}
		seen.Pods = append(seen.Pods, pod)
	}
	proposal, err := r.policy.Decide(now, loadline.Situation{
		App: r.app, Window: []loadline.Observation{{At: now, Services: []loadline.ServiceObservation{seen}}},
		Allocation: []loadline.Allocation{{Replicas: int(replicas)}},
	})
	if err != nil || len(proposal.Services) == 0 {
		return r.unmeasured(now, replicas)
	}
	first := proposal.Services[0]
	w := Wanted{Replicas: int32(first.Setting.Replicas.Value), Why: first.Reason, Load: r.burst(now, l)}
	if !l.Activators.Set && w.Replicas == 0 {
		w.Replicas = 1
		w.Why += "; not all activators answer, so the last pod stays"
	}
	if delayed := r.delay.of(now, w.Replicas); delayed > w.Replicas {
		w.Why += fmt.Sprintf("; held at %d, which were needed within %v", delayed, r.settings.Delay)
		w.Replicas = delayed
	}
	return w, nil
}

// unmeasured is the answer without a measurement: none, except that one pod takes over from
// activators that have been silent.
func (r *Rule) unmeasured(now time.Time, replicas int32) (Wanted, error) {
	if r.silent.IsZero() {
		r.silent = now
	}
	if silent := now.Sub(r.silent); replicas == 0 && silent >= wakeAfter {
		return Wanted{Replicas: 1, Why: fmt.Sprintf("the activators have not answered for %v: they may hold requests",
			silent.Round(time.Second))}, nil
	}
	return Wanted{}, fmt.Errorf("%w: neither pods nor activators have answered", loadline.ErrNoData)
}

// burst is the mean load of the panic window.
func (r *Rule) burst(now time.Time, l Load) loadline.Opt[float64] {
	window := max(time.Duration(float64(r.settings.Window)*r.settings.PanicWindow/100), tick)
	kept := r.recent[:0]
	for _, old := range r.recent {
		if now.Sub(old.At) < window {
			kept = append(kept, old)
		}
	}
	l.At = now
	r.recent = append(kept, l)
	sum := 0.0
	for _, each := range r.recent {
		v := each.total()
		if !v.Set {
			return v
		}
		sum += v.Value
	}
	return loadline.Some(sum / float64(len(r.recent)))
}

// merge the seconds of one tick: each pod's mean is over what it answered; the pods are those of
// the last second.
func merge(loads []Load) (Load, bool) {
	if len(loads) == 0 {
		return Load{}, false
	}
	last := loads[len(loads)-1]
	merged := Load{At: last.At, Ready: last.Ready}
	var direct, all, held, waiting float64
	var answers, activators int
	for _, l := range loads {
		for i := range l.Direct {
			direct, all, answers = direct+l.Direct[i], all+l.All[i], answers+1
		}
		waiting = max(waiting, l.Waiting)
		if l.Activators.Set {
			held, activators = held+l.Activators.Value, activators+1
		}
	}
	if activators > 0 {
		merged.Activators = loadline.Some(held / float64(activators))
	}
	merged.Waiting = waiting
	if answers > 0 {
		mean := min(answers, max(merged.Ready, 0))
		for range mean {
			merged.Direct = append(merged.Direct, direct/float64(answers))
			merged.All = append(merged.All, all/float64(answers))
		}
	}
	if merged.Ready > 0 && answers == 0 && !merged.Activators.Set && waiting == 0 {
		return Load{}, false
	}
	return merged, true
}

// delay keeps a number for a window after the last time that it was wanted.
type delay struct {
	window time.Duration
	wanted []delayed
}

type delayed struct {
	at time.Time
	n  int32
}

// of what is wanted now, the most that was wanted within the window.
func (d *delay) of(now time.Time, n int32) int32 {
	if d.window <= 0 {
		return n
	}
	kept := d.wanted[:0]
	for _, w := range d.wanted {
		if now.Sub(w.at) < d.window {
			kept = append(kept, w)
		}
	}
	d.wanted = append(kept, delayed{now, n})
	for _, w := range d.wanted {
		n = max(n, w.n)
	}
	return n
}
