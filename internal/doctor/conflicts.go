package doctor

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
)

var hpaKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}

// conflicts are other controllers of the same workload. They are faults if Loadline acts;
// before that they have to be removed first.
func (e *exam) conflicts(ctx context.Context, a about, l *v1alpha1.LoadLine, s *v1alpha1.Service, t *target) {
	state := Note
	if l.Spec.Mode == v1alpha1.Act {
		state = Fault
	}
	before := len(e.report.Findings)
	for _, o := range e.aimedAt(ctx, a, l.Namespace, "horizontalpodautoscalers", hpaKind, t, "scaleTargetRef") {
		if kube.ScaledObjectOf(&o) == "" && !kube.InertObject(&o) { // otherwise it is reported for the ScaledObject
			a.when(state, "conflict", fmt.Sprintf("kubectl -n %s delete hpa %s, before or when the mode becomes Act", l.Namespace,
				o.GetName()),
				"HorizontalPodAutoscaler %s moves the replicas of %s.", o.GetName(), t)
		}
	}
	for _, o := range e.aimedAt(ctx, a, l.Namespace, "verticalpodautoscalers", kube.VerticalPodAutoscalers, t, "targetRef") {
		if mode := kube.UpdateMode(o.Object); mode != kube.Off {
			a.when(state, "conflict", fmt.Sprintf(`kubectl -n %s patch vpa %s --type merge -p `+
				`'{"spec":{"updatePolicy":{"updateMode":"Off"}}}'`, l.Namespace, o.GetName()),
				"VerticalPodAutoscaler %s moves the size of %s (updateMode %s).", o.GetName(), t, mode)
		}
	}
	if s.MovedBy != v1alpha1.ByKEDA {
		for _, o := range e.aimedAt(ctx, a, l.Namespace, "scaledobjects", kube.ScaledObjects, t, "scaleTargetRef") {
			if kube.PausedInKEDA(o.GetAnnotations()) {
				continue
			}
			a.when(state, "conflict", fmt.Sprintf("set movedBy: KEDA and add Loadline's trigger (docs/keda.md), or kubectl -n %s "+
				"delete scaledobject %s", l.Namespace, o.GetName()),
				"ScaledObject %s moves the replicas of %s, and movedBy is Scale.", o.GetName(), t)
		}
	}
	e.otherLoadLines(ctx, a, state, l, t)
	if len(e.report.Findings) == before {
		a.ok("conflict", "No other controller scales %s.", t)
	}
}

// aimedAt are the objects of a kind whose reference (a field of the spec) is the
// target.
func (e *exam) aimedAt(ctx context.Context, a about, namespace, resource string, kind schema.GroupVersionKind, t *target,
	reference string) []unstructured.Unstructured {
	list, err := e.all(ctx, namespace, resource, kind)
	if err != nil {
		e.unseen(a, "conflict", resource+" of the namespace "+namespace, err, "")
		return nil
	}
	var found []unstructured.Unstructured
	for _, o := range list {
		if kube.RefIn(o.Object, reference) == t.ref() {
			found = append(found, o)
		}
	}
	return found
}

// otherLoadLines that act on the same workload. One that only recommends is no conflict.
func (e *exam) otherLoadLines(ctx context.Context, a about, state State, l *v1alpha1.LoadLine, t *target) {
	list, err := e.neighbours(ctx, l.Namespace)
	if err != nil {
		e.unseen(a, "conflict", "LoadLines of the namespace "+l.Namespace, err, "")
		return
	}
	for i := range list {
		other := &list[i]
		if other.Name == l.Name || other.Spec.Mode != v1alpha1.Act || other.DeletionTimestamp != nil {
			continue
		}
		for j := range other.Spec.Services {
			ref := other.Spec.Services[j].TargetRef
			if kube.RefOf(ref.APIVersion, ref.Kind, ref.Name) != t.ref() {
				continue
			}
			wins := other.Name
			if kube.Before(l, other) {
				wins = l.Name
			}
			a.when(state, "conflict", "take the service out of one of the two",
				"LoadLine %s acts on %s too; %s, the older one, scales it.", other.Name, t, wins)
		}
	}
}
