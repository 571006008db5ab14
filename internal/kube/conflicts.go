package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

// Conflict is somebody else who moves the same workload.
type Conflict struct {
	Reason  string // of the condition Conflict, such as v1alpha1.ReasonScaledObject
	Message string // names the object, and the remedy
}

// conflicts of all services.
type conflicts struct {
	of   map[int][]Conflict
	asks map[int]string // the ScaledObject that asks us for a service's replicas
}

func (c *conflicts) add(service int, reason, format string, args ...any) {
	c.of[service] = append(c.of[service], Conflict{Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// conflicts looks at everything in the namespace that moves workloads. What can be
// known is found even if some of it cannot be read.
func (w *Workloads) conflicts(ctx context.Context) (conflicts, error) {
	c := conflicts{of: map[int][]Conflict{}, asks: map[int]string{}}
	scaled, err1 := w.scaledObjects(ctx)
	c.scaledObjects(w, scaled)
	var hpas autoscalingv2.HorizontalPodAutoscalerList
	err2 := w.list(ctx, &hpas, "HorizontalPodAutoscalers")
	c.autoscalers(w, hpas.Items, scaled)
	vpas, err3 := w.optional(ctx, VerticalPodAutoscalers)
	c.verticals(w, vpas)
	var others v1alpha1.LoadLineList
	err4 := w.list(ctx, &others, "LoadLines")
	c.loadLines(w, others.Items)
	return c, errors.Join(err1, err2, err3, err4)
}

// autoscalers: every HPA on a workload of ours, except those that KEDA makes of a
// ScaledObject; for these, the ScaledObject speaks.
func (c *conflicts) autoscalers(w *Workloads, hpas []autoscalingv2.HorizontalPodAutoscaler, scaled []scaledObject) {
	for i := range hpas {
		h := &hpas[i]
		ref := h.Spec.ScaleTargetRef
		service, ours := w.byWorkload[RefOf(ref.APIVersion, ref.Kind, ref.Name)]
		if ours && !madeBy(h, scaled) {
			c.add(service, v1alpha1.ReasonHorizontalPodAutoscaler, "HorizontalPodAutoscaler %s moves %s as well: delete it, or take the service out of the LoadLine", h.Name, w.targets[service])
		}
	}
}

func madeBy(h *autoscalingv2.HorizontalPodAutoscaler, scaled []scaledObject) bool {
	name := ScaledObjectOf(h)
	return slices.ContainsFunc(scaled, func(o scaledObject) bool { return o.name == name })
}

// ScaledObjectOf an HPA is the one that KEDA has made it of; "" = of none.
func ScaledObjectOf(hpa metav1.Object) string {
	if owner := metav1.GetControllerOfNoCopy(hpa); owner != nil && owner.Kind == ScaledObjects.Kind {
		return owner.Name
	}
	return hpa.GetLabels()["scaledobject.keda.sh/name"]
}

// scaledObjects: one that asks us for the replicas of a service that KEDA moves is
// how it should be, unless it also goes by what we move. All others are in the way.
func (c *conflicts) scaledObjects(w *Workloads, scaled []scaledObject) {
	for i := range scaled {
		o := &scaled[i]
		service, ours := w.byWorkload[o.target]
		if !ours {
			continue
		}
		t := w.targets[service]
		s := t.service
		switch {
		case s.MovedBy != v1alpha1.ByKEDA:
			c.add(service, v1alpha1.ReasonScaledObject, "ScaledObject %s moves %s as well: delete it, or set movedBy to KEDA and let it ask Loadline", o.name, t)
		case !w.asksUs(o, s.Name):
			c.add(service, v1alpha1.ReasonScaledObject, "ScaledObject %s moves %s and has no trigger that asks Loadline for service %s: add it", o.name, t, s.Name)
		default:
			c.asks[service] = o.name
			for _, on := range []struct {
				resource string
				bounds   *v1alpha1.QuantityBounds
			}{{"cpu", s.Bounds.CPU}, {"memory", s.Bounds.Memory}} {
				if o.has(on.resource) && t.moves(v1alpha1.VerticalRequests, on.bounds) {
					c.add(service, v1alpha1.ReasonCPUTrigger, "ScaledObject %s has a %s trigger, which goes by the requests that Loadline moves: take the trigger out, or VerticalRequests out of axes", o.name, on.resource)
				}
			}
		}
	}
}

// verticals: every VPA that does more than recommend.
func (c *conflicts) verticals(w *Workloads, vpas []unstructured.Unstructured) {
	for i := range vpas {
		v := vpas[i].Object
		service, ours := w.byWorkload[RefIn(v, "targetRef")]
		if ours && UpdateMode(v) != Off {
			c.add(service, v1alpha1.ReasonVerticalPodAutoscaler, "VerticalPodAutoscaler %s sizes pods of %s as well: delete it, or set its updateMode to Off", vpas[i].GetName(), w.targets[service])
		}
	}
}

// Off is the mode of a VPA that only recommends.
const Off = "Off"

// UpdateMode of a VPA. Without one it acts.
func UpdateMode(vpa map[string]any) string {
	mode, _, _ := unstructured.NestedString(vpa, "spec", "updatePolicy", "updateMode")
	return cmp.Or(mode, "Auto")
}

// loadLines: another one that acts on a workload of ours and is older, or was created
// in the same second and comes first by its name. One that only recommends is in
// nobody's way.
func (c *conflicts) loadLines(w *Workloads, others []v1alpha1.LoadLine) {
	var us *v1alpha1.LoadLine // nil = we are not in the cluster, and anybody is older
	for i := range others {
		if client.ObjectKeyFromObject(&others[i]) == w.owner {
			us = &others[i]
		}
	}
	for i := range others {
		o := &others[i]
		if o == us || o.Spec.Mode != v1alpha1.Act || o.DeletionTimestamp != nil || us != nil && !Before(o, us) {
			continue
		}
		for j := range o.Spec.Services {
			ref := o.Spec.Services[j].TargetRef
			if service, ours := w.byWorkload[RefOf(ref.APIVersion, ref.Kind, ref.Name)]; ours {
				c.add(service, v1alpha1.ReasonOtherLoadLine, "LoadLine %s moves %s as well, and is older: take it out of one of the two", o.Name, w.targets[service])
			}
		}
	}
}

// Before says whether the first of two LoadLines moves a workload that both name: the
// older one does, and of equally old ones the first by name.
func Before(a, b *v1alpha1.LoadLine) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}
