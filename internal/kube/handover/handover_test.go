package handover

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
)

// objects of the namespace: web has an HPA and a VPA, cart an HPA without a behaviour, catalogue a
// ScaledObject; blog is no service of the LoadLine.
const objects = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, annotations: {team: shop}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 9
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 65}}}]
  behavior: {scaleDown: {stabilizationWindowSeconds: 120, policies: [{type: Pods, value: 2, periodSeconds: 60}]}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: cart}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: cart}, maxReplicas: 6}
---
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web}
spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: catalogue, annotations: {autoscaling.keda.sh/paused: "false"}}
spec: {scaleTargetRef: {name: catalogue}, minReplicaCount: 1}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: keda-hpa-catalogue, labels: {scaledobject.keda.sh/name: catalogue}}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: catalogue}, maxReplicas: 6}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: blog}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: blog}, maxReplicas: 3}
`

// world is a cluster in which a controller and KEDA follow at once.
type world struct {
	State
	t *testing.T
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, State: State{LoadLine: &v1alpha1.LoadLine{ObjectMeta: metav1.ObjectMeta{Name: "shop", Generation: 1}}}}
	w.LoadLine.Spec.Mode = v1alpha1.Recommend
	for _, name := range []string{"web", "cart", "catalogue"} {
		w.LoadLine.Spec.Services = append(w.LoadLine.Spec.Services, v1alpha1.Service{Name: name, TargetRef: v1alpha1.TargetRef{Name: name}})
	}
	for _, text := range strings.Split(objects, "---\n") {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		o.Object = whole(o.Object).(map[string]any)
		w.Objects = append(w.Objects, o)
	}
	w.follow()
	return w
}

// follow: KEDA makes and deletes its HPA, and the controller writes its conditions.
func (w *world) follow() {
	isKEDAs := func(o unstructured.Unstructured) bool { return o.GetName() == "keda-hpa-catalogue" }
	scaled := slices.IndexFunc(w.Objects, func(o unstructured.Unstructured) bool { return o.GetKind() == "ScaledObject" })
	there := slices.IndexFunc(w.Objects, isKEDAs)
	switch paused := kube.PausedInKEDA(w.Objects[scaled].GetAnnotations()); {
	case paused:
		w.Objects = slices.DeleteFunc(w.Objects, isKEDAs)
	case there < 0:
		w.Objects = append(w.Objects, newWorld(w.t).find("keda-hpa-catalogue"))
	}
	active := metav1.Condition{Type: v1alpha1.ConditionActive, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRecommending}
	if w.LoadLine.Spec.Mode == v1alpha1.Act {
		active.Reason = v1alpha1.ReasonConflict
		if !slices.ContainsFunc(w.Objects, func(o unstructured.Unstructured) bool { return concerns(w.LoadLine, &o) && acts(&o) }) {
			active.Status, active.Reason = metav1.ConditionTrue, v1alpha1.ReasonActing
		}
	}
	w.LoadLine.Status.Conditions = []metav1.Condition{active,
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Deciding"}}
	w.LoadLine.Status.ObservedGeneration = w.LoadLine.Generation
}

func (w *world) find(name string) unstructured.Unstructured {
	for _, o := range w.Objects {
		if o.GetName() == name {
			return o
		}
	}
	w.t.Fatalf("there is no %s", name)
	return unstructured.Unstructured{}
}

// run makes up to a number of steps, and returns how many were made and whether that was all.
func (w *world) run(d Direction, most int) (steps int, complete bool) {
	w.t.Helper()
	for range most {
		a, err := Next(d, "shop", w.State)
		if err != nil {
			w.t.Fatal(err)
		}
		if a == nil {
			return steps, true
		}
		steps++
		switch {
		case a.Mode != "":
			w.LoadLine.Spec.Mode = a.Mode
			w.LoadLine.Generation++
		case a.Object != nil:
			for i := range w.Objects {
				if o := &w.Objects[i]; o.GetKind() == a.Object.GetKind() && o.GetName() == a.Object.GetName() {
					w.Objects[i] = *a.Object.DeepCopy()
				}
			}
		default:
			w.follow()
		}
		w.alone()
		if !a.Waits() && w.LoadLine.Spec.Mode == v1alpha1.Recommend {
			continue
		}
	}
	return steps, false
}

// alone: the controller never acts on a service while another autoscaler does.
func (w *world) alone() {
	w.t.Helper()
	for _, c := range w.LoadLine.Status.Conditions {
		if c.Type != v1alpha1.ConditionActive || c.Status != metav1.ConditionTrue {
			continue
		}
		for i := range w.Objects {
			if concerns(w.LoadLine, &w.Objects[i]) && acts(&w.Objects[i]) {
				w.t.Errorf("the LoadLine acts, and %s %s does too", w.Objects[i].GetKind(), w.Objects[i].GetName())
			}
		}
	}
}

const enough = 100

// A take-over that is killed after any step is completed by the next one, or taken back, and what is
// given back is exactly what was there: also if the way back is killed.
func TestHandoverKilledAnywhere(t *testing.T) {
	all, complete := newWorld(t).run(TakeOver, enough)
	if !complete || all < 6 {
		t.Fatalf("%d steps, complete: %v", all, complete)
	}
	for killed := range all + 1 {
		w := newWorld(t)
		w.run(TakeOver, killed)
		if _, complete := w.run(TakeOver, enough); !complete {
			t.Fatalf("killed after %d steps, it does not complete", killed)
		}
		for _, name := range []string{"web", "cart"} {
			if o := w.find(name); !kube.InertObject(&o) {
				t.Errorf("killed after %d steps: HPA %s still acts: %v", killed, name, o.Object)
			}
		}
		if o := w.find("blog"); o.GetAnnotations() != nil {
			t.Errorf("blog was changed: %v", o.Object)
		}
	}
	for killed := range all + 1 {
		for again := range all + 1 {
			w := newWorld(t)
			w.run(TakeOver, killed)
			w.run(GiveBack, again)
			if _, complete := w.run(GiveBack, enough); !complete {
				t.Fatalf("killed after %d and %d steps, it is not given back", killed, again)
			}
			if want := newWorld(t); !reflect.DeepEqual(sorted(w.Objects), sorted(want.Objects)) || w.LoadLine.Spec.Mode != v1alpha1.Recommend {
				t.Fatalf("killed after %d and %d steps, given back is\n%v\nwant\n%v", killed, again, w.Objects, want.Objects)
			}
		}
	}
}

func sorted(all []unstructured.Unstructured) []unstructured.Unstructured {
	return slices.SortedFunc(slices.Values(all), func(a, b unstructured.Unstructured) int {
		return strings.Compare(a.GetKind()+a.GetName(), b.GetKind()+b.GetName())
	})
}

// A tool that restores what is in Git changes some fields: they are kept, and the others are not lost.
func TestHandoverAfterGitOps(t *testing.T) {
	w := newWorld(t)
	w.run(TakeOver, enough)
	for i := range w.Objects {
		if o := &w.Objects[i]; o.GetName() == "web" && o.GetKind() == "HorizontalPodAutoscaler" {
			if err := unstructured.SetNestedField(o.Object, int64(12), "spec", "maxReplicas"); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.follow()
	w.run(TakeOver, enough)
	if _, complete := w.run(GiveBack, enough); !complete {
		t.Fatal("not given back")
	}
	got, want := w.find("web"), newWorld(t).find("web")
	if err := unstructured.SetNestedField(want.Object, int64(12), "spec", "maxReplicas"); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant\n%v", got.Object, want.Object)
	}
}

func TestHandoverRefused(t *testing.T) {
	for name, row := range map[string]struct {
		direction Direction
		change    func(w *world)
		want      string
	}{
		"no LoadLine":      {TakeOver, func(w *world) { w.LoadLine = nil }, "there is no LoadLine shop"},
		"a paused one":     {TakeOver, func(w *world) { w.LoadLine.Spec.Paused = true }, "is paused"},
		"one without data": {TakeOver, func(w *world) { w.LoadLine.Status.Conditions = nil }, "not ready to decide"},
		"pinned by KEDA":   {TakeOver, func(w *world) { w.annotate("ScaledObject", kube.KEDAPausedReplicas, "3") }, "pins its replicas"},
		"of another": {TakeOver, func(w *world) { w.annotate("ScaledObject", v1alpha1.TakenOverAnnotation, `{"loadLine":"x"}`) },
			"give it back first"},
		"unreadable":         {GiveBack, func(w *world) { w.annotate("ScaledObject", v1alpha1.TakenOverAnnotation, `{`) }, "restore it by hand"},
		"nothing taken over": {GiveBack, func(w *world) { w.LoadLine = nil }, "nothing to give back"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			row.change(w)
			var err error
			for range enough {
				var a *Action
				if a, err = Next(row.direction, "shop", w.State); err != nil || a == nil {
					break
				}
				if a.Mode != "" {
					w.LoadLine.Spec.Mode = a.Mode
				}
				if a.Object != nil {
					for i := range w.Objects {
						if w.Objects[i].GetKind() == a.Object.GetKind() && w.Objects[i].GetName() == a.Object.GetName() {
							w.Objects[i] = *a.Object
						}
					}
				}
				if w.LoadLine != nil {
					w.follow()
				}
			}
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want %q", err, row.want)
			}
			if name == "nothing taken over" && !errors.Is(err, ErrNothing) {
				t.Error("it is no ErrNothing")
			}
		})
	}
}

func (w *world) annotate(kind, key, value string) {
	for i := range w.Objects {
		if w.Objects[i].GetKind() == kind {
			annotations := w.Objects[i].GetAnnotations()
			annotations[key] = value
			w.Objects[i].SetAnnotations(annotations)
		}
	}
}
