package kube

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// patience is how long a resize may be deferred before the pod is replaced by a
// new one, perhaps on another node.
const patience = 5 * time.Minute

// evictOne replaces at most one pod that cannot be resized where a new one could have
// the size. Eviction respects disruption budgets. It is done only
//
//   - while every other pod is ready, and there is another: the last one that serves
//     is never taken;
//   - if the pods that came since we last did it got the size: else a new pod is no
//     better than an old one, as in a cluster without deploy/admission, and one would
//     be evicted after the other for ever.
func (w *Workloads) evictOne(ctx context.Context, service int, pods []*corev1.Pod, outcomes []Outcome) error {
	for i := range outcomes {
		o := &outcomes[i]
		pod := podOf(pods, o)
		if !o.recreate && !w.deferredForLong(pod, o) {
			continue
		}
		if why := w.keep(service, pod, pods, outcomes); why != "" {
			o.Why += "; it is not evicted: " + why
			return nil
		}
		return w.evict(ctx, service, pod, o)
	}
	return nil
}

func podOf(pods []*corev1.Pod, o *Outcome) *corev1.Pod {
	for _, pod := range pods {
		if pod.UID == o.UID {
			return pod
		}
	}
	return nil
}

func (w *Workloads) deferredForLong(pod *corev1.Pod, o *Outcome) bool {
	c := condition(pod, corev1.PodResizePending)
	return o.Result == Deferred && c != nil && w.now().Sub(c.LastTransitionTime.Time) > patience
}

// keep returns why a pod is not evicted, or "".
func (w *Workloads) keep(service int, victim *corev1.Pod, pods []*corev1.Pod, outcomes []Outcome) string {
	w.mu.Lock()
	evicted := w.memory[service].evicted.Truncate(time.Second) // Kubernetes times have whole seconds
	w.mu.Unlock()
	for i := range outcomes {
		o := &outcomes[i]
		if pod := podOf(pods, o); !evicted.IsZero() && !pod.CreationTimestamp.Time.Before(evicted) && o.Result != Done &&
			o.Result != InProgress {
			return fmt.Sprintf("pod %s, created after the last eviction, does not have the size either: is deploy/admission installed?",
				pod.Name)
		}
	}
	for _, pod := range pods {
		if c := condition(pod, corev1.PodReady); pod != victim && (pod.DeletionTimestamp != nil || c == nil ||
			c.Status != corev1.ConditionTrue) {
			return fmt.Sprintf("pod %s is not ready", pod.Name)
		}
	}
	if len(pods) == 1 {
		return "it is the only one"
	}
	return ""
}

func (w *Workloads) evict(ctx context.Context, service int, pod *corev1.Pod, o *Outcome) error {
	at := w.now()
	err := w.client.SubResource("eviction").Create(ctx,
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}},
		&policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}},
		})
	switch {
	case err == nil:
		o.Result = Evicted
		w.mu.Lock()
		w.memory[service].evicted = at
		w.mu.Unlock()
	case apierrors.IsTooManyRequests(err):
		o.Why += "; its disruption budget does not allow to evict it now"
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		o.Result, o.Why = Gone, "the pod ended meanwhile"
	case apierrors.IsForbidden(err):
		return fmt.Errorf("evict pod %s: %w: apply deploy/rbac/optional-recreate.yaml: %w", pod.Name, ErrForbidden, err)
	default:
		return fmt.Errorf("evict pod %s: %w", pod.Name, err)
	}
	return nil
}
