package kube

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline/api/v1alpha1"
)

// Result is what became of one pod's resize.
type Result string

// Results, from good to bad.
const (
	Done       Result = "done"        // the size is in force
	InProgress Result = "in progress" // accepted; the node is at it
	Waiting    Result = "waiting"     // not asked for yet: one after the other
	Deferred   Result = "deferred"    // the node has no room now and tries again by itself
	Infeasible Result = "infeasible"  // the node could never hold it
	Refused    Result = "refused"     // a pod like this cannot be resized so
	Evicted    Result = "evicted"     // it could not be resized, and is replaced
	Gone       Result = "gone"        // the pod ended meanwhile
)

// Outcome is what became of one pod.
type Outcome struct {
	Pod    string
	UID    types.UID
	Result Result
	Why    string // a sentence; "" if there is nothing to say

	// recreate says that a new pod in its place could have the size.
	recreate bool
}

// resizeFault says what keeps a pod from having another size, whatever that is.
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
			o.Result, o.Why = Refused, "a pod of QoS class Guaranteed must keep requests and limits alike: give the service both VerticalRequests and VerticalLimits"
			return o, true
		}
	}
	o.pending(pod)
	return o, o.Result != ""
}

// pending reads what the node says of a resize that it has not carried out.
func (o *Outcome) pending(pod *corev1.Pod) {
	if c := condition(pod, corev1.PodResizePending); c != nil && c.Status == corev1.ConditionTrue {
		o.Result, o.Why = Deferred, fmt.Sprintf("node %s has no room for it now: %s", pod.Spec.NodeName, c.Message)
		if c.Reason == corev1.PodReasonInfeasible {
			o.Result, o.Why, o.recreate = Infeasible, fmt.Sprintf("node %s could never hold it: %s", pod.Spec.NodeName, c.Message), true
		}
		return
	}
	if c := condition(pod, corev1.PodResizeInProgress); c != nil && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonError {
		o.Result, o.Why = InProgress, fmt.Sprintf("node %s does not get on with it: %s", pod.Spec.NodeName, c.Message)
	}
}
