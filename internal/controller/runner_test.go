package controller

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/resource"
)

// server is an API server that stores these LoadLines.
func server(t *testing.T, all ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).WithStatusSubresource(all...).Build()
}

// open is assemble over the stage instead of a cluster.
func (s *stage) open(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
	spec, err := resource.Read(l, nil)
	if err != nil {
		return nil, err
	}
	a := &application{Application: spec, cluster: s.ends(spec)}
	a.cluster.resource, a.cluster.now = latest, time.Now
	a.cluster.act = spec.Mode == v1alpha1.Act
	a.cluster.resume(l)
	if err := a.guardIt(ctx, models{app: spec}, l, time.Now()); err != nil {
		return nil, err
	}
	a.loop.Clock = &realClock{now: time.Now}
	return a, nil
}

// running is a controller over a stage in the time of the synctest bubble.
func running(t *testing.T, s *stage) (c *Controller, end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	c = New(ctx, Options{Client: server(t, s.l), Log: slog.New(slog.DiscardHandler), Now: time.Now})
	c.open, c.restorer = s.open, func(string) restorer { return s }
	return c, func() {
		cancel()
		c.Wait()
	}
}

func request(l *v1alpha1.LoadLine) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(l)}
}

// ready is the condition Ready as it is stored.
func ready(t *testing.T, c *Controller, l *v1alpha1.LoadLine) metav1.Condition {
	t.Helper()
	var now v1alpha1.LoadLine
	if err := c.Client.Get(context.Background(), client.ObjectKeyFromObject(l), &now); err != nil {
		t.Fatal(err)
	}
	condition := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionReady)
	if condition == nil {
		t.Fatal("there is no condition Ready")
	}
	return *condition
}

// flaky panics in every pass while its switch is on.
type flaky struct {
	loadline.Policy
	broken *bool
	passes *[]time.Duration
	began  time.Time
}

func (f flaky) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	*f.passes = append(*f.passes, now.Sub(f.began))
	if *f.broken {
		panic("index out of range")
	}
	return f.Policy.Decide(now, s)
}

func TestAFailingApplicationRestartsWithBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		c, end := running(t, s)
		defer end()
		broken, began, passes := true, time.Now(), []time.Duration(nil)
		c.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
			a, err := s.open(ctx, l, latest)
			if err == nil {
				a.loop.Policy = flaky{a.loop.Policy, &broken, &passes, began}
			}
			return a, err
		}
		if _, err := c.Reconcile(t.Context(), request(s.l)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Second)
		synctest.Wait()
		var want []time.Duration
		at := time.Duration(0)
		for _, wait := range []time.Duration{2, 4, 8, 16, 32, 60, 60, 60} {
			want = append(want, at)
			at += wait * time.Second
		}
		if !slices.Equal(passes, want) {
			t.Errorf("passes at %v, want %v", passes, want)
		}
		got := ready(t, c, s.l)
		if got.Status != metav1.ConditionFalse || got.Reason != v1alpha1.ReasonFailed || !strings.Contains(got.Message,
			"index out of range") {
			t.Errorf("Ready is %+v", got)
		}

		broken = false // it recovers, and a failure after that is the first again
		time.Sleep(steadyAfter + longestRetry)
		synctest.Wait()
		if got := ready(t, c, s.l); got.Status != metav1.ConditionTrue {
			t.Errorf("Ready is %+v after it recovered", got)
		}
		broken, passes = true, nil
		time.Sleep(s.l.Spec.Interval.Span() + 15*time.Second + firstRetry)
		synctest.Wait()
		if len(passes) < 2 || passes[1]-passes[0] != firstRetry {
			t.Errorf("passes at %v, want a restart after %v", passes, firstRetry)
		}
	})
}

func TestWhatCannotBeAssembledIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		c, end := running(t, s)
		defer end()
		attempts := 0
		c.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
			if attempts++; attempts < 3 {
				return nil, missingError{errors.New("the Secret ns/token does not exist")}
			}
			return s.open(ctx, l, latest)
		}
		if _, err := c.Reconcile(t.Context(), request(s.l)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := ready(t, c, s.l); got.Reason != v1alpha1.ReasonSecretNotFound || !strings.Contains(got.Message, "next attempt in 2s") {
			t.Errorf("Ready is %+v", got)
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if got := ready(t, c, s.l); got.Status != metav1.ConditionTrue || attempts != 3 {
			t.Errorf("Ready is %+v after %d attempts", got, attempts)
		}
	})
}

// While one LoadLine is being stopped, which lasts as long as its pass does, the
// others are started, woken and ended.
func TestNoLockIsHeldWhileWaitingForAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		other := s.l.DeepCopy()
		other.Name, other.UID = "other", "2"
		changed := s.l.DeepCopy()
		changed.Generation = 2
		ctx, cancel := context.WithCancel(context.Background())
		c := New(ctx, Options{Client: server(t, changed, other), Log: slog.New(slog.DiscardHandler), Now: time.Now})
		c.open = s.open
		busy := c.newRunner(s.l) // in a pass that does not end
		busy.cancel = func() {}
		c.runs[client.ObjectKeyFromObject(s.l)] = busy

		restarted := make(chan struct{})
		go func() {
			defer close(restarted)
			if _, err := c.Reconcile(context.Background(), request(changed)); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		if !c.mu.TryLock() {
			t.Fatal("the lock is held while the busy LoadLine is being stopped")
		}
		c.mu.Unlock()
		if _, err := c.Reconcile(context.Background(), request(other)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := ready(t, c, other); got.Status != metav1.ConditionTrue {
			t.Errorf("the other LoadLine: %+v", got)
		}
		c.end(types.NamespacedName{Namespace: other.Namespace, Name: other.Name})

		close(busy.ended)
		<-restarted
		if r := c.runnerOf(client.ObjectKeyFromObject(s.l)); r == busy || r.latest.Load().Generation != 2 {
			t.Error("the busy LoadLine was not restarted")
		}
		cancel()
		c.Wait()
	})
}

func TestOnceMakesTheSamePass(t *testing.T) {
	for _, row := range []struct {
		name   string
		dryRun bool
	}{{"a dry run writes no status", true}, {"otherwise the status is written", false}} {
		t.Run(row.name, func(t *testing.T) {
			s, _ := newStage(t)
			s.now, s.rate.At = time.Now(), time.Now()
			c := New(t.Context(), Options{Client: server(t, s.l), Log: slog.New(slog.DiscardHandler), Now: time.Now, DryRun: row.dryRun})
			c.open = s.open
			f := c.Once(t.Context(), s.l)
			if f.Error != "" && !strings.Contains(f.Error, "no data") || len(f.Services) != 3 ||
				f.Conditions[v1alpha1.ConditionReady] == "" {
				t.Fatalf("%+v", f)
			}
			var now v1alpha1.LoadLine
			if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(s.l), &now); err != nil {
				t.Fatal(err)
			}
			if written := len(now.Status.Conditions) > 0; written == row.dryRun {
				t.Errorf("status written: %v", written)
			}
		})
	}
}

func TestOnceWithoutWorkloads(t *testing.T) {
	s, _ := newStage(t)
	s.lookErr = errors.New("connection refused")
	s.l.Status.Services = []v1alpha1.ServiceStatus{{Name: "web"}} // of an earlier pass
	c := New(t.Context(), Options{Client: server(t, s.l), Log: slog.New(slog.DiscardHandler), Now: time.Now, DryRun: true})
	c.open = s.open
	if f := c.Once(t.Context(), s.l); !strings.Contains(f.Error, "connection refused") || len(f.Services) > 0 {
		t.Errorf("%+v", f)
	}
}
