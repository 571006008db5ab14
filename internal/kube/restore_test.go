package kube

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline/api/v1alpha1"
)

func TestRestore(t *testing.T) {
	web := v1alpha1.TargetRef{Name: "web"}
	for _, row := range []struct {
		name     string
		replicas int32
		owner    string
		change   func(*appsv1.Deployment)
		ask      Restoring
		meanwhile
		want   int32
		raised bool
		fault  error
	}{
		{name: "what Loadline has scaled to zero", owner: Manager, ask: Restoring{Target: web, To: 3}, want: 3, raised: true},
		{name: "a workload with replicas is left alone", replicas: 1, owner: Manager, ask: Restoring{Target: web, To: 3}, want: 1},
		{name: "so is one that a person has scaled to zero", owner: "kubectl", ask: Restoring{Target: web, To: 3}},
		{name: "and one that KEDA has scaled to zero by itself", owner: "keda", ask: Restoring{Target: web, To: 3}},
		{name: "what KEDA has scaled to zero for Loadline", owner: "keda", ask: Restoring{Target: web, To: 3, ByKEDA: true}, want: 3,
			raised: true},
		{name: "not what a person has scaled to zero under KEDA", owner: "kubectl", ask: Restoring{Target: web, To: 3, ByKEDA: true}},
		{name: "a workload that does not exist", owner: Manager, ask: Restoring{Target: v1alpha1.TargetRef{Name: "gone"}, To: 3}},
		{name: "a kind that does not exist", owner: Manager,
			ask: Restoring{Target: v1alpha1.TargetRef{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "gone"}, To: 3}},
		{name: "a workload that is being deleted", owner: Manager, ask: Restoring{Target: web, To: 3},
			change: func(d *appsv1.Deployment) {
				d.Finalizers, d.DeletionTimestamp = []string{"foregroundDeletion"}, &metav1.Time{Time: noon}
			}},
		{name: "a paused workload", owner: Manager, ask: Restoring{Target: web, To: 3}, change: pauseIt, fault: ErrPaused},
		{name: "a paused workload, in spite of that", owner: Manager, ask: Restoring{Target: web, To: 3, EvenPaused: true},
			change: pauseIt, want: 3, raised: true},
		{name: "a person scales it up between reading and writing", owner: Manager, ask: Restoring{Target: web, To: 3},
			meanwhile: meanwhile{"patch scale", func(s *server, _ string) {
				two := int32(2)
				s.set("web", "kubectl", func(d *appsv1.Deployment) { d.Spec.Replicas = &two })
			}}, want: 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := deployment("web", row.replicas)
			d.ManagedFields = []metav1.ManagedFieldsEntry{entry(row.owner, ownsOnly, time.Time{})}
			if row.change != nil {
				row.change(d)
			}
			s := newServer(t, d)
			s.owner["web"] = row.owner
			s.between = func(call string) {
				if row.meanwhile.do != nil && call == row.meanwhile.before {
					row.meanwhile.do(s, call)
				}
			}
			// Not among the services of the LoadLine any more.
			raised, err := s.workloads().Restore(context.Background(), row.ask)
			if raised != row.raised || !errors.Is(err, row.fault) || (err == nil) != (row.fault == nil) {
				t.Errorf("raised %v, %v", raised, err)
			}
			if got := *s.deployment("web").Spec.Replicas; got != row.want {
				t.Errorf("%d replicas, want %d", got, row.want)
			}
		})
	}
}

func pauseIt(d *appsv1.Deployment) {
	d.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
}

// The cache may still show zero.
func TestARestoredServiceIsReadFromTheServer(t *testing.T) {
	s := newServer(t, deployment("web", 0))
	w := s.workloads(service("web"))
	old := newServer(t, s.deployment("web"))
	raised, err := w.Restore(context.Background(), Restoring{Target: v1alpha1.TargetRef{Name: "web"}, To: 3})
	if !raised || err != nil {
		t.Fatal(raised, err)
	}
	w.client, w.live = old, s
	if got := s.look(t, w)[0].Replicas; got != 3 {
		t.Errorf("%d replicas", got)
	}
}
