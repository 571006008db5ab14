package controller

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
)

// complete is a LoadLine with the services that its selector finds. Everything in this process has the
// whole list: passes, pauses, the status.
func (c *Controller) complete(ctx context.Context, l *v1alpha1.LoadLine) (*v1alpha1.LoadLine, error) {
	return kube.Completed(ctx, c.Client, l)
}

// sameServices reports whether a selector finds what it found before.
func sameServices(a, b *v1alpha1.LoadLine) bool {
	return a.Spec.Selector == nil && b.Spec.Selector == nil || reflect.DeepEqual(a.Spec.Services, b.Spec.Services)
}

// labelled are changes of workloads by which a selector may find others.
var labelled = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return true },
	DeleteFunc:  func(event.DeleteEvent) bool { return true },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
			e.ObjectOld.GetAnnotations()[v1alpha1.ServiceAnnotation] != e.ObjectNew.GetAnnotations()[v1alpha1.ServiceAnnotation] ||
			(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
	},
}

// selecting are the LoadLines with a selector that this process runs in the namespace of a workload.
func (c *Controller) selecting(_ context.Context, workload client.Object) []reconcile.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	var wake []reconcile.Request
	for name, r := range c.runs {
		if name.Namespace == workload.GetNamespace() && r.latest.Load().Spec.Selector != nil {
			wake = append(wake, reconcile.Request{NamespacedName: name})
		}
	}
	return wake
}

// selectedVerdict says what the selector of a LoadLine finds; without a reason if it has none.
func (v *view) selectedVerdict(l *v1alpha1.LoadLine) verdict {
	if l.Spec.Selector == nil {
		return verdict{}
	}
	if left := v.app.LeftOut; len(left) > 0 {
		return no(v1alpha1.ReasonNotInTwin, fmt.Sprintf("the selector finds %s, and the twin does not have it: it is not scaled until a twin "+
			"of a later history has it", strings.Join(left, ", ")))
	}
	found := 0
	for i := range l.Spec.Services {
		if l.Spec.Services[i].Selected {
			found++
		}
	}
	return yes(v1alpha1.ReasonFound, fmt.Sprintf("%d services", found))
}
