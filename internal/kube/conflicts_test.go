package kube

import (
	"math"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

func hpa(name, target string, owners ...metav1.OwnerReference) client.Object {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: owners},
		Spec:       autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: target}},
	}
}

// inertHPA is one that was taken over; a minimum of two would still raise a single replica.
func inertHPA(least int32) client.Object {
	h := hpa("them", "web").(*autoscalingv2.HorizontalPodAutoscaler)
	disabled := autoscalingv2.DisabledPolicySelect
	rules := &autoscalingv2.HPAScalingRules{SelectPolicy: &disabled}
	h.Spec.MinReplicas, h.Spec.MaxReplicas = &least, math.MaxInt32
	h.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: rules, ScaleDown: rules}
	stripped, err := Strip(h)
	if err != nil {
		panic(err)
	}
	return stripped.(client.Object)
}

// paused is a ScaledObject that KEDA does not follow.
func paused(annotation, value string) client.Object {
	o := scaledObjectOf(onCPU())
	o.SetAnnotations(map[string]string{annotation: value})
	return o
}

func vpa(mode string) client.Object {
	o := map[string]any{
		"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": map[string]any{"namespace": namespace,
			"name": "vpa"},
		"spec": map[string]any{"targetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
	}
	if mode != "" {
		o["spec"].(map[string]any)["updatePolicy"] = map[string]any{"updateMode": mode}
	}
	return &unstructured.Unstructured{Object: o}
}

// scaledObjectOf web, as KEDA's users write it: without apiVersion and kind.
func scaledObjectOf(triggers ...any) client.Object {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": map[string]any{"namespace": namespace, "name": "so"},
		"spec": map[string]any{"scaleTargetRef": map[string]any{"name": "web"}, "triggers": triggers},
	}}
}

func external(metadata map[string]any) any {
	if metadata["scalerAddress"] == nil {
		metadata["scalerAddress"] = "loadline-keda.loadline-system.svc:9092"
	}
	return map[string]any{"type": "external", "metadata": metadata}
}

func onCPU() any {
	return map[string]any{"type": "cpu", "metricType": "Utilization", "metadata": map[string]any{"value": "60"}}
}

func loadLine(name string, minute int, mode v1alpha1.Mode, targets ...string) client.Object {
	l := &v1alpha1.LoadLine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(minute) * time.Minute))},
		Spec: v1alpha1.LoadLineSpec{Mode: mode},
	}
	for _, t := range targets {
		l.Spec.Services = append(l.Spec.Services, v1alpha1.Service{Name: t, TargetRef: v1alpha1.TargetRef{Name: t}})
	}
	return l
}

func TestConflicts(t *testing.T) {
	us := loadLine("main", 10, v1alpha1.Act, "web")
	ofKEDA := ownedBy("keda.sh/v1alpha1", "ScaledObject", "so", "so")
	for _, row := range []struct {
		name    string
		keda    bool // moved by KEDA
		objects []client.Object
		reasons string // with spaces between them
		asks    string
	}{
		{name: "no other autoscaler"},
		{name: "an HPA on it", objects: []client.Object{hpa("them", "web")}, reasons: v1alpha1.ReasonHorizontalPodAutoscaler},
		{name: "an HPA on something else", objects: []client.Object{hpa("them", "other")}},
		{name: "an HPA that was taken over", objects: []client.Object{inertHPA(1)}},
		{name: "one that still has a minimum", objects: []client.Object{inertHPA(2)}, reasons: v1alpha1.ReasonHorizontalPodAutoscaler},
		{name: "a paused ScaledObject", objects: []client.Object{paused(KEDAPaused, "true")}},
		{name: "one whose HPA is still there", objects: []client.Object{paused(KEDAPaused, "true"), hpa("keda-hpa-so", "web", ofKEDA)},
			reasons: v1alpha1.ReasonScaledObject},
		{name: "one that is not paused", objects: []client.Object{paused(KEDAPaused, "false")}, reasons: v1alpha1.ReasonScaledObject},
		{name: "one that pins replicas", objects: []client.Object{paused(KEDAPausedReplicas, "3")}, reasons: v1alpha1.ReasonScaledObject},
		{name: "a VPA", objects: []client.Object{vpa("")}, reasons: v1alpha1.ReasonVerticalPodAutoscaler},
		{name: "a VPA that only starts pods", objects: []client.Object{vpa("Initial")}, reasons: v1alpha1.ReasonVerticalPodAutoscaler},
		{name: "a VPA that only recommends", objects: []client.Object{vpa("Off")}},

		{name: "KEDA asks us", keda: true, objects: []client.Object{scaledObjectOf(external(map[string]any{}))}, asks: "so"},
		{name: "and its HPA is there", keda: true, objects: []client.Object{scaledObjectOf(external(map[string]any{})),
			hpa("keda-hpa-so", "web", ofKEDA)}, asks: "so"},
		{name: "and an HPA of a person", keda: true, objects: []client.Object{scaledObjectOf(external(map[string]any{})),
			hpa("them", "web")}, reasons: v1alpha1.ReasonHorizontalPodAutoscaler, asks: "so"},
		{name: "KEDA asks us by name, elsewhere", keda: true,
			objects: []client.Object{scaledObjectOf(external(map[string]any{"scalerAddress": "proxy:1", "loadline": "shop/main",
				"service": "web"}))}, asks: "so"},
		{name: "KEDA asks for another service", keda: true,
			objects: []client.Object{scaledObjectOf(external(map[string]any{"service": "cart"}))}, reasons: v1alpha1.ReasonScaledObject},
		{name: "KEDA asks for another LoadLine", keda: true,
			objects: []client.Object{scaledObjectOf(external(map[string]any{"loadline": "other"}))}, reasons: v1alpha1.ReasonScaledObject},
		{name: "KEDA asks another scaler", keda: true,
			objects: []client.Object{scaledObjectOf(external(map[string]any{"scalerAddress": "loadline-keda.loadline-systemic:9092"}))},
			reasons: v1alpha1.ReasonScaledObject},
		{name: "KEDA does not ask us, and has its HPA", keda: true, objects: []client.Object{scaledObjectOf(onCPU()),
			hpa("keda-hpa-so", "web", ofKEDA)}, reasons: v1alpha1.ReasonScaledObject},
		{name: "KEDA asks us, where we move it ourselves", objects: []client.Object{scaledObjectOf(external(map[string]any{}))},
			reasons: v1alpha1.ReasonScaledObject},
		{name: "a CPU trigger beside ours", keda: true, objects: []client.Object{scaledObjectOf(external(map[string]any{}), onCPU())},
			reasons: v1alpha1.ReasonCPUTrigger, asks: "so"},
		{name: "an HPA of a ScaledObject that is gone", keda: true, objects: []client.Object{hpa("keda-hpa-so", "web", ofKEDA)},
			reasons: v1alpha1.ReasonHorizontalPodAutoscaler},

		{name: "an older LoadLine", objects: []client.Object{us, loadLine("z", 9, v1alpha1.Act, "web")},
			reasons: v1alpha1.ReasonOtherLoadLine},
		{name: "a newer LoadLine", objects: []client.Object{us, loadLine("a", 11, v1alpha1.Act, "web")}},
		{name: "one as old with an earlier name", objects: []client.Object{us, loadLine("a", 10, v1alpha1.Act, "web")},
			reasons: v1alpha1.ReasonOtherLoadLine},
		{name: "one as old with a later name", objects: []client.Object{us, loadLine("z", 10, v1alpha1.Act, "web")}},
		{name: "an older one that only recommends", objects: []client.Object{us, loadLine("z", 9, v1alpha1.Recommend, "web")}},
		{name: "an older one of something else", objects: []client.Object{us, loadLine("z", 9, v1alpha1.Act, "other")}},
		{name: "we are not in the cluster, and it is", objects: []client.Object{loadLine("z", 99, v1alpha1.Act, "web")},
			reasons: v1alpha1.ReasonOtherLoadLine},
		{name: "several", objects: []client.Object{hpa("them", "web"), vpa("Recreate")},
			reasons: v1alpha1.ReasonHorizontalPodAutoscaler + " " + v1alpha1.ReasonVerticalPodAutoscaler},
	} {
		t.Run(row.name, func(t *testing.T) {
			web := service("web")
			if row.keda {
				web.MovedBy = v1alpha1.ByKEDA
			}
			s := newServer(t, append(row.objects, deployment("web", 1))...)
			state := s.look(t, s.workloads(web))[0]
			var reasons []string
			for _, c := range state.Conflicts {
				reasons = append(reasons, c.Reason)
				if c.Message == "" {
					t.Error("a conflict without a message")
				}
			}
			if got := strings.Join(reasons, " "); state.Err != nil || got != row.reasons || state.ScaledObject != row.asks {
				t.Errorf("got %q, asked by %q, %v", got, state.ScaledObject, state.Err)
			}
		})
	}
}

func TestCPUTriggerIsNoMatterWithoutMovesOfRequests(t *testing.T) {
	web := service("web")
	web.MovedBy, web.Axes = v1alpha1.ByKEDA, []v1alpha1.Axis{v1alpha1.Horizontal}
	s := newServer(t, deployment("web", 1), scaledObjectOf(external(map[string]any{}), onCPU()))
	if got := s.look(t, s.workloads(web))[0].Conflicts; got != nil {
		t.Errorf("got %+v", got)
	}
}

func TestServicesThatAreNotOursHaveNoConflicts(t *testing.T) {
	s := newServer(t, deployment("web", 1), hpa("them", "web"))
	w := s.workloads(nil)
	w.targets[0].name = "web"
	if got := s.look(t, w)[0]; got.Err != nil || got.Conflicts != nil {
		t.Errorf("got %+v", got)
	}
}

func TestScaledObjectAlone(t *testing.T) {
	withFallback := scaledObjectOf(external(map[string]any{}))
	withFallback.(*unstructured.Unstructured).Object["spec"].(map[string]any)["fallback"] = map[string]any{"replicas": int64(6)}
	for _, row := range []struct {
		name   string
		object client.Object
		want   bool
	}{
		{"one trigger and no fallback", scaledObjectOf(external(map[string]any{})), true},
		{"another trigger", scaledObjectOf(external(map[string]any{}), map[string]any{"type": "cron"}), false},
		{"a fallback", withFallback, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newServer(t, deployment("web", 1), row.object)
			web := service("web")
			web.MovedBy = v1alpha1.ByKEDA
			if got := s.look(t, s.workloads(web))[0]; got.ScaledObject != "so" || got.ScaledObjectAlone != row.want {
				t.Errorf("got %q, alone %v", got.ScaledObject, got.ScaledObjectAlone)
			}
		})
	}
}
