package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

func TestLook(t *testing.T) {
	web := deployment("web", 3)
	web.Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
	s := newServer(t, web, replicaSet("web"),
		readyPod("web", "a"),
		readyPod("web", "b", unready, func(p *corev1.Pod) { p.Spec.NodeName = "elsewhere" }),
		readyPod("web", "c", unready, func(p *corev1.Pod) { p.Spec.NodeName = "" }),
		readyPod("web", "d", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: noon}, []string{"x/y"}
		}),
		readyPod("web", "e", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }),
	)
	states := s.look(t, s.workloads(service("web"), service("absent"), nil))
	if !errors.Is(states[1].Err, ErrNotFound) || !errors.Is(states[2].Err, ErrNotFound) {
		t.Errorf("absent: %v, %v", states[1].Err, states[2].Err)
	}
	got := states[0]
	size := loadline.Size{CPURequest: 0.2, CPULimit: 1, MemoryRequest: 100 << 20, MemoryLimit: 200 << 20}
	if got.Err != nil || got.Replicas != 3 || got.Status != 3 || got.Container != "app" || got.Template != size || got.Size != size ||
		!got.Paused || got.RollingOut != "" {
		t.Errorf("got %+v", got)
	}
	phases := map[string]loadline.PodPhase{}
	for _, p := range got.Pods {
		phases[p.Name] = p.Phase
		if p.ID < 0 || p.ID != podID(p.UID) || p.Size != size || p.Desired != size || !p.Created.Equal(noon.Add(-time.Hour)) {
			t.Errorf("pod %+v", p)
		}
		if ready := p.Name == "a" || p.Name == "d"; ready != !p.Ready.IsZero() {
			t.Errorf("pod %s ready at %v", p.Name, p.Ready)
		}
		if node := map[string]int{"a": 1, "b": -1, "c": -1, "d": 1}[p.Name]; p.Node != node {
			t.Errorf("pod %s on node %d", p.Name, p.Node)
		}
	}
	want := map[string]loadline.PodPhase{"a": loadline.PodReady, "b": loadline.PodStarting, "c": loadline.PodPending,
		"d": loadline.PodDraining}
	if fmt.Sprint(phases) != fmt.Sprint(want) {
		t.Errorf("phases %v", phases)
	}
}

func TestPodsBelongToTheWorkloadThatOwnsThem(t *testing.T) {
	// A selector that also matches the pods of another Deployment, one that matches by
	// a list, a StatefulSet, and a pod without an owner.
	canary := deployment("canary", 1)
	canary.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app",
		Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "canary"}}}}
	db := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "db", UID: "db"},
		Spec:       appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}},
	}
	store := service("store")
	store.TargetRef = v1alpha1.TargetRef{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db"}
	s := newServer(t, deployment("web", 1), replicaSet("web"), canary, replicaSet("canary"), db,
		readyPod("web", "web-1"),
		readyPod("canary", "canary-1", func(p *corev1.Pod) { p.Labels["app"] = "web" }),
		readyPod("db", "db-0", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{ownedBy("apps/v1", "StatefulSet", "db", "db")}
		}),
		readyPod("web", "orphan", func(p *corev1.Pod) { p.OwnerReferences = nil }),
	)
	states := s.look(t, s.workloads(service("web"), service("canary"), store))
	for i, want := range []string{"web-1", "canary-1", "db-0"} {
		if got := states[i].Pods; len(got) != 1 || got[0].Name != want {
			t.Errorf("pods of %s: %+v", want, got)
		}
	}
}

func TestOneListOfEachKindHoweverManyServices(t *testing.T) {
	var objects []client.Object
	var services []*v1alpha1.Service
	for i := range 50 {
		name := fmt.Sprint("web", i)
		objects = append(objects, deployment(name, 1), replicaSet(name), readyPod(name, name))
		services = append(services, service(name))
	}
	s := newServer(t, objects...)
	for _, state := range s.look(t, s.workloads(services...)) {
		if state.Err != nil || len(state.Pods) != 1 {
			t.Fatalf("got %+v", state)
		}
	}
	for _, kind := range []string{"Pod", "ReplicaSet", "HorizontalPodAutoscaler", "LoadLine", "ScaledObject", "VerticalPodAutoscaler"} {
		if n := s.count("list " + kind); n != 1 {
			t.Errorf("%d lists of %s", n, kind)
		}
	}
	if len(s.calls) != 6 {
		t.Errorf("calls: %q", s.calls)
	}
}

func TestOtherKindsAreReadByTheirScale(t *testing.T) {
	rollout := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
		"metadata": map[string]any{"namespace": namespace, "name": "front", "uid": "front"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "app",
			"resources": map[string]any{"requests": map[string]any{"cpu": "250m"}}}}}}},
		"status": map[string]any{"stableRS": "a", "currentPodHash": "b", "phase": "Progressing"},
	}}
	bare := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Bare",
		"metadata": map[string]any{"namespace": namespace, "name": "bare"}}}
	front, without := service("front"), service("bare")
	front.TargetRef = v1alpha1.TargetRef{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "front"}
	without.TargetRef = v1alpha1.TargetRef{APIVersion: "argoproj.io/v1alpha1", Kind: "Bare", Name: "bare"}
	rs := replicaSet("front")
	rs.OwnerReferences[0].UID = "front"
	s := newServer(t, rollout, bare, rs, readyPod("front", "front-1"))
	w := s.workloads(front, without)
	states := s.look(t, w)
	if got := states[0]; got.Err != nil || got.Replicas != 3 || got.Status != 2 || got.Template.CPURequest != 0.25 ||
		len(got.Pods) != 1 || !strings.Contains(got.RollingOut, "from template a to b") {
		t.Errorf("got %+v", got)
	}
	if !errors.Is(states[1].Err, ErrNoScale) {
		t.Errorf("got %v", states[1].Err)
	}
	// The API server cannot apply there: the version is the condition instead.
	if err := w.Scale(context.Background(), 0, 3, 4); err != nil {
		t.Error(err)
	}
	if s.count("application/merge-patch+json "+rollout.GetResourceVersion()) != 1 {
		t.Errorf("calls: %q", s.calls)
	}
}

func TestNothingIsMovedWhileConflictsAreUnknown(t *testing.T) {
	s := newServer(t, deployment("web", 1), replicaSet("web"), readyPod("web", "a"))
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "horizontalpodautoscalers"}, "", errors.New("no"))
	w := s.workloads(service("web"))
	w.client = failing(s, "HorizontalPodAutoscalerList", forbidden)
	states := s.look(t, w)
	if !errors.Is(states[0].Err, forbidden) || len(states[0].Pods) != 1 {
		t.Errorf("got %+v", states[0])
	}
	w.client = failing(s, "PodList", forbidden)
	if _, err := w.Look(context.Background()); !errors.Is(err, forbidden) {
		t.Errorf("without pods: %v", err)
	}
}

func TestKindsThatAreNotInstalledAreNoFault(t *testing.T) {
	s := newServer(t, deployment("web", 1))
	w := s.workloads(service("web"))
	asked := 0
	w.client = interceptor.NewClient(s, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
		opts ...client.ListOption) error {
		if _, is := list.(*unstructured.UnstructuredList); is {
			asked++
			return &meta.NoKindMatchError{}
		}
		return c.List(ctx, list, opts...)
	}})
	for range 3 {
		if states := s.look(t, w); states[0].Err != nil {
			t.Fatal(states[0].Err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times within a minute", asked)
	}
	s.now = s.now.Add(lookAgain)
	if s.look(t, w); asked != 4 {
		t.Errorf("asked %d times after a minute", asked)
	}
}

func failing(s *server, kind string, err error) client.Client {
	return interceptor.NewClient(s, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
		opts ...client.ListOption) error {
		if gvk, _ := c.GroupVersionKindFor(list); gvk.Kind == kind {
			return err
		}
		return c.List(ctx, list, opts...)
	}})
}

func TestContainer(t *testing.T) {
	named := target{service: &v1alpha1.Service{Container: "b"}}
	three := []corev1.Container{{Name: "istio-proxy"}, {Name: "a"}, {Name: "b"}}
	for _, row := range []struct {
		name        string
		target      target
		annotations map[string]string
		containers  []corev1.Container
		want        string
	}{
		{"the one that the resource names", named, map[string]string{defaultContainer: "a"}, three, "b"},
		{"none if it names one that is not there", named, nil, three[:2], ""},
		{"kubectl's default", target{}, map[string]string{defaultContainer: "b"}, three, "b"},
		{"the first, if that one is not there", target{}, map[string]string{defaultContainer: "x"}, three, "a"},
		{"the first that is no proxy", target{}, nil, three, "a"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := ContainerOf(row.target.service, row.annotations, row.containers); got != row.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestServiceWithoutItsContainer(t *testing.T) {
	s := newServer(t, deployment("web", 1))
	web := service("web")
	web.Container = "absent"
	if got := s.look(t, s.workloads(web))[0].Err; !errors.Is(got, ErrContainer) {
		t.Errorf("got %v", got)
	}
}

func TestUsualSize(t *testing.T) {
	small, large := loadline.Size{CPURequest: 1}, loadline.Size{CPURequest: 2}
	pod := func(s loadline.Size, minute int, phase loadline.PodPhase) Pod {
		return Pod{Desired: s, PodObservation: loadline.PodObservation{Phase: phase, Created: noon.Add(time.Duration(minute) * time.Minute)}}
	}
	for _, row := range []struct {
		name string
		pods []Pod
		want loadline.Size
	}{
		{"the template's without pods", nil, loadline.Size{CPURequest: 9}},
		{"that of most", []Pod{pod(large, 9, loadline.PodReady), pod(small, 1, loadline.PodReady), pod(small, 2, loadline.PodPending)},
			small},
		{"that of the newest of as many", []Pod{pod(large, 9, loadline.PodReady), pod(small, 1, loadline.PodReady)}, large},
		{"draining pods do not count", []Pod{pod(large, 1, loadline.PodReady), pod(small, 2, loadline.PodDraining)}, large},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := usualSize(row.pods, loadline.Size{CPURequest: 9}); got != row.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestMismatched(t *testing.T) {
	desired := loadline.Size{CPURequest: 0.334, CPULimit: 1}
	s := State{Pods: []Pod{{Name: "has it", Desired: desired}, {Name: "has not", Desired: loadline.Size{CPURequest: 0.2}},
		{Name: "goes", PodObservation: loadline.PodObservation{Phase: loadline.PodDraining}}}}
	// A third of a core is written as 334 milli-cores.
	if got := s.Mismatched(loadline.Setting{CPURequest: loadline.Some(1.0 / 3), Replicas: loadline.Some(9)}, false); len(got) != 1 ||
		got[0].Name != "has not" {
		t.Errorf("got %+v", got)
	}
	if got := s.Mismatched(loadline.Setting{}, false); got != nil {
		t.Errorf("got %+v", got)
	}
}
