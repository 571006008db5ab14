package policy

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// functionPlay feeds one service that holds requests to a policy, two seconds at a time.
type functionPlay struct {
	t      *testing.T
	policy loadline.Policy
	app    *loadline.App
	now    time.Time
	n      int // replicas
}

func playFunction(t *testing.T, spec string) *functionPlay {
	t.Helper()
	app := &loadline.App{Name: "f", Services: []loadline.Service{{Name: "f", Hold: 100, Bounds: loadline.Bounds{MaxReplicas: 10}}}}
	p, err := New(spec, app)
	if err != nil {
		t.Fatal(err)
	}
	return &functionPlay{t: t, policy: p, app: app, now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), n: 1}
}

// tick with so many requests in flight; at zero they are held.
func (f *functionPlay) tick(busy float64) int {
	f.t.Helper()
	f.now = f.now.Add(kpaTick)
	seen := loadline.ServiceObservation{Held: loadline.Sample{At: f.now}}
	if f.n == 0 {
		seen.Held.Value = busy
	}
	for range f.n {
		seen.Pods = append(seen.Pods, loadline.PodObservation{Phase: loadline.PodReady,
			Busy: loadline.Sample{Value: busy / float64(f.n), At: f.now}})
	}
	proposal, err := f.policy.Decide(f.now, loadline.Situation{App: f.app, Allocation: []loadline.Allocation{{Replicas: f.n}},
		Window: []loadline.Observation{{At: f.now, Services: []loadline.ServiceObservation{seen}}}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.n = proposal.Services[0].Setting.Replicas.Value
	return f.n
}

// idle for a time, and return how long there was a pod.
func (f *functionPlay) idle(d time.Duration) (kept time.Duration) {
	f.t.Helper()
	for range int(d / kpaTick) {
		if f.tick(0) > 0 {
			kept += kpaTick
		}
	}
	return kept
}

// TestHybridLearnsATimer: a function that is called every 30 minutes has no pod for most of the time, and
// one when the call comes. Before that is known a pod is kept.
func TestHybridLearnsATimer(t *testing.T) {
	f := playFunction(t, "hybrid-histogram")
	f.tick(1)
	if kept := f.idle(30 * time.Minute); kept < 30*time.Minute {
		t.Errorf("kept for %v before anything was known", kept)
	}
	for range 12 {
		f.tick(1)
		f.idle(30 * time.Minute)
	}
	f.tick(1)
	if kept := f.idle(30*time.Minute - kpaTick); kept < 2*time.Minute || kept > 8*time.Minute || f.n != 1 {
		t.Errorf("a pod for %v of 30 minutes, and %d at the end", kept, f.n)
	}
	if kept := f.idle(30 * time.Minute); kept > 6*time.Minute || f.n != 0 {
		t.Errorf("a call that did not come is waited for for %v", kept)
	}
}

// TestHybridKeepsWhatIsCalledOften: with idle times of up to a minute, the pod stays for that and the
// margin.
func TestHybridKeepsWhatIsCalledOften(t *testing.T) {
	f := playFunction(t, "hybrid-histogram")
	for i := range 40 {
		f.tick(1)
		f.idle(time.Duration(10+i) * time.Second)
	}
	f.tick(1)
	kept := f.idle(time.Hour)
	if kept < time.Minute || kept > 2*time.Minute {
		t.Errorf("kept for %v", kept)
	}
}

// TestHybridForecastsBeyondItsRange: idle times above four hours are forecast.
func TestHybridForecastsBeyondItsRange(t *testing.T) {
	f := playFunction(t, "hybrid-histogram:fewest=3")
	for range 5 {
		f.tick(1)
		f.idle(6 * time.Hour)
	}
	f.tick(1)
	kept := f.idle(6*time.Hour - 2*kpaTick)
	if kept < 50*time.Minute || kept > 58*time.Minute || f.n != 1 { // from 5.1 h on
		t.Errorf("a pod for %v of six hours, and %d at the end", kept, f.n)
	}
}

// TestHybridScalesOut: more pods than one follow the concurrency.
func TestHybridScalesOut(t *testing.T) {
	f := playFunction(t, "hybrid-histogram:target=1,utilisation=100")
	for range 10 {
		f.tick(5)
	}
	if f.n < 4 {
		t.Errorf("%d replicas for five requests at a time", f.n)
	}
}

func TestIdleHistogram(t *testing.T) {
	var h idleHistogram
	for range 98 {
		h.add(10 * time.Minute)
	}
	h.add(30 * time.Second)
	h.add(3 * time.Hour)
	if head, tail := h.percentile(5, false), h.percentile(99, true); head != 10*time.Minute || tail != 11*time.Minute {
		t.Errorf("%v to %v", head, tail)
	}
	if v := h.variation(); v < 15 {
		t.Errorf("variation %v of one peak", v)
	}
	var flat idleHistogram
	for i := range histogramBins {
		flat.add(time.Duration(i) * time.Minute)
	}
	if v := flat.variation(); v != 0 {
		t.Errorf("variation %v of equal bins", v)
	}
}
