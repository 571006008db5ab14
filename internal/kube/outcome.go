package kube

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline/api/v1alpha1"
)

// Result is the result of one pod's resize.
type Result string

// Results, from good to bad.
const (
	Done       Result = "done"        // the size is in force
	InProgress Result = "in progress" // accepted; in progress on the node
	Waiting    Result = "waiting"     // not requested yet: one pod at a time
	Deferred   Result = "deferred"    // the node has no room now and retries by itself
	Infeasible Result = "infeasible"  // the node can never hold it
	Refused    Result = "refused"     // such a pod cannot be resized this way
	Evicted    Result = "evicted"     // it could not be resized, and is replaced
	Gone       Result = "gone"        // the pod ended meanwhile
)

// Outcome is the outcome of one pod's resize.
type Outcome struct {
	Pod    string
	UID    types.UID
	Result Result
	Why    string // a sentence; "" if there is nothing to say

	// recreate reports whether a new pod in its place could have the size.
	recreate bool
}

// resizeFault returns why a pod cannot be resized at all.
func resizeFault(pod *corev1.Pod, t target) (Outcome, bool) {
	o := Outcome{Pod: pod.Name, UID: pod.UID}
	if pod.DeletionTimestamp != nil {
		return o, false
	}
	switch requests := slices.Contains(t.service.Axes, v1alpha1.VerticalRequests); QoSClass(pod) {
	case corev1.PodQOSBestEffort:
		o.Result, o.Why = Refused, bestEffort
		return o, true
	case corev1.PodQOSGuaranteed:
		if requests != slices.Contains(t.service.Axes, v1alpha1.VerticalLimits) {
			o.Result, o.Why = Refused, "a pod of QoS class Guaranteed must keep requests and limits alike: give the service both "+
				"VerticalRequests and VerticalLimits"
			return o, true
		}
	}
	o.pending(pod)
	return o, o.Result != ""
}

// pending reads the node's state of a resize in progress.
func (o *Outcome) pending(pod *corev1.Pod) {
	if c := condition(pod, corev1.PodResizePending); c != nil && c.Status == corev1.ConditionTrue {
		o.Result, o.Why = Deferred, fmt.Sprintf("node %s has no room for it now: %s", pod.Spec.NodeName, c.Message)
		if c.Reason == corev1.PodReasonInfeasible {
			o.Result, o.Why, o.recreate = Infeasible, fmt.Sprintf("node %s can never hold it: %s", pod.Spec.NodeName, c.Message), true
		}
		return
	}
	if c := condition(pod, corev1.PodResizeInProgress); c != nil && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonError {
		o.Result, o.Why = InProgress, fmt.Sprintf("node %s makes no progress with it: %s", pod.Spec.NodeName, c.Message)
	}
}
