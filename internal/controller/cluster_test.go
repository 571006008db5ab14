package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/metrics/live"
	"github.com/loadline/loadline/internal/resource"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// shop has a service that is scaled, one that is optional, and one that KEDA moves.
const shop = `
metadata: {name: shop, namespace: ns, generation: 1, uid: "1"}
spec:
  mode: Act
  objectives: [{latency: 250ms}]
  prometheus: {url: "http://prometheus:9090"}
  policy: {baseline: hpa}
  services:
  - name: web
    targetRef: {name: web}
    axes: [Horizontal, VerticalRequests, VerticalLimits]
    bounds: {replicas: {min: 1, max: 20}, cpu: {min: 100m, max: 2}}
  - name: ads
    targetRef: {name: ads}
    optional: {price: "0.1"}
    bounds: {replicas: {min: 0, max: 5}}
  - name: cart
    targetRef: {name: cart}
    movedBy: KEDA
    bounds: {replicas: {min: 1, max: 20}}
`

func load(t *testing.T, text string) *v1alpha1.LoadLine {
	t.Helper()
	var l v1alpha1.LoadLine
	if err := yaml.UnmarshalStrict([]byte(text), &l); err != nil {
		t.Fatal(err)
	}
	return &l
}

// stage is a cluster of which tests say what it is: it does what it is told, and
// keeps a list of that.
type stage struct {
	l          *v1alpha1.LoadLine
	states     []kube.State // of onStage
	order      []int        // of the application's services in it
	looking    func()       // called by Look, before it returns
	scaling    func()       // called by Scale, before it does anything
	looks      int
	lookErr    error
	acts       []string
	actErr     error
	restoreErr error
	rate       loadline.Sample
	blind      error
	now        time.Time
}

// onStage are the workloads, whether or not the LoadLine has services for them.
var onStage = []string{"web", "ads", "cart"}

func nameOnStage(i int) string {
	if i < len(onStage) {
		return onStage[i]
	}
	return fmt.Sprint("service ", i) // of another application
}

func (s *stage) Look(context.Context) ([]kube.State, error) {
	if s.looks++; s.looking != nil {
		defer s.looking()
	}
	var states []kube.State
	for _, i := range s.order {
		state := s.states[i]
		if len(state.Pods) > 0 {
			state.Size = state.Pods[0].Desired
		}
		states = append(states, state)
	}
	return states, s.lookErr
}

func (s *stage) Scale(_ context.Context, service, from, to int) error {
	i := s.order[service]
	if s.scaling != nil {
		s.scaling()
	}
	if s.actErr != nil {
		return s.actErr
	}
	if s.states[i].Replicas != from {
		return kube.ErrChanged
	}
	s.set(i, to)
	return nil
}

func (s *stage) set(i, to int) {
	s.acts = append(s.acts, nameOnStage(i)+" "+tellScale(s.states[i].Replicas, to))
	s.states[i].Replicas = to
	s.states[i].Changed = kube.Change{Manager: kube.Manager, At: s.now, Ours: true}
}

func (s *stage) Restore(_ context.Context, how kube.Restoring) (bool, error) {
	i := slices.Index(onStage, how.Target.Name)
	state := &s.states[i]
	switch by := state.Changed; {
	case s.restoreErr != nil:
		return false, s.restoreErr
	case state.Err != nil || state.Replicas != 0 || !by.Ours && by.Manager != "" && !(how.ByKEDA && by.Manager == "keda"):
		return false, nil
	case state.Paused && !how.EvenPaused:
		return false, kube.ErrPaused
	}
	s.set(i, how.To)
	return true, nil
}

func (s *stage) Resize(_ context.Context, service int, to loadline.Setting, how kube.Resizing) ([]kube.Outcome, error) {
	i := s.order[service]
	if s.actErr != nil {
		return nil, s.actErr
	}
	act := nameOnStage(i) + " resized"
	if how.RaiseOnly {
		act = nameOnStage(i) + " raised"
	}
	s.acts = append(s.acts, act)
	for j := range s.states[i].Pods {
		p := &s.states[i].Pods[j]
		set := to
		if is := (loadline.Allocation{Size: p.Desired}); how.RaiseOnly {
			set = raisingOnly(is, set)
		}
		p.Desired = loadline.Allocation{Size: p.Desired}.With(set).Size
	}
	return []kube.Outcome{{Pod: "p", Result: kube.Done}}, nil
}

func (s *stage) Observe(_ context.Context, now time.Time, pods [][]string, into *loadline.Observation) error {
	for i := range into.Services {
		into.Services[i].Rate = s.rate
	}
	return s.blind
}

func (s *stage) Report() live.Report { return live.Report{} }

func tellScale(from, to int) string {
	return strings.TrimSpace(strings.Join([]string{itoa(from), "to", itoa(to)}, " "))
}

func itoa(n int) string { return string(rune('0' + n)) }

// pod of a size.
func pod(name string, cpu float64) kube.Pod {
	size := loadline.Size{CPURequest: cpu, CPULimit: cpu}
	return kube.Pod{Name: name, UID: types.UID(name), Desired: size, PodObservation: loadline.PodObservation{Phase: loadline.PodReady,
		Size: size, Node: -1}}
}

// newStage is the shop at noon: three replicas of web, two of ads, four of cart.
func newStage(t *testing.T) (*stage, *cluster) {
	t.Helper()
	s := &stage{l: load(t, shop), now: noon, rate: loadline.Sample{Value: 10, At: noon}}
	app, err := resource.Read(s.l, nil)
	if err != nil {
		t.Fatal(err)
	}
	template := loadline.Size{CPURequest: 0.2, CPULimit: 0.2}
	s.states = []kube.State{
		{Replicas: 3, Status: 3, Template: template, Pods: []kube.Pod{pod("a", 0.2), pod("b", 0.2), pod("c", 0.2)}},
		{Replicas: 2, Status: 2, Template: template},
		{Replicas: 4, Status: 4, Template: template},
	}
	return s, s.ends(app)
}

func (s *stage) ends(app *resource.Application) *cluster {
	c := newCluster(app)
	s.order = nil
	for i := range app.App.Services {
		at := slices.Index(onStage, app.App.Services[i].Name)
		if at < 0 { // another application
			at = i
		}
		s.order = append(s.order, at)
	}
	c.work, c.timeout, c.act = s, time.Second, true
	c.source = func(context.Context, time.Time) (metering, error) { return s, nil }
	c.resource, c.now = func() *v1alpha1.LoadLine { return s.l }, func() time.Time { return s.now }
	return c
}

// pass observes and applies a setting of one service.
func (s *stage) pass(t *testing.T, c *cluster, service int, set loadline.Setting) error {
	t.Helper()
	var o loadline.Observation
	if err := c.Observe(context.Background(), &o); err != nil {
		t.Fatal(err)
	}
	s.acts = nil
	if set.Empty() {
		return nil
	}
	return c.Apply(context.Background(), loadline.Plan{Services: []loadline.ServicePlan{{Service: service, Setting: set}}})
}

func (s *stage) did(t *testing.T, want ...string) {
	t.Helper()
	if strings.Join(s.acts, ", ") != strings.Join(want, ", ") {
		t.Errorf("did %q, want %q", s.acts, want)
	}
}

func replicas(n int) loadline.Setting { return loadline.Setting{Replicas: loadline.Some(n)} }

func brownout(on bool) loadline.Setting { return loadline.Setting{Brownout: loadline.Some(on)} }

func TestScale(t *testing.T) {
	s, c := newStage(t)
	if err := s.pass(t, c, 0, replicas(5)); err != nil {
		t.Fatal(err)
	}
	s.did(t, "web 3 to 5")
	if a := c.allocation(0); a.Replicas != 5 {
		t.Errorf("desired state is %+v", a)
	}
}

func TestModesThatDoNotActDoNothing(t *testing.T) {
	s, c := newStage(t)
	c.act = false
	if err := s.pass(t, c, 0, replicas(5)); err != nil {
		t.Fatal(err)
	}
	s.did(t)
}

func TestBrownoutToZeroAndBack(t *testing.T) {
	s, c := newStage(t)
	step := func(set loadline.Setting, desired int, off bool, acts ...string) {
		t.Helper()
		if err := s.pass(t, c, 1, set); err != nil {
			t.Fatal(err)
		}
		s.did(t, acts...)
		if a := c.allocation(1); a.Replicas != desired || a.Brownout != off {
			t.Errorf("desired state is %+v, want %d replicas and brownout %v", a, desired, off)
		}
	}
	step(brownout(true), 2, true, "ads 2 to 0")
	step(loadline.Setting{}, 2, true) // two are still desired after the brownout
	step(replicas(3), 3, true)        // what it will be
	step(brownout(false), 3, false, "ads 0 to 3")
	if s.states[1].Changed.Manager != kube.Manager {
		t.Error("not ours")
	}
}

func TestAnotherProcessGoesOn(t *testing.T) {
	s, c := newStage(t)
	if err := s.pass(t, c, 1, brownout(true)); err != nil {
		t.Fatal(err)
	}
	if err := s.pass(t, c, 0, loadline.Setting{CPULimit: loadline.Some(0.4), CPURequest: loadline.Some(0.4)}); err != nil {
		t.Fatal(err)
	}
	// Through the status, as it is written and read.
	v := &view{app: c.app, at: s.now, seen: true, services: make([]serviceView, 3), kinds: make([]loadline.KindObservation, 1),
		brownedOut: c.brownedOut(loadline.Plan{})}
	v.fillDesired(c)
	status := v.status(s.l, decider{}, nil)
	next := s.ends(c.app)
	s.l.Status = status
	next.resume(s.l)
	s.pass(t, next, 0, loadline.Setting{})
	for i := range c.desired {
		if got, want := next.allocation(i), c.allocation(i); got != want {
			t.Errorf("service %d: desired state is %+v, want %+v", i, got, want)
		}
	}
	if err := s.pass(t, next, 1, brownout(false)); err != nil {
		t.Fatal(err)
	}
	s.did(t, "ads 0 to 2")
}

func TestManualChangeIsRespectedForAWhile(t *testing.T) {
	s, c := newStage(t)
	kubectl := kube.Change{Manager: "kubectl", At: noon.Add(-time.Minute)}
	s.states[0].Changed = kubectl
	if err := s.pass(t, c, 0, replicas(5)); err != nil { // before we ever set anything: we begin here
		t.Fatal(err)
	}
	s.did(t, "web 3 to 5")
	s.now = s.now.Add(time.Minute)
	s.states[0].Replicas, s.states[0].Changed = 9, kube.Change{Manager: "kubectl", At: s.now}
	if err := s.pass(t, c, 0, replicas(6)); err != nil {
		t.Fatal(err)
	}
	s.did(t)
	if st := c.holds[0]; st.state != v1alpha1.ServiceManualChange || !strings.Contains(st.why, "kubectl set 9 replicas") {
		t.Errorf("%+v", st)
	}
	if got, why := (holdGuard{c, func() bool { return false }}).Check(s.now, loadline.Situation{InFlight: c.Allocation(nil)}, 0,
		replicas(6)); !got.Empty() || why == "" {
		t.Errorf("%+v: %s", got, why)
	}
	s.now = s.now.Add(time.Hour)
	if err := s.pass(t, c, 0, replicas(6)); err != nil {
		t.Fatal(err)
	}
	s.did(t, "web 9 to 6")
}

func TestConcurrentChange(t *testing.T) {
	s, c := newStage(t)
	var o loadline.Observation
	if err := c.Observe(context.Background(), &o); err != nil {
		t.Fatal(err)
	}
	s.states[0].Replicas = 7
	err := c.Apply(context.Background(), loadline.Plan{Services: []loadline.ServicePlan{{Service: 0, Setting: replicas(5)}}})
	if !errors.Is(err, kube.ErrChanged) || !strings.Contains(err.Error(), "service web") {
		t.Errorf("%v", err)
	}
	s.did(t)
}

func TestHolds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stage)
		state  v1alpha1.ServiceState
		why    string
	}{
		"annotation": {func(s *stage) { s.l.Annotations = map[string]string{v1alpha1.PausedAnnotation: "web"} },
			v1alpha1.ServicePaused, "paused: web"},
		"workload's": {func(s *stage) { s.states[0].Paused = true }, v1alpha1.ServicePaused, "on the workload"},
		"not understood": {func(s *stage) { s.l.Annotations = map[string]string{v1alpha1.PausedAnnotation: "wbe"} },
			v1alpha1.ServicePaused, "wbe"},
		"another writer": {func(s *stage) {
			s.states[0].Conflicts = []kube.Conflict{{Reason: "HorizontalPodAutoscaler", Message: "HPA web"}}
		}, v1alpha1.ServiceConflict, "HPA web"},
		"a roll-out": {func(s *stage) { s.states[0].RollingOut = "1 of 3 pods are new" }, v1alpha1.ServiceRollingOut, "1 of 3"},
		"not there":  {func(s *stage) { s.states[0].Err = kube.ErrNotFound }, v1alpha1.ServiceNotFound, "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := newStage(t)
			c.change(s)
			if err := s.pass(t, e, 0, replicas(5)); err != nil {
				t.Fatal(err)
			}
			s.did(t)
			if st := e.holds[0]; st.state != c.state || !strings.Contains(st.why, c.why) {
				t.Errorf("%+v, want %v because of %q", st, c.state, c.why)
			}
		})
	}
}

func TestKEDAIsAskedAndNotOverruled(t *testing.T) {
	s, c := newStage(t)
	if err := s.pass(t, c, 2, replicas(7)); err != nil {
		t.Fatal(err)
	}
	s.did(t)
	// The workload has not followed yet, and the desired state is kept.
	s.pass(t, c, 2, loadline.Setting{})
	if a := c.allocation(2); a.Replicas != 7 {
		t.Errorf("desired state is %+v", a)
	}
	s.states[2].Paused = true
	s.pass(t, c, 2, loadline.Setting{})
	if a := c.allocation(2); a.Replicas != 4 {
		t.Errorf("desired state is %+v while paused, want what there is", a)
	}
}

func TestPodsThatComeLaterGetTheSize(t *testing.T) {
	s, c := newStage(t)
	if err := s.pass(t, c, 0, loadline.Setting{CPULimit: loadline.Some(0.4), CPURequest: loadline.Some(0.4)}); err != nil {
		t.Fatal(err)
	}
	s.did(t, "web resized")
	s.pass(t, c, 0, loadline.Setting{})
	if err := c.resizeMismatched(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	s.did(t) // all have it
	s.states[0].Pods = append(s.states[0].Pods, pod("d", 0.2))
	s.pass(t, c, 0, loadline.Setting{})
	if err := c.resizeMismatched(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	s.did(t, "web resized")
	if a := c.allocation(0); a.Size.CPULimit != 0.4 {
		t.Errorf("desired state is %+v", a)
	}
}

func TestWithoutMetricsThePodsAreKnown(t *testing.T) {
	s, c := newStage(t)
	s.blind, s.rate = errors.New("connection refused"), loadline.Sample{}
	var o loadline.Observation
	if err := c.Observe(context.Background(), &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Services[0].Pods) != 3 || o.Services[0].Rate.Present() || c.blind == nil {
		t.Errorf("%+v, %v", o.Services[0], c.blind)
	}
}

func TestRound(t *testing.T) {
	s, c := newStage(t)
	_ = s
	situation := loadline.Situation{App: c.app.App}
	got, why := guard.Round{}.Check(noon, situation, 0, loadline.Setting{CPULimit: loadline.Some(0.20012),
		MemoryLimit: loadline.Some[int64](1<<20 + 1)})
	if got.CPULimit.Value != 0.201 || got.MemoryLimit.Value != 2<<20 || why == "" {
		t.Errorf("%+v %q", got, why)
	}
	if again, why := (guard.Round{}).Check(noon, situation, 0, got); again != got || why != "" {
		t.Errorf("%+v %q", again, why)
	}
}
