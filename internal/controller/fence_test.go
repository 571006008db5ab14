package controller

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

const leaseLasts = 15 * time.Second

var leaseKey = client.ObjectKey{Namespace: "loadline-system", Name: "loadline.dev"}

// leaseOf is the lease as its holder has renewed it.
func leaseOf(holder string, renewed time.Time, transitions int32) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: leaseKey.Namespace, Name: leaseKey.Name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(leaseLasts / time.Second)),
			RenewTime: new(metav1.NewMicroTime(renewed)), LeaseTransitions: &transitions,
		},
	}
}

// leased is an API server with LoadLines and a lease.
func leased(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.LoadLine{}).Build()
}

// holdLease changes the lease as an elector does.
func holdLease(t *testing.T, c client.Client, holder string, renewed time.Time, transitions int32) {
	t.Helper()
	var is coordinationv1.Lease
	if err := c.Get(context.Background(), leaseKey, &is); err != nil {
		t.Fatal(err)
	}
	is.Spec = leaseOf(holder, renewed, transitions).Spec
	if err := c.Update(context.Background(), &is); err != nil {
		t.Fatal(err)
	}
}

func TestLeaseCheck(t *testing.T) {
	lease := func(holder string, age time.Duration) *coordinationv1.Lease {
		return leaseOf(holder, noon.Add(-age), 0)
	}
	for _, row := range []struct {
		name  string
		lease *coordinationv1.Lease
		pass  time.Duration // age of the pass
		fail  error
		want  string
		stale bool
	}{
		{"this process holds it", lease("us", 2*time.Second), time.Second, nil, "", false},
		{"another process holds it", lease("them", 2*time.Second), time.Second, nil, "them holds the lease", true},
		{"no process holds it", lease("", 2*time.Second), time.Second, nil, "no process holds the lease", true},
		{"it has expired", lease("us", leaseLasts), time.Second, nil, "expired at 2026-03-01T12:00:00Z", true},
		{"it does not exist", nil, time.Second, nil, "does not exist", true},
		{"the pass is too old", lease("us", 2*time.Second), time.Minute, nil, "the pass began 1m0s ago", true},
		{"a long pass of a long interval", lease("us", 2*time.Second), 29 * time.Second, nil, "", false},
		{"it cannot be read", lease("us", time.Second), time.Second, errors.New("connection refused"), "connection refused", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := leased(t)
			if row.lease != nil {
				c = leased(t, row.lease)
			}
			if row.fail != nil {
				c = interceptor.NewClient(c, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object,
					...client.GetOption) error {
					return row.fail
				}})
			}
			l := &Lease{Live: c, Key: leaseKey, Identity: "us", Duration: leaseLasts, Now: func() time.Time { return noon }}
			err := l.Check(withPass(t.Context(), noon.Add(-row.pass), 15*time.Second))
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) ||
				errors.Is(err, errStale) != row.stale {
				t.Errorf("got %v", err)
			}
		})
	}
	var none *Lease
	if err := none.Check(t.Context()); err != nil {
		t.Errorf("without a lease: %v", err)
	}
}

// A process that loses the lease and gets it back has a pass of before that must not
// be applied.
func TestLeaseThatWasInterrupted(t *testing.T) {
	c := leased(t, leaseOf("us", noon, 4))
	now := noon
	l := &Lease{Live: c, Key: leaseKey, Identity: "us", Duration: leaseLasts, Now: func() time.Time { return now }}
	before := withPass(t.Context(), now, time.Minute)
	if err := l.Check(before); err != nil {
		t.Fatal(err)
	}
	now = noon.Add(20 * time.Second)
	holdLease(t, c, "us", now, 6)
	if err := l.Check(before); !errors.Is(err, errStale) || !strings.Contains(err.Error(), "after the pass began") {
		t.Errorf("got %v", err)
	}
	now = now.Add(time.Second)
	if err := l.Check(withPass(t.Context(), now, time.Minute)); err != nil {
		t.Errorf("a pass that began afterwards: %v", err)
	}
}

func TestOneCheckServesManyWrites(t *testing.T) {
	reads := 0
	c := interceptor.NewClient(leased(t, leaseOf("us", noon, 0)), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch,
		key client.ObjectKey, into client.Object, o ...client.GetOption) error {
		reads++
		return c.Get(ctx, key, into, o...)
	}})
	now := noon
	l := &Lease{Live: c, Key: leaseKey, Identity: "us", Duration: leaseLasts, Now: func() time.Time { return now }}
	for range 20 {
		if err := l.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(100 * time.Millisecond)
	}
	if reads != 2 {
		t.Errorf("%d reads in 2 s, want 2", reads)
	}
}

func TestEveryWriteIsFenced(t *testing.T) {
	l := load(t, shop)
	c := leased(t, leaseOf("them", noon, 1), l)
	f := fenced{c, &Lease{Live: c, Key: leaseKey, Identity: "us", Duration: leaseLasts, Now: func() time.Time { return noon }}}
	ctx, patch := t.Context(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	other := l.DeepCopy()
	other.Name, other.ResourceVersion = "other", ""
	for name, write := range map[string]func() error{
		"create":      func() error { return f.Create(ctx, other) },
		"delete":      func() error { return f.Delete(ctx, l) },
		"deleteAllOf": func() error { return f.DeleteAllOf(ctx, l) },
		"update":      func() error { return f.Update(ctx, l) },
		"patch":       func() error { return f.Patch(ctx, l, patch) },
		"apply":       func() error { return f.Apply(ctx, nil) },
		"status":      func() error { return f.Status().Patch(ctx, l, patch) },
		"sub create":  func() error { return f.SubResource("eviction").Create(ctx, l, other) },
		"sub update":  func() error { return f.SubResource("scale").Update(ctx, l) },
		"sub patch":   func() error { return f.SubResource("scale").Patch(ctx, l, patch) },
		"sub apply":   func() error { return f.SubResource("scale").Apply(ctx, nil) },
	} {
		if err := write(); !errors.Is(err, errStale) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := f.Get(ctx, client.ObjectKeyFromObject(l), l); err != nil {
		t.Errorf("reading: %v", err)
	}
}

// wants proposes the same setting for the first service in every pass.
type wants struct {
	loadline.Policy
	loadline.Setting
}

func (w wants) Decide(time.Time, loadline.Situation) (loadline.Proposal, error) {
	return loadline.Proposal{Services: []loadline.ServiceProposal{{Service: 0, Setting: w.Setting}}}, nil
}

// electing is a controller over a stage that holds the lease, and wants five replicas
// of web.
func electing(t *testing.T, s *stage, o Options) (*Controller, client.Client, func()) {
	t.Helper()
	c := leased(t, leaseOf("us", time.Now(), 0), s.l)
	ctx, cancel := context.WithCancel(context.Background())
	o.Client, o.Log, o.Now = c, slog.New(slog.DiscardHandler), time.Now
	o.Lease = &Lease{Live: c, Key: leaseKey, Identity: "us", Duration: leaseLasts, Now: time.Now}
	controller := New(ctx, o)
	controller.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
		a, err := s.open(ctx, l, latest)
		if err == nil {
			a.loop.Policy = wants{a.loop.Policy, replicas(5)}
			a.cluster.metrics = controller.metricsOf(l)
		}
		return a, err
	}
	return controller, c, func() {
		cancel()
		controller.Wait()
	}
}

func stored(t *testing.T, c client.Client, l *v1alpha1.LoadLine) *v1alpha1.LoadLine {
	t.Helper()
	var now v1alpha1.LoadLine
	if err := c.Get(context.Background(), client.ObjectKeyFromObject(l), &now); err != nil {
		t.Fatal(err)
	}
	return &now
}

// passesOf is the number of passes with an outcome.
func passesOf(t *testing.T, registry *prometheus.Registry, outcome string) (n float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "loadline_decisions_total" && l.GetName() == "outcome" && l.GetValue() == outcome {
					n += m.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}

// The process is suspended in the middle of a pass, another takes over, and it
// resumes: it must change nothing, and make no pass until it holds the lease again.
func TestASuspendedLeaderChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		registry := prometheus.NewRegistry()
		c, api, end := electing(t, s, Options{Metrics: NewMetrics(registry)})
		defer end()
		s.looking = func() {
			s.looking = nil
			time.Sleep(20 * time.Second)
			holdLease(t, api, "them", time.Now(), 1)
		}
		if _, err := c.Reconcile(t.Context(), request(s.l)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		s.did(t)
		if s.looks != 1 {
			t.Errorf("%d passes, want the one that was interrupted", s.looks)
		}
		if got := stored(t, api, s.l); len(got.Status.Conditions) > 0 {
			t.Errorf("the status was written: %+v", got.Status)
		}
		if n := passesOf(t, registry, "stale"); n != 1 {
			t.Errorf("%v stale passes counted", n)
		}

		holdLease(t, api, "us", time.Now().Add(time.Hour), 2) // for instance after a step of the clock
		time.Sleep(longestRetry)
		synctest.Wait()
		s.did(t, "web 3 to 5")
	})
}

// Another process has written the status during the pass: its decisions are newer.
func TestAStatusOfAnotherProcessStopsThePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		c, api, end := electing(t, s, Options{})
		defer end()
		c.Lease, c.Client = nil, api // not fenced: the status alone shows it
		s.looking = func() {
			s.looking = nil
			now := stored(t, api, s.l)
			now.Status.Policy = "theirs"
			now.Status.Services = []v1alpha1.ServiceStatus{{Name: "ads", LastChangeTime: instant(time.Now()),
				Applied: &v1alpha1.Amounts{Replicas: new(int32(2)), Brownout: new(true)}}}
			now.Status.Mode = v1alpha1.Act
			if err := api.Status().Update(context.Background(), now); err != nil {
				t.Error(err)
			}
		}
		var opened []v1alpha1.LoadLineStatus
		open := c.open
		c.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
			opened = append(opened, l.Status)
			return open(ctx, l, latest)
		}
		if _, err := c.Reconcile(t.Context(), request(s.l)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		s.did(t)
		if got := stored(t, api, s.l); got.Status.Policy != "theirs" {
			t.Errorf("their status was overwritten: %+v", got.Status)
		}
		time.Sleep(firstRetry)
		synctest.Wait()
		s.did(t, "web 3 to 5")
		if len(opened) != 2 || opened[1].Policy != "theirs" {
			t.Errorf("the application was restarted with %+v", opened)
		}
	})
}

// The resourceVersion of a LoadLine changes with its labels and annotations too.
func TestEditsOfMetadataDoNotStopThePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		c, api, end := electing(t, s, Options{})
		defer end()
		s.looking = func() {
			now := stored(t, api, s.l)
			now.Annotations = map[string]string{"edited": time.Now().String()}
			if err := api.Update(context.Background(), now); err != nil {
				t.Error(err)
			}
		}
		if _, err := c.Reconcile(t.Context(), request(s.l)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		s.did(t, "web 3 to 5")
		if got := stored(t, api, s.l); len(got.Status.Services) != 3 || got.Annotations["edited"] == "" {
			t.Errorf("stored: %+v", got)
		}
	})
}

// A new leader's cache may lag behind the last status of the process before it.
func TestTheStatusIsReadLiveAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		c, api, end := electing(t, s, Options{})
		defer end()
		old := stored(t, api, s.l)
		now := old.DeepCopy()
		now.Status.Policy = "of the leader before"
		if err := api.Status().Update(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		var got []string
		open := c.open
		c.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
			got = append(got, l.Status.Policy)
			return open(ctx, l, latest)
		}
		c.adopt(t.Context(), client.ObjectKeyFromObject(old), old) // as the cache has it
		time.Sleep(time.Second)
		synctest.Wait()
		if strings.Join(got, ", ") != "of the leader before" {
			t.Errorf("opened with the policies %q", got)
		}
		s.did(t, "web 3 to 5")
	})
}
