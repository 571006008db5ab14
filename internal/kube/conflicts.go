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

// Conflict is another autoscaler of the same workload.
type Conflict struct {
	Reason  string // of the condition Conflict, such as v1alpha1.ReasonScaledObject
	Message string // names the object and the fix
}

// conflicts of all services.
type conflicts struct {
	of   map[int][]Conflict
	asks map[int]string // the ScaledObject that queries Loadline for a service's replicas
	// alone: it has neither a fallback nor another trigger
	alone map[int]bool
}

func (c *conflicts) add(service int, reason, format string, args ...any) {
	c.of[service] = append(c.of[service], Conflict{Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// conflicts checks everything in the namespace that scales workloads. It returns
// what it can find even if some objects cannot be read.
func (w *Workloads) conflicts(ctx context.Context) (conflicts, error) {
	c := conflicts{of: map[int][]Conflict{}, asks: map[int]string{}, alone: map[int]bool{}}
	scaled, err1 := w.scaledObjects(ctx)
	var hpas autoscalingv2.HorizontalPodAutoscalerList
	err2 := w.list(ctx, &hpas, "HorizontalPodAutoscalers")
	c.scaledObjects(w, scaled, hpas.Items)
	c.autoscalers(w, hpas.Items, scaled)
	vpas, err3 := w.optional(ctx, VerticalPodAutoscalers)
	c.verticals(w, vpas)
	var others v1alpha1.LoadLineList
	err4 := w.list(ctx, &others, "LoadLines")
	var err5 error
	for i := range others.Items {
		full, err := Completed(ctx, w.client, &others.Items[i])
		if err != nil {
			err5 = err
			continue
		}
		others.Items[i] = *full // the list is ours, its elements are the cache's and stay as they are
	}
	c.loadLines(w, others.Items)
	return c, errors.Join(err1, err2, err3, err4, err5)
}

// autoscalers finds every HPA on a managed workload, except those that never change
// anything, and those that KEDA creates for a ScaledObject; these are reported by
// their ScaledObject.
func (c *conflicts) autoscalers(w *Workloads, hpas []autoscalingv2.HorizontalPodAutoscaler, scaled []scaledObject) {
	for i := range hpas {
		h := &hpas[i]
		ref := h.Spec.ScaleTargetRef
		service, ours := w.byWorkload[RefOf(ref.APIVersion, ref.Kind, ref.Name)]
		if ours && !madeBy(h, scaled) && !Inert(h) {
			c.add(service, v1alpha1.ReasonHorizontalPodAutoscaler,
				"HorizontalPodAutoscaler %s also scales %s: delete it, or remove the service from the LoadLine", h.Name,
				w.targets[service])
		}
	}
}

func madeBy(h *autoscalingv2.HorizontalPodAutoscaler, scaled []scaledObject) bool {
	name := ScaledObjectOf(h)
	return slices.ContainsFunc(scaled, func(o scaledObject) bool { return o.name == name })
}

// ScaledObjectOf returns the ScaledObject for which KEDA created an HPA; "" =
// none.
func ScaledObjectOf(hpa metav1.Object) string {
	if owner := metav1.GetControllerOfNoCopy(hpa); owner != nil && owner.Kind == ScaledObjects.Kind {
		return owner.Name
	}
	return hpa.GetLabels()["scaledobject.keda.sh/name"]
}

// hasHPA reports whether KEDA's HPA of a ScaledObject exists.
func hasHPA(o *scaledObject, hpas []autoscalingv2.HorizontalPodAutoscaler) bool {
	return slices.ContainsFunc(hpas, func(h autoscalingv2.HorizontalPodAutoscaler) bool { return ScaledObjectOf(&h) == o.name })
}

// scaledObjects finds conflicting ScaledObjects. One that queries Loadline for
// the replicas of a service with movedBy KEDA is intended, unless it also uses a
// metric that Loadline changes. One that is paused and has no HPA any more changes
// nothing. All others conflict.
func (c *conflicts) scaledObjects(w *Workloads, scaled []scaledObject, hpas []autoscalingv2.HorizontalPodAutoscaler) {
	for i := range scaled {
		o := &scaled[i]
		service, ours := w.byWorkload[o.target]
		if !ours {
			continue
		}
		t := w.targets[service]
		s := t.service
		switch {
		case s.MovedBy != v1alpha1.ByKEDA && o.paused && !hasHPA(o, hpas):
		case s.MovedBy != v1alpha1.ByKEDA:
			c.add(service, v1alpha1.ReasonScaledObject,
				"ScaledObject %s also scales %s: delete it, or set movedBy to KEDA and add Loadline's trigger", o.name, t)
		case !w.asksUs(o, s.Name):
			c.add(service, v1alpha1.ReasonScaledObject, "ScaledObject %s scales %s and has no Loadline trigger for service %s: add it",
				o.name, t, s.Name)
		default:
			c.asks[service], c.alone[service] = o.name, !o.fallback && len(o.triggers) == 1
			for _, on := range []struct {
				resource string
				bounds   *v1alpha1.QuantityBounds
			}{{"cpu", s.Bounds.CPU}, {"memory", s.Bounds.Memory}} {
				if o.has(on.resource) && t.moves(v1alpha1.VerticalRequests, on.bounds) {
					c.add(service, v1alpha1.ReasonCPUTrigger,
						"ScaledObject %s has a %s trigger, which depends on the requests that Loadline changes: remove the trigger, "+
							"or VerticalRequests from axes", o.name, on.resource)
				}
			}
		}
	}
}

// verticals finds every VPA that does more than recommend.
func (c *conflicts) verticals(w *Workloads, vpas []unstructured.Unstructured) {
	for i := range vpas {
		v := vpas[i].Object
		service, ours := w.byWorkload[RefIn(v, "targetRef")]
		if ours && UpdateMode(v) != Off {
			c.add(service, v1alpha1.ReasonVerticalPodAutoscaler,
				"VerticalPodAutoscaler %s also sizes pods of %s: delete it, or set its updateMode to Off", vpas[i].GetName(),
				w.targets[service])
		}
	}
}

// Off is the update mode of a VPA that only recommends.
const Off = "Off"

// UpdateMode returns the mode of a VPA. The default mode acts.
func UpdateMode(vpa map[string]any) string {
	mode, _, _ := unstructured.NestedString(vpa, "spec", "updatePolicy", "updateMode")
	return cmp.Or(mode, "Auto")
}

// loadLines finds another LoadLine that acts on a managed workload and is older,
// or was created in the same second and is first by name. One that only
// recommends does not conflict.
func (c *conflicts) loadLines(w *Workloads, others []v1alpha1.LoadLine) {
	var us *v1alpha1.LoadLine // nil = not in the cluster, and every other is older
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
				c.add(service, v1alpha1.ReasonOtherLoadLine,
					"LoadLine %s also scales %s, and is older: remove the service from one of the two", o.Name, w.targets[service])
			}
		}
	}
}

// Before reports whether the first of two LoadLines controls a workload that both
// reference: the older one does, and of equally old ones the first by name.
func Before(a, b *v1alpha1.LoadLine) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}
