package kube

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestScale(t *testing.T) {
	other := func(replicas int32) func(*server, string) {
		return func(s *server, _ string) {
			s.set("web", "kubectl", func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas })
		}
	}
	successor := func(replicas ...int32) func(*server, string) {
		return func(s *server, _ string) {
			for _, n := range replicas {
				s.set("web", Manager, func(d *appsv1.Deployment) { d.Spec.Replicas = &n })
			}
		}
	}
	touch := func(s *server, _ string) {
		s.set("web", "kubectl", func(d *appsv1.Deployment) { d.Status.ReadyReplicas++ })
	}
	times := func(n int, do func(*server, string)) func(*server, string) {
		return func(s *server, call string) {
			if n--; n >= 0 {
				do(s, call)
			}
		}
	}
	takenOver := func(s *server, _ string) {
		apply := appsapply.Deployment("web", namespace).WithSpec(appsapply.DeploymentSpec().WithReplicas(3))
		if err := s.Apply(context.Background(), apply, client.FieldOwner("argocd"), client.ForceOwnership); err != nil {
			panic(err)
		}
	}
	newImage := func(s *server, _ string) {
		s.set("web", "kubectl", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Image = "v2"
			d.Generation++
		})
	}
	for _, row := range []struct {
		name     string
		owner    string
		from, to int
		meanwhile
		patches int
		want    int32
		fault   error
	}{
		{name: "without an owner", from: 3, to: 5, patches: 1, want: 5},
		{name: "they were ours", owner: Manager, from: 3, to: 5, patches: 1, want: 5},
		{name: "with another owner: taken by force", owner: "kubectl", from: 3, to: 5, patches: 1, want: 5},
		{name: "they are as wanted", from: 2, to: 3, want: 3},
		{name: "they are not as found", from: 4, to: 5, want: 3, fault: ErrChanged},
		{name: "to zero", owner: Manager, from: 3, to: 0, patches: 1, want: 0},
		{name: "another writer changes them between reading and writing", owner: Manager, from: 3, to: 5,
			meanwhile: meanwhile{"patch scale", other(7)}, patches: 1, want: 7, fault: ErrChanged},
		{name: "the same, where they were his", owner: "kubectl", from: 3, to: 5, meanwhile: meanwhile{"patch scale", other(7)},
			patches: 1, want: 7, fault: ErrChanged},
		{name: "another writer sets the desired value", owner: Manager, from: 3, to: 5, meanwhile: meanwhile{"patch scale", other(5)},
			patches: 1, want: 5},
		{name: "the status changes: repeated with the new version", owner: Manager, from: 3, to: 5,
			meanwhile: meanwhile{"patch scale", times(2, touch)}, patches: 3, want: 5},
		{name: "the status changes all the time", owner: Manager, from: 3, to: 5,
			meanwhile: meanwhile{"patch scale", touch}, patches: tries, want: 3, fault: errAny},
		{name: "another manager takes them over with the same value", owner: Manager, from: 3, to: 5,
			meanwhile: meanwhile{"patch scale", takenOver}, patches: 1, want: 3, fault: ErrChanged},
		{name: "another part of the spec changes", owner: Manager, from: 3, to: 5,
			meanwhile: meanwhile{"patch scale", newImage}, patches: 1, want: 3, fault: ErrChanged},
		{name: "a new leader changes them between reading and writing", owner: Manager, from: 3, to: 2,
			meanwhile: meanwhile{"patch scale", successor(7)}, patches: 1, want: 7, fault: ErrChanged},
		{name: "a new leader changes them and changes them back", owner: Manager, from: 3, to: 2,
			meanwhile: meanwhile{"patch scale", successor(7, 3)}, patches: 1, want: 3, fault: ErrChanged},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newServer(t, deployment("web", 3))
			s.owner["web"] = row.owner
			s.between = func(call string) {
				if row.meanwhile.do != nil && call == row.meanwhile.before {
					row.meanwhile.do(s, call)
				}
			}
			w := s.workloads(service("web"))
			s.look(t, w)
			err := w.Scale(context.Background(), 0, row.from, row.to)
			if (err == nil) != (row.fault == nil) || errors.Is(err, ErrChanged) != (row.fault == ErrChanged) {
				t.Errorf("error %v", err)
			}
			if got := *s.deployment("web").Spec.Replicas; got != row.want || s.count("patch scale") != row.patches {
				t.Errorf("%d replicas after %q", got, s.calls)
			}
			if err == nil && row.patches > 0 && row.meanwhile.do == nil && s.owner["web"] != Manager {
				t.Errorf("owned by %q", s.owner["web"])
			}
		})
	}
}

// errAny is any error but ErrChanged.
var errAny = errors.New("any")

type meanwhile struct {
	before string
	do     func(s *server, call string)
}

func TestScaleOfWhatIsNotOurs(t *testing.T) {
	s := newServer(t)
	if err := s.workloads(nil).Scale(context.Background(), 0, 1, 2); !errors.Is(err, ErrNotOurs) {
		t.Errorf("got %v", err)
	}
}

// What Look did not find cannot be the basis of a decision.
func TestScaleWithoutLook(t *testing.T) {
	s := newServer(t, deployment("web", 3))
	if err := s.workloads(service("web")).Scale(context.Background(), 0, 3, 5); !errors.Is(err, ErrChanged) || s.count("patch scale") > 0 {
		t.Errorf("got %v after %q", err, s.calls)
	}
}

// A cache that lags behind a new leader's write must not lead to another one: the
// decision was made on replicas that no longer exist.
func TestScaleOnALaggingCache(t *testing.T) {
	s := newServer(t, deployment("web", 3))
	s.owner["web"] = Manager
	w := s.workloads(service("web"))
	w.client = lagging{s, newServer(t, s.deployment("web"))}
	s.set("web", Manager, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(7)) })
	s.look(t, w)
	if err := w.Scale(context.Background(), 0, 3, 2); !errors.Is(err, ErrChanged) || *s.deployment("web").Spec.Replicas != 7 {
		t.Errorf("got %v and %d replicas", err, *s.deployment("web").Spec.Replicas)
	}
}

// lagging reads from a cache that is behind and writes to the server.
type lagging struct {
	client.Client
	cache client.Reader
}

func (l lagging) Get(ctx context.Context, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
	return l.cache.Get(ctx, key, into, o...)
}

// A cache that lags behind our own write must not show the old replicas: the next
// decision would rest on them.
func TestOwnWritesAreSeenAtOnce(t *testing.T) {
	s := newServer(t, deployment("web", 3))
	w := s.workloads(service("web"))
	old := newServer(t, s.deployment("web")) // the cache, as it was before
	s.look(t, w)
	if err := w.Scale(context.Background(), 0, 3, 5); err != nil {
		t.Fatal(err)
	}
	w.client, w.live = old, s
	if got := s.look(t, w)[0].Replicas; got != 5 {
		t.Errorf("%d replicas", got)
	}
}
