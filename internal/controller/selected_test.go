package controller

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/resource"
)

func deployment(name string, labels map[string]string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: labels}}
}

// TestSelectedServicesComeAndGo: a workload that gets the labels is added, one that loses them is left
// out, and nothing restarts for others.
func TestSelectedServicesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		s.l.Spec.Services = s.l.Spec.Services[:1] // web
		s.l.Spec.Selector = &v1alpha1.Selector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "shop"}}
		s.l.Spec.Template = &v1alpha1.Template{Bounds: v1alpha1.Bounds{Replicas: v1alpha1.ReplicaBounds{Max: 5}},
			Axes: []v1alpha1.Axis{v1alpha1.Horizontal}}
		s.l.Annotations = map[string]string{v1alpha1.PausedAnnotation: "cart"} // which does not exist yet
		c, end := running(t, s)
		defer end()
		var mu sync.Mutex
		var opened []string
		c.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
			var names []string
			for i := range l.Spec.Services {
				names = append(names, l.Spec.Services[i].Name)
			}
			mu.Lock()
			opened = append(opened, strings.Join(names, ","))
			mu.Unlock()
			return s.open(ctx, l, latest)
		}
		ours := map[string]string{"app": "shop", "tier": "front"}
		look := func(want ...string) {
			t.Helper()
			if _, err := c.Reconcile(t.Context(), request(s.l)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(opened, want) {
				t.Fatalf("opened with %q, want %q", opened, want)
			}
		}
		create := func(d *appsv1.Deployment) {
			t.Helper()
			if err := c.Client.Create(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		create(deployment("web", ours)) // a service names it
		create(deployment("db", map[string]string{"app": "other"}))
		look("web")
		ads := deployment("ads", ours)
		create(ads)
		look("web", "web,ads")
		create(deployment("cache", map[string]string{"app": "other"}))
		look("web", "web,ads") // nothing restarts
		cart := deployment("cart", ours)
		cart.Annotations = map[string]string{}
		create(cart)
		look("web", "web,ads", "web,ads,cart")
		if pause := c.runnerOf(request(s.l).NamespacedName).latest.Load().Pause(); pause.All || !slices.Equal(pause.Services, []string{"cart"}) {
			t.Errorf("paused: %+v", pause)
		}
		ads.Labels = map[string]string{"app": "other"}
		if err := c.Client.Update(t.Context(), ads); err != nil {
			t.Fatal(err)
		}
		look("web", "web,ads", "web,ads,cart", "web,cart")
		cart.Annotations[v1alpha1.ServiceAnnotation] = "basket"
		if err := c.Client.Update(t.Context(), cart); err != nil {
			t.Fatal(err)
		}
		look("web", "web,ads", "web,ads,cart", "web,cart", "web,basket")
		var now v1alpha1.LoadLine
		if err := c.Client.Get(t.Context(), request(s.l).NamespacedName, &now); err != nil {
			t.Fatal(err)
		}
		if is := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionSelected); is == nil || is.Reason != v1alpha1.ReasonFound ||
			is.Message != "1 services" {
			t.Errorf("Selected is %+v", is)
		}
		if len(now.Spec.Services) != 1 || len(now.Status.Services) != 2 {
			t.Errorf("%d services in the spec, want the one that was written; %d in the status", len(now.Spec.Services), len(now.Status.Services))
		}
	})
}

func TestWorkloadsThatWake(t *testing.T) {
	old, relabelled, renamed, scaled := deployment("a", map[string]string{"app": "x"}), deployment("a", map[string]string{"app": "y"}),
		deployment("a", map[string]string{"app": "x"}), deployment("a", map[string]string{"app": "x"})
	renamed.Annotations = map[string]string{v1alpha1.ServiceAnnotation: "b"}
	scaled.Generation, scaled.Annotations = 7, map[string]string{"deployment.kubernetes.io/revision": "3"}
	for _, row := range []struct {
		name string
		to   *appsv1.Deployment
		want bool
	}{{"other labels", relabelled, true}, {"another name in the metrics", renamed, true}, {"another scale", scaled, false}} {
		if got := labelled.Update(event.UpdateEvent{ObjectOld: old, ObjectNew: row.to}); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

// TestWhatTheTwinLacksIsSaid: a workload that the selector finds and the twin does not have is left out,
// and the condition names it.
func TestWhatTheTwinLacksIsSaid(t *testing.T) {
	l := &v1alpha1.LoadLine{Spec: v1alpha1.LoadLineSpec{Selector: &v1alpha1.Selector{}}}
	v := &view{app: &resource.Application{App: &loadline.App{}, LeftOut: []string{"fresh", "newer"}}}
	if is := v.selectedVerdict(l); is.reason != v1alpha1.ReasonNotInTwin || !strings.Contains(is.message, "fresh, newer") {
		t.Errorf("%+v", is)
	}
	l.Spec.Selector = nil
	if is := v.selectedVerdict(l); is.reason != "" {
		t.Errorf("without a selector: %+v", is)
	}
}
