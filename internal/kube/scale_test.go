package kube

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

func TestScale(t *testing.T) {
	other := func(replicas int32) func(*server, string) {
		return func(s *server, _ string) {
			s.set("web", "kubectl", func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas })
		}
	}
	touch := func(s *server, _ string) {
		s.set("web", "kubectl", func(d *appsv1.Deployment) { d.Status.ReadyReplicas++ })
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
		{name: "with another owner: taken by force", owner: "kubectl", from: 3, to: 5, patches: 2, want: 5},
		{name: "they are as wanted", from: 2, to: 3, want: 3},
		{name: "they are not as found", from: 4, to: 5, want: 3, fault: ErrChanged},
		{name: "to zero", owner: Manager, from: 3, to: 0, patches: 1, want: 0},
		{name: "another writer changes them between reading and writing", owner: Manager, from: 3, to: 5,
			meanwhile: meanwhile{"patch scale", other(7)}, patches: 1, want: 7, fault: ErrChanged},
		{name: "the same, where they were his", owner: "kubectl", from: 3, to: 5, meanwhile: meanwhile{"patch scale", other(7)},
			patches: 1, want: 7, fault: ErrChanged},
		{name: "another writer sets the desired value", owner: Manager, from: 3, to: 5, meanwhile: meanwhile{"patch scale", other(5)},
			patches: 1, want: 5},
		{name: "the status changes all the time, and they are ours", owner: Manager, from: 3, to: 5,
			meanwhile: meanwhile{"patch scale", touch}, patches: 1, want: 5},
		{name: "the status changes all the time, and they are not", owner: "kubectl", from: 3, to: 5,
			meanwhile: meanwhile{"patch scale", touch}, patches: tries, want: 3, fault: errAny},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newServer(t, deployment("web", 3))
			s.owner["web"] = row.owner
			s.between = func(call string) {
				if row.meanwhile.do != nil && call == row.meanwhile.before {
					row.meanwhile.do(s, call)
				}
			}
			err := s.workloads(service("web")).Scale(context.Background(), 0, row.from, row.to)
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

// A cache that lags behind our own write must not show the old replicas: the next
// decision would rest on them.
func TestOwnWritesAreSeenAtOnce(t *testing.T) {
	s := newServer(t, deployment("web", 3))
	w := s.workloads(service("web"))
	old := newServer(t, s.deployment("web")) // the cache, as it was before
	if err := w.Scale(context.Background(), 0, 3, 5); err != nil {
		t.Fatal(err)
	}
	w.client, w.live = old, s
	if got := s.look(t, w)[0].Replicas; got != 5 {
		t.Errorf("%d replicas", got)
	}
}
