package knative

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

var helloName = types.NamespacedName{Namespace: "shop", Name: "hello-00001"}

// world is a fake API server with one revision, as Serving makes it. The fake client has no scale
// subresource of unstructured objects: it is played. What only the real one can show is tested on a real
// node in test/cluster.
type world struct {
	client.WithWatch
	c        *Controller
	replicas int64
	now      time.Time
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(appsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	pa := object(PodAutoscalers)
	pa.SetNamespace(helloName.Namespace)
	pa.SetName(helloName.Name)
	pa.SetUID("uid-of-the-autoscaler")
	pa.SetGeneration(1)
	pa.SetLabels(map[string]string{ServiceLabel: "hello", RevisionLabel: helloName.Name})
	pa.SetAnnotations(map[string]string{ClassAnnotation: Class, annotation + "target": "10", annotation + "metric": "concurrency"})
	pa.Object["spec"] = map[string]any{"protocolType": "http1", "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
		"name": "hello-00001-deployment"}}
	w := &world{replicas: 1, now: noon}
	scaleOf := func(sub string) bool { return sub == "scale" }
	w.WithWatch = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, pa)...).
		WithStatusSubresource(object(PodAutoscalers), object(ServerlessServices)).Build(), interceptor.Funcs{
		SubResourceGet: func(ctx context.Context, c client.Client, sub string, o, into client.Object, opts ...client.SubResourceGetOption) error {
			if !scaleOf(sub) {
				return c.SubResource(sub).Get(ctx, o, into, opts...)
			}
			into.(*unstructured.Unstructured).Object["spec"] = map[string]any{"replicas": w.replicas}
			return nil
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if !scaleOf(sub) {
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			}
			data, err := p.Data(o)
			if err != nil || o.GetName() != "hello-00001-deployment" {
				t.Errorf("scale of %s: %v", o.GetName(), err)
			}
			var patch unstructured.Unstructured
			if err := patch.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"x",` + string(data[1:]))); err != nil {
				t.Error(err)
			}
			w.replicas, _, _ = unstructured.NestedInt64(patch.Object, "spec", "replicas")
			return nil
		},
	})
	w.c = New(Options{Client: w, Live: w, Namespace: "knative-serving", Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return w.now },
		Scraper: NewScraper(w, "knative-serving", time.Now)})
	return w
}

func (w *world) reconcile(t *testing.T) reconcile.Result {
	t.Helper()
	r, err := w.c.Reconcile(t.Context(), reconcile.Request{NamespacedName: helloName})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// want is what a tick has decided.
func (w *world) want(wanted Wanted) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.c.tracked[helloName].wanted = &wanted
}

func (w *world) read(t *testing.T, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	if err := w.Get(t.Context(), helloName, o); err != nil {
		t.Fatal(err)
	}
	return o
}

func (w *world) status(t *testing.T) PodAutoscalerStatus {
	t.Helper()
	pa, err := read[PodAutoscaler](w.read(t, object(PodAutoscalers)))
	if err != nil {
		t.Fatal(err)
	}
	return pa.Status
}

// serve plays Serving's part: the ServerlessService has its Services.
func (w *world) serve(t *testing.T) {
	t.Helper()
	sks := w.read(t, object(ServerlessServices))
	sks.Object["status"] = map[string]any{"observedGeneration": sks.GetGeneration(), "serviceName": "hello-00001",
		"privateServiceName": "hello-00001-private", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
	if err := w.Status().Update(t.Context(), sks); err != nil {
		t.Fatal(err)
	}
}

func pod(name string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{RevisionLabel: helloName.Name}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
	if change != nil {
		change(p)
	}
	return p
}

// TestReconcile: from a new PodAutoscaler to an active revision that is scaled.
func TestReconcile(t *testing.T) {
	w := newWorld(t, pod("ready", nil), pod("starting", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }),
		pod("pending", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }),
		pod("of-another", func(p *corev1.Pod) { p.Labels[RevisionLabel] = "hello-00002" }))
	w.reconcile(t)
	sks := w.read(t, object(ServerlessServices))
	mode, _, _ := unstructured.NestedString(sks.Object, "spec", "mode")
	target, _, _ := unstructured.NestedString(sks.Object, "spec", "objectRef", "name")
	if mode != Proxy || target != "hello-00001-deployment" || !metav1.IsControlledBy(sks, w.read(t, object(PodAutoscalers))) ||
		sks.GetLabels()[RevisionLabel] != helloName.Name || sks.GetAnnotations()[annotation+"metric"] != "" || sks.GetAnnotations()[ClassAnnotation] != Class {
		t.Errorf("%+v", sks.Object)
	}
	w.serve(t)
	w.reconcile(t)
	s := w.status(t)
	if *s.ActualScale != 1 || s.ServiceName != "hello-00001" || s.MetricsServiceName != "hello-00001-private" || s.ObservedGeneration != 1 ||
		find(s.Conditions, conditionReady).Status != isTrue {
		t.Errorf("%+v", s)
	}
	w.want(Wanted{Replicas: 4, Load: loadline.Some(30.0)})
	w.reconcile(t)
	if s = w.status(t); w.replicas != 4 || *s.DesiredScale != 4 {
		t.Errorf("%d replicas, %+v", w.replicas, s)
	}
	version := w.read(t, object(PodAutoscalers)).GetResourceVersion()
	w.now = noon.Add(time.Minute)
	w.reconcile(t)
	if again := w.read(t, object(PodAutoscalers)).GetResourceVersion(); again != version {
		t.Error("a status that did not change was written")
	}
	if w.c.tracked[helloName].ready[0] != "10.0.0.1" || len(w.c.tracked[helloName].ready) != 1 {
		t.Errorf("%+v", w.c.tracked[helloName])
	}
}

// TestReconcileLeavesOthersAlone: a PodAutoscaler that changes its class, or is gone, is forgotten, and a
// ServerlessService of something else is not touched.
func TestReconcileLeavesOthersAlone(t *testing.T) {
	w := newWorld(t)
	w.reconcile(t)
	pa := w.read(t, object(PodAutoscalers))
	pa.SetAnnotations(map[string]string{ClassAnnotation: "kpa.autoscaling.knative.dev"})
	if err := w.Update(t.Context(), pa); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t)
	if len(w.c.tracked) != 0 {
		t.Error("a revision of another class is tracked")
	}
	if err := w.Delete(t.Context(), pa); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t)

	foreign := object(ServerlessServices)
	foreign.SetNamespace(helloName.Namespace)
	foreign.SetName(helloName.Name)
	w = newWorld(t, foreign)
	w.reconcile(t)
	if c := find(w.status(t).Conditions, conditionActive); c.Reason != "NotOwned" {
		t.Errorf("%+v", c)
	}
	if _, has := w.read(t, object(ServerlessServices)).Object["spec"]; has {
		t.Error("it was changed")
	}
}

// TestReconcileOnConflict: a write with an outdated version is tried again, not reported.
func TestReconcileOnConflict(t *testing.T) {
	w := newWorld(t)
	inner := w.WithWatch
	w.c.Client = interceptor.NewClient(inner, interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return apierrors.NewConflict(appsv1.Resource("podautoscalers"), helloName.Name, errors.New("changed"))
		},
	})
	if r := w.reconcile(t); r.RequeueAfter == 0 {
		t.Error("it is not tried again")
	}
}

// TestConfigIsKept: settings that cannot be read any more stay as they were.
func TestConfigIsKept(t *testing.T) {
	w := newWorld(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "knative-serving", Name: "config-autoscaler"},
		Data: map[string]string{"stable-window": "20s"}})
	if c := w.c.configOf(t.Context()); c.Window != 20*time.Second {
		t.Fatalf("%+v", c)
	}
	w.c.Live = interceptor.NewClient(w.WithWatch, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("away")
		}})
	w.now = noon.Add(time.Hour)
	if c := w.c.configOf(t.Context()); c.Window != 20*time.Second {
		t.Errorf("%+v", c)
	}
}

// TestSourceOf: the LoadLine that names a Knative Service decides for its latest ready revision.
func TestSourceOf(t *testing.T) {
	service := object(Services)
	service.SetNamespace("shop")
	service.SetName("hello")
	service.Object["status"] = map[string]any{"latestReadyRevisionName": "hello-00002"}
	named := &v1alpha1.LoadLine{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "functions"}, Spec: v1alpha1.LoadLineSpec{
		Services: []v1alpha1.Service{
			{Name: "other", TargetRef: v1alpha1.TargetRef{Name: "hello"}},
			{Name: "greet", TargetRef: v1alpha1.TargetRef{Name: "hello"}, MovedBy: v1alpha1.ByKnative}}}}
	elsewhere := named.DeepCopy()
	elsewhere.Namespace = "another"
	w := newWorld(t, service, named, elsewhere)
	for revision, want := range map[string]source{
		"hello-00001": {},
		"hello-00002": {types.NamespacedName{Namespace: "shop", Name: "functions"}, "greet"},
	} {
		pa := &PodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: revision, Labels: map[string]string{ServiceLabel: "hello"}}}
		if got, err := sourceOf(t.Context(), w, pa); err != nil || got != want {
			t.Errorf("%s: %+v, %v", revision, got, err)
		}
	}
	pa := &PodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "bare"}}
	if got, err := sourceOf(t.Context(), w, pa); err != nil || got != (source{}) {
		t.Errorf("a PodAutoscaler without a Knative Service: %+v, %v", got, err)
	}
}

// TestReportOnce: what keeps activators from being read is logged once.
func TestReportOnce(t *testing.T) {
	var b strings.Builder
	c := New(Options{Log: slog.New(slog.NewTextHandler(&b, nil)), Now: time.Now})
	for range 3 {
		c.report(errors.New("connection refused"))
	}
	c.report(nil)
	c.report(nil)
	if n := strings.Count(b.String(), "\n"); n != 2 || !strings.Contains(b.String(), "metrics-protocol: prometheus") {
		t.Error(b.String())
	}
}
