package kube

import (
	"context"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
)

// Pod is one pod of a service.
type Pod struct {
	Name string
	UID  types.UID
	// PodObservation has what the cluster's API reports; Size is the size in force,
	// and CPU, Memory and Busy come from the metrics.
	loadline.PodObservation
	// Desired is the size in the pod's spec. It differs from Size while a resize is in
	// progress.
	Desired loadline.Size
}

// pods returns the pods of all services: one list, one pass over it. Pods that
// have ended, and those that only match the labels of a workload, are excluded.
func (w *Workloads) pods(ctx context.Context, loads []workload) ([][]*corev1.Pod, error) {
	var list corev1.PodList
	if err := w.client.List(ctx, &list, client.InNamespace(w.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list pods of %s: %w", w.namespace, err)
	}
	owners, err := w.owners(ctx)
	if err != nil {
		return nil, err
	}
	index := newIndex(loads)
	of := make([][]*corev1.Pod, len(loads))
	for i := range list.Items {
		pod := &list.Items[i]
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		owner := controller(pod)
		through := owners[owner]
		index.each(pod.Labels, func(service int) {
			l := &loads[service]
			if l.selects || owner == l.uid || through == l.uid {
				of[service] = append(of[service], pod)
			}
		})
	}
	return of, nil
}

func controller(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return ""
}

// index finds the services whose selectors match some labels without trying all
// of them: nearly every selector requires one value of some label, and is indexed
// by it.
type index struct {
	selectors []labels.Selector
	byLabel   map[[2]string][]int
	rest      []int
}

func newIndex(loads []workload) index {
	x := index{byLabel: map[[2]string][]int{}}
	for i := range loads {
		s := loads[i].selector
		x.selectors = append(x.selectors, s)
		if s == nil {
			continue // not found: it has no pods
		}
		if under, ok := exact(s); ok {
			x.byLabel[under] = append(x.byLabel[under], i)
		} else {
			x.rest = append(x.rest, i)
		}
	}
	return x
}

func exact(s labels.Selector) ([2]string, bool) {
	requirements, selectable := s.Requirements()
	for _, r := range requirements {
		if op := r.Operator(); selectable && (op == selection.Equals || op == selection.DoubleEquals || op == selection.In) &&
			r.Values().Len() == 1 {
			return [2]string{r.Key(), r.Values().List()[0]}, true
		}
	}
	return [2]string{}, false
}

func (x index) each(set map[string]string, do func(service int)) {
	try := func(services []int) {
		for _, i := range services {
			if x.selectors[i].Matches(labels.Set(set)) {
				do(i)
			}
		}
	}
	for key, value := range set {
		try(x.byLabel[[2]string{key, value}])
	}
	try(x.rest)
}

// observe returns what the API reports of a pod.
func (w *Workloads) observe(pod *corev1.Pod, container string) Pod {
	p := Pod{Name: pod.Name, UID: pod.UID, Desired: specSize(pod, container)}
	p.ID = podID(pod.UID)
	p.Created = pod.CreationTimestamp.Time
	p.Size = sizeInForce(pod, container)
	p.Node = -1
	if i, known := w.nodes[pod.Spec.NodeName]; known {
		p.Node = i
	}
	ready := condition(pod, corev1.PodReady)
	switch {
	case pod.DeletionTimestamp != nil:
		p.Phase = loadline.PodDraining
	case ready != nil && ready.Status == corev1.ConditionTrue:
		p.Phase = loadline.PodReady
	case pod.Spec.NodeName == "":
		p.Phase = loadline.PodPending
	default:
		p.Phase = loadline.PodStarting
	}
	if ready != nil && ready.Status == corev1.ConditionTrue {
		p.Ready = ready.LastTransitionTime.Time
	}
	return p
}

// podID is a number that stays the same for the lifetime of a pod, in every
// process.
func podID(uid types.UID) int64 {
	h := fnv.New64a()
	h.Write([]byte(uid))
	return int64(h.Sum64() >> 1)
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
