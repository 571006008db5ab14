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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kedascaler"
)

// bursting panics from the second pass on.
type bursting struct {
	loadline.Policy
	passes *int
}

func (b bursting) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	if *b.passes++; *b.passes > 1 {
		panic("index out of range")
	}
	return b.Policy.Decide(now, s)
}

// One application panics in every pass: its replicas stay, its answer to KEDA is not
// renewed, it restarts with what it has decided even if no status could be written,
// and an Event says so.
func TestAPanicHoldsTheApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		recorder, board := &eventList{}, kedascaler.NewBoard()
		board.SetReady(true)
		c, api, end := electing(t, s, Options{Events: recorder, Board: board})
		defer end()
		c.Lease = nil
		writable := false
		c.Client = interceptor.NewClient(api.(client.WithWatch), interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client,
			sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if !writable {
				return errors.New("the API server does not answer")
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		}})
		passes, opened := 0, []v1alpha1.LoadLineStatus(nil)
		open := c.open
		c.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
			opened = append(opened, *l.Status.DeepCopy())
			a, err := open(ctx, l, latest)
			if err == nil {
				a.loop.Policy = bursting{a.loop.Policy, &passes}
			}
			return a, err
		}
		if _, err := c.Reconcile(t.Context(), request(s.l)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.Sleep(2 * time.Minute)
		writable = true
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		s.did(t, "web 3 to 5") // the first pass
		d, err := board.Decision(kedascaler.Target{LoadLine: kedascaler.Name{Namespace: "ns", Name: "shop"}, Service: "cart"})
		if err != nil || !d.Made.Equal(began) || d.GoodFor != time.Minute {
			t.Errorf("KEDA gets %+v, %v, want the decision of the first pass, which has expired", d, err)
		}
		if len(opened) < 3 || len(opened[1].Services) != 3 || *opened[1].Services[0].Applied.Replicas != 5 {
			t.Errorf("restarted with %+v", opened)
		}
		if !strings.Contains(recorder.list(), "Warning Failed Ready is False: pass: panic: index out of range") {
			t.Errorf("events: %s", recorder.list())
		}
		if got := ready(t, c, s.l); got.Reason != v1alpha1.ReasonFailed || !strings.Contains(got.Message, "index out of range") {
			t.Errorf("Ready is %+v", got)
		}
	})
}

// explosive panics with every Event about one LoadLine.
type explosive struct{ name string }

func (e explosive) Eventf(o, _ runtime.Object, _, _, _, _ string, _ ...any) {
	if o.(*v1alpha1.LoadLine).Name == e.name {
		panic("while writing an Event")
	}
}

// Even publishing the failure panics. The process goes on, and so does another
// application.
func TestAPanicWhileAFailureIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		other := s.l.DeepCopy()
		other.Name, other.UID = "other", "2"
		c := New(t.Context(), Options{Client: server(t, s.l, other), Log: slog.New(slog.DiscardHandler), Now: time.Now,
			Events: explosive{s.l.Name}})
		attempts := 0
		c.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
			if l.Name == s.l.Name {
				attempts++
				panic("while assembling")
			}
			return s.open(ctx, l, latest)
		}
		for _, l := range []*v1alpha1.LoadLine{s.l, other} {
			if _, err := c.Reconcile(t.Context(), request(l)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if attempts != 5 { // after 0, 2, 6, 14 and 30 s
			t.Errorf("%d attempts", attempts)
		}
		if got := ready(t, c, other); got.Status != metav1.ConditionTrue {
			t.Errorf("the other LoadLine: %+v", got)
		}
		c.stop()
		c.Wait()
	})
}

func TestAPanicInReconcile(t *testing.T) {
	s, _ := newStage(t)
	other := s.l.DeepCopy()
	other.Name, other.UID = "other", "2"
	api := interceptor.NewClient(leased(t, s.l, other), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch,
		key client.ObjectKey, into client.Object, o ...client.GetOption) error {
		if key.Name == s.l.Name {
			panic("while reading")
		}
		return c.Get(ctx, key, into, o...)
	}})
	c := New(t.Context(), Options{Client: api, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	c.open = s.open
	if _, err := c.Reconcile(t.Context(), request(s.l)); err == nil || !strings.Contains(err.Error(), "panic: while reading") {
		t.Errorf("got %v", err)
	}
	if _, err := c.Reconcile(t.Context(), request(other)); err != nil || c.runnerOf(client.ObjectKeyFromObject(other)) == nil {
		t.Errorf("the other LoadLine: %v", err)
	}
	c.stop()
	c.Wait()
}

// Handlers of informers run in goroutines of their own.
func TestAPanicInAnInformersHandler(t *testing.T) {
	s, _ := newStage(t)
	log := slog.New(slog.DiscardHandler)
	c := New(t.Context(), Options{Client: server(t, s.l), Log: log, Now: time.Now})
	sound := client.ObjectKeyFromObject(s.l)
	c.runs[sound] = c.newRunner(s.l)
	c.runs[client.ObjectKey{Namespace: sound.Namespace, Name: "broken"}] = &runner{} // has no resource
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: sound.Namespace}}
	if wake := c.sizesOf(t.Context(), pod); !slices.Equal(wake, []reconcile.Request{{NamespacedName: sound}}) {
		t.Errorf("a new pod wakes %v", wake)
	}

	board := kedascaler.NewBoard()
	board.SetReady(true)
	standby := &Standby{Board: board, Elected: make(chan struct{}), Log: log}
	standby.post = func(b *kedascaler.Board, l *v1alpha1.LoadLine) {
		if l.Name == "broken" {
			panic("while posting")
		}
		b.Post(nameOf(l), map[string]kedascaler.Decision{"web": {Replicas: 3}})
	}
	broken := s.l.DeepCopy()
	broken.Name = "broken"
	standby.see(broken)
	standby.see(s.l)
	if d, err := board.Decision(kedascaler.Target{LoadLine: nameOf(s.l), Service: "web"}); err != nil || d.Replicas != 3 {
		t.Errorf("the other LoadLine: %+v, %v", d, err)
	}
}

// Students leave their fleet in the background.
func TestAPanicWhileLeavingAFleet(t *testing.T) {
	f := NewFleet(FleetOptions{Now: time.Now})
	m := &member{fleet: f, name: "broken"} // has no agent
	m.leave()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
