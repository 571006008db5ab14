package doctor

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

// budget: pods that may be evicted should have a PodDisruptionBudget that allows one eviction.
func (e *exam) budget(ctx context.Context, a about, l *v1alpha1.LoadLine, t *target) {
	if t.template == nil {
		return
	}
	var list policyv1.PodDisruptionBudgetList
	if err := e.Reader.List(ctx, &list, client.InNamespace(l.Namespace)); err != nil {
		e.unseen(a, "disruption-budget", "disruption budgets of the namespace "+l.Namespace, err, "")
		return
	}
	for _, b := range list.Items {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(t.template.Labels)) {
			continue
		}
		if b.Status.ExpectedPods > 0 && b.Status.DisruptionsAllowed == 0 {
			a.warn("disruption-budget", fmt.Sprintf("kubectl -n %s describe pdb %s", l.Namespace, b.Name),
				"The PodDisruptionBudget %s allows no eviction at present, so pods that cannot be resized stay as they are.", b.Name)
			return
		}
		a.ok("disruption-budget", "The PodDisruptionBudget %s holds back evictions.", b.Name)
		return
	}
	a.warn("disruption-budget", fmt.Sprintf("kubectl -n %s create poddisruptionbudget %s --selector=%s --max-unavailable=1",
		l.Namespace, t.name, labels.Set(t.template.Labels)),
		"Its pods may be evicted (resize: InPlaceOrRecreate) and have no PodDisruptionBudget.")
}
