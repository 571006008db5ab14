package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
)

// Constraints returns what the namespace allows the application: its ResourceQuotas less what other
// pods use, its LimitRanges, and replicas for PodDisruptionBudgets and a spread over zones. It belongs to
// the last Look. They are read from the API server: watching them would need permissions that not every
// installation gives. The error is about what could not be read; the rest is valid.
func (w *Workloads) Constraints(ctx context.Context) (loadline.Constraints, error) {
	var quotas corev1.ResourceQuotaList
	var ranges corev1.LimitRangeList
	var budgets policyv1.PodDisruptionBudgetList
	err := errors.Join(w.listLive(ctx, "ResourceQuotas", &quotas), w.listLive(ctx, "LimitRanges", &ranges),
		w.listLive(ctx, "PodDisruptionBudgets", &budgets))
	w.mu.Lock()
	seen := w.seen
	w.mu.Unlock()

	c := loadline.Constraints{Services: make([]loadline.ServiceConstraints, len(seen))}
	var ours [loadline.QuotaResources]float64
	for i := range seen {
		for _, pod := range seen[i].pods {
			size, others := podSizes(&pod.Spec, seen[i].container)
			for r, used := range size.Plus(others).Uses() {
				ours[r] += used
			}
			c.Services[i].Others = others
		}
	}
	c.Quota = quotaOf(quotas.Items, ours)
	for i := range seen {
		s := &c.Services[i]
		s.NeedsCPULimit, s.NeedsMemoryLimit = c.Quota.Hard[loadline.QuotaCPULimits].Set, c.Quota.Hard[loadline.QuotaMemoryLimits].Set
		for k := range ranges.Items {
			for j := range ranges.Items[k].Spec.Limits {
				withinRange(s, &ranges.Items[k].Spec.Limits[j])
			}
		}
		if len(seen[i].pods) > 0 {
			availableBy(s, budgets.Items, seen[i].pods[0].Labels)
		}
		spreadOver(s, seen[i].spread)
	}
	return c, err
}

func (w *Workloads) listLive(ctx context.Context, what string, into client.ObjectList) error {
	if err := w.live.List(ctx, into, client.InNamespace(w.namespace)); err != nil {
		return fmt.Errorf("the %s of the namespace %s are not known: %w", what, w.namespace, err)
	}
	return nil
}

// podSizes are the size of a container, and that of the others that run beside it.
func podSizes(spec *corev1.PodSpec, container string) (size, others loadline.Size) {
	for i := range spec.Containers {
		if c := &spec.Containers[i]; c.Name == container {
			size = sizeOf(c.Resources)
		} else {
			others = others.Plus(sizeOf(c.Resources))
		}
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			others = others.Plus(sizeOf(c.Resources))
		}
	}
	return size, others
}

// quotaNames are the resources of a ResourceQuota by their names there.
var quotaNames = map[corev1.ResourceName]loadline.QuotaResource{
	corev1.ResourcePods: loadline.QuotaPods, "count/pods": loadline.QuotaPods,
	corev1.ResourceCPU: loadline.QuotaCPURequests, corev1.ResourceRequestsCPU: loadline.QuotaCPURequests,
	corev1.ResourceMemory: loadline.QuotaMemoryRequests, corev1.ResourceRequestsMemory: loadline.QuotaMemoryRequests,
	corev1.ResourceLimitsCPU: loadline.QuotaCPULimits, corev1.ResourceLimitsMemory: loadline.QuotaMemoryLimits,
}

// quotaOf is what the quotas leave an application that uses ours: the least of them.
func quotaOf(quotas []corev1.ResourceQuota, ours [loadline.QuotaResources]float64) loadline.Quota {
	var q loadline.Quota
	var names []string
	for i := range quotas {
		if !ofServices(&quotas[i]) {
			continue
		}
		limits := false
		for name, hard := range quotas[i].Spec.Hard {
			r, known := quotaNames[name]
			if !known {
				continue
			}
			left := hard.AsApproximateFloat64() // without a status no use is known
			if used, known := quotas[i].Status.Used[name]; known {
				left -= max(used.AsApproximateFloat64()-ours[r], 0)
			}
			if left = max(left, 0); !q.Hard[r].Set || left < q.Hard[r].Value {
				q.Hard[r] = loadline.Some(left)
			}
			limits = true
		}
		if limits {
			names = append(names, quotas[i].Name)
		}
	}
	q.Name = strings.Join(names, " and ")
	return q
}

// ofServices reports whether a quota counts the pods of services, which run forever and have requests.
// Of those for a priority class it is not known.
func ofServices(q *corev1.ResourceQuota) bool {
	for _, scope := range q.Spec.Scopes {
		if scope != corev1.ResourceQuotaScopeNotTerminating && scope != corev1.ResourceQuotaScopeNotBestEffort {
			return false
		}
	}
	if q.Spec.ScopeSelector == nil {
		return true
	}
	for _, m := range q.Spec.ScopeSelector.MatchExpressions {
		if m.ScopeName != corev1.ResourceQuotaScopeNotTerminating && m.ScopeName != corev1.ResourceQuotaScopeNotBestEffort {
			return false
		}
	}
	return true
}

// withinRange narrows the bounds of a service's container to an item of a LimitRange. Of an item for whole
// pods the other containers have their part.
func withinRange(s *loadline.ServiceConstraints, item *corev1.LimitRangeItem) {
	var others loadline.Size
	switch item.Type {
	case corev1.LimitTypePod:
		others = s.Others
	case corev1.LimitTypeContainer:
	default:
		return
	}
	b := &s.Bounds
	if q, given := item.Min[corev1.ResourceCPU]; given {
		b.MinCPU = max(b.MinCPU, q.AsApproximateFloat64()-others.CPURequest)
	}
	if q, given := item.Min[corev1.ResourceMemory]; given {
		b.MinMemory = max(b.MinMemory, q.Value()-others.MemoryRequest)
	}
	if q, given := item.Max[corev1.ResourceCPU]; given {
		b.MaxCPU = lower(b.MaxCPU, max(q.AsApproximateFloat64()-others.CPULimit, 0.001))
		s.NeedsCPULimit = true
	}
	if q, given := item.Max[corev1.ResourceMemory]; given {
		b.MaxMemory = lower(b.MaxMemory, max(q.Value()-others.MemoryLimit, 1))
		s.NeedsMemoryLimit = true
	}
	if q, given := item.MaxLimitRequestRatio[corev1.ResourceCPU]; given {
		s.CPURatio = lower(s.CPURatio, q.AsApproximateFloat64())
		s.NeedsCPULimit = true
	}
	if q, given := item.MaxLimitRequestRatio[corev1.ResourceMemory]; given {
		s.MemoryRatio = lower(s.MemoryRatio, q.AsApproximateFloat64())
		s.NeedsMemoryLimit = true
	}
	// A container without a limit would get the default one when it is created.
	_, cpu := item.Default[corev1.ResourceCPU]
	_, memory := item.Default[corev1.ResourceMemory]
	s.NeedsCPULimit, s.NeedsMemoryLimit = s.NeedsCPULimit || cpu, s.NeedsMemoryLimit || memory
}

// lower of two upper bounds, of which 0 is none.
func lower[T int64 | float64](a, b T) T {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// least replicas of a service, with the reason.
func least(s *loadline.ServiceConstraints, replicas int, why string) {
	if replicas > s.Bounds.MinReplicas {
		s.Bounds.MinReplicas, s.Why = replicas, why
	}
}

// availableBy: a budget that asks for available pods needs one more, or none can ever be evicted.
func availableBy(s *loadline.ServiceConstraints, budgets []policyv1.PodDisruptionBudget, pod map[string]string) {
	for i := range budgets {
		b := &budgets[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(pod)) {
			continue
		}
		why := "PodDisruptionBudget " + b.Name
		switch m, u := b.Spec.MinAvailable, b.Spec.MaxUnavailable; {
		case m != nil && m.Type == intstr.Int && m.IntVal >= 1:
			least(s, int(m.IntVal)+1, why)
		case m != nil && m.Type == intstr.String && m.StrVal != "0%", u != nil && (u.String() == "0" || u.String() == "0%"):
			least(s, 2, why)
		}
	}
}

// spreadOver: a service that is spread over zones is to survive the loss of one.
func spreadOver(s *loadline.ServiceConstraints, spread []corev1.TopologySpreadConstraint) {
	for i := range spread {
		if key := spread[i].TopologyKey; key == corev1.LabelTopologyZone || key == corev1.LabelFailureDomainBetaZone {
			least(s, 2, "it is spread over zones")
		}
	}
}
