package controller

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

func cpu(cores float64) loadline.Setting {
	return loadline.Setting{CPURequest: loadline.Some(cores), CPULimit: loadline.Some(cores)}
}

// What must survive the process is stored before it is done.
func TestPlansThatResizeOrReduceAreStoredFirst(t *testing.T) {
	for _, row := range []struct {
		name    string
		service int
		set     loadline.Setting
		stored  bool
		acts    string // if it is stored
		failed  string // if it cannot be
	}{
		{"more replicas are not", 0, replicas(5), false, "web 3 to 5", "web 3 to 5"},
		{"fewer replicas", 0, replicas(2), true, "web 3 to 2", ""},
		{"a larger size", 0, cpu(0.4), true, "web resized", "web raised"},
		{"a smaller size", 0, cpu(0.1), true, "web resized", ""},
		{"a larger request and a smaller limit", 0, loadline.Setting{CPURequest: loadline.Some(0.4), CPULimit: loadline.Some(0.1)}, true,
			"web resized", "web raised"},
		{"a brownout", 1, brownout(true), true, "ads 2 to 0", ""},
		{"fewer replicas under KEDA", 2, replicas(2), true, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, c := newStage(t)
			stored := 0
			c.persist = func(context.Context, loadline.Plan) error {
				stored++
				if len(s.acts) > 0 {
					t.Errorf("done before it was stored: %q", s.acts)
				}
				return nil
			}
			if err := s.pass(t, c, row.service, row.set); err != nil {
				t.Fatal(err)
			}
			if (stored == 1) != row.stored || stored > 1 {
				t.Errorf("stored %d times", stored)
			}
			if got := strings.Join(s.acts, ", "); got != row.acts {
				t.Errorf("did %q, want %q", got, row.acts)
			}
		})
		t.Run(row.name+", and the API server does not store it", func(t *testing.T) {
			s, c := newStage(t)
			c.persist = func(context.Context, loadline.Plan) error { return errors.New("etcdserver: request timed out") }
			before := c.allocationAfterLook(t, row.service)
			err := s.pass(t, c, row.service, row.set)
			if row.stored != (err != nil) || row.stored && !strings.Contains(err.Error(), "request timed out") {
				t.Errorf("error %v", err)
			}
			if got := strings.Join(s.acts, ", "); got != row.failed {
				t.Errorf("did %q, want %q", got, row.failed)
			}
			after := c.allocation(row.service)
			if after.Replicas < before.Replicas || after.Size.CPULimit < before.Size.CPULimit || after.Brownout {
				t.Errorf("from %+v to %+v", before, after)
			}
		})
	}
}

func (c *cluster) allocationAfterLook(t *testing.T, service int) loadline.Allocation {
	t.Helper()
	if err := c.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c.allocation(service)
}

// The stored plan is what the next process begins with.
func TestAStoredPlanSurvivesTheProcess(t *testing.T) {
	s, c := newStage(t)
	var stored v1alpha1.LoadLineStatus
	c.persist = func(_ context.Context, plan loadline.Plan) error {
		stored = c.planned(s.l.Status, plan)
		return nil
	}
	s.actErr = errors.New("the process ends here")
	if err := s.pass(t, c, 0, cpu(0.4)); err == nil {
		t.Fatal("no error")
	}
	web := stored.Services[0]
	if web.Size.CPULimit.MilliValue() != 400 || web.Applied.CPULimit.MilliValue() != 400 || *web.Applied.Replicas != 3 ||
		web.LastChangeTime == nil || stored.Mode != v1alpha1.Act || len(stored.Services) != 3 {
		t.Errorf("stored %+v", stored)
	}
	s.l.Status, s.actErr = stored, nil
	next := s.ends(c.app)
	next.resume(s.l)
	s.pass(t, next, 0, loadline.Setting{})
	if err := next.resizeMismatched(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	s.did(t, "web resized")
	if got := s.states[0].Pods[0].Desired.CPULimit; got != 0.4 {
		t.Errorf("pods have %v cores", got)
	}
}

// A change that was stored and not made is no change by others.
func TestAReductionThatWasStoredAndNotMade(t *testing.T) {
	s, c := newStage(t)
	s.states[0].Changed.Manager, s.states[0].Changed.At = "argocd-controller", noon.Add(-time.Hour)
	var stored v1alpha1.LoadLineStatus
	c.persist = func(_ context.Context, plan loadline.Plan) error {
		stored = c.planned(s.l.Status, plan)
		return errors.New("the process ends here")
	}
	s.pass(t, c, 0, replicas(2))
	s.l.Status = stored
	next := s.ends(c.app)
	next.resume(s.l)
	s.now = s.now.Add(time.Minute)
	if err := s.pass(t, next, 0, replicas(2)); err != nil {
		t.Fatal(err)
	}
	s.did(t, "web 3 to 2")
}

// The status of a process that ended early may have a smaller size than the pods.
func TestPodsAreNotMadeSmallerWhileBlind(t *testing.T) {
	for _, row := range []struct {
		name  string
		blind bool
		pods  []float64
		acts  string
		want  []float64
	}{
		{"blind, and all are larger", true, []float64{1, 1, 1}, "", []float64{1, 1, 1}},
		{"blind, and most are smaller", true, []float64{0.1, 0.1, 1}, "web raised", []float64{0.2, 0.2, 1}},
		{"measured, and one that is new is larger", false, []float64{0.2, 0.2, 1}, "web resized", []float64{0.2, 0.2, 0.2}},
		{"measured, and most are larger: a reduction is up to the guards", false, []float64{1, 1, 1}, "", []float64{1, 1, 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, c := newStage(t)
			s.states[0].Pods = nil
			for i, cores := range row.pods {
				s.states[0].Pods = append(s.states[0].Pods, pod(string(rune('a'+i)), cores))
			}
			s.pass(t, c, 0, loadline.Setting{})
			c.desired[0].size = cpu(0.2)
			status := c.planned(s.l.Status, loadline.Plan{})
			s.l.Status = status
			next := s.ends(c.app)
			next.resume(s.l)
			if row.blind {
				s.blind, s.rate = errors.New("connection refused"), loadline.Sample{}
			}
			s.pass(t, next, 0, loadline.Setting{})
			if err := next.resizeMismatched(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.acts, ", "); got != row.acts {
				t.Errorf("did %q, want %q", got, row.acts)
			}
			for i, want := range row.want {
				if got := s.states[0].Pods[i].Desired.CPULimit; got != want {
					t.Errorf("pod %d has %v cores, want %v", i, got, want)
				}
			}
		})
	}
}

// Between passes the load is not measured.
func TestNewPodsAreOnlyRaisedBetweenPasses(t *testing.T) {
	s, c := newStage(t)
	s.pass(t, c, 0, cpu(0.4))
	s.acts = nil
	s.states[0].Pods = append(s.states[0].Pods, pod("d", 1), pod("e", 0.2))
	a := &application{cluster: c}
	r := &runner{log: slog.New(slog.DiscardHandler)}
	r.resizeNewPods(t.Context(), a)
	s.did(t, "web raised")
	if d, e := s.states[0].Pods[3].Desired.CPULimit, s.states[0].Pods[4].Desired.CPULimit; d != 1 || e != 0.4 {
		t.Errorf("%v and %v cores", d, e)
	}
}

// The definition of the resource may be of an earlier version.
func TestABrownoutThatIsNotKeptInTheStatusIsNotBegun(t *testing.T) {
	s, _ := newStage(t)
	s.now, s.rate.At = time.Now(), time.Now()
	forgets := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object,
		o ...client.GetOption) error {
		err := c.Get(ctx, key, into, o...)
		if l, ok := into.(*v1alpha1.LoadLine); ok {
			l.Status.BrownedOut = nil
		}
		return err
	}}
	api := interceptor.NewClient(server(t, s.l).(client.WithWatch), forgets)
	c := New(t.Context(), Options{Client: api, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	c.open = (&theatre{stage: s, wish: brownout(true)}).open
	if f := c.Once(t.Context(), s.l); s.states[1].Replicas != 2 || !strings.Contains(f.Error, "apply deploy/crd") {
		t.Errorf("%d replicas, error %q", s.states[1].Replicas, f.Error)
	}
}

// While the status cannot be written, a running LoadLine reduces nothing.
func TestARunningLoadLineReducesNothingThatIsNotStored(t *testing.T) {
	for _, row := range []struct {
		name   string
		refuse interceptor.Funcs
	}{
		{"the status is refused", interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object,
			client.Patch, ...client.SubResourcePatchOption) error {
			return errors.New("etcdserver: request timed out")
		}}},
		{"the finalizer is refused", interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch,
			...client.PatchOption) error {
			return errors.New("forbidden")
		}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, _ := newStage(t)
			s.now, s.rate.At = time.Now(), time.Now()
			api := interceptor.NewClient(server(t, s.l).(client.WithWatch), row.refuse)
			c := New(t.Context(), Options{Client: api, Log: slog.New(slog.DiscardHandler), Now: time.Now})
			th := &theatre{stage: s, wish: brownout(true)}
			c.open = th.open
			f := c.Once(t.Context(), s.l)
			if s.states[1].Replicas != 2 || !strings.Contains(f.Error, "only what raises is applied") {
				t.Errorf("%d replicas, error %q", s.states[1].Replicas, f.Error)
			}
			if why := f.Services[1].Why; !strings.Contains(why, "cannot be stored") {
				t.Errorf("shown reason %q", why)
			}
		})
	}
}
