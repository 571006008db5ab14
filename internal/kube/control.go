package kube

import (
	"math"
	"strconv"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Annotations of KEDA by which a ScaledObject stops to scale. The second also pins the replicas.
const (
	KEDAPaused         = "autoscaling.keda.sh/paused"
	KEDAPausedReplicas = "autoscaling.keda.sh/paused-replicas"
)

// PausedInKEDA reports whether KEDA leaves the replicas of a ScaledObject as they are. It then deletes
// the HPA that it made; until that is gone, the HPA still scales.
func PausedInKEDA(annotations map[string]string) bool {
	if _, pinned := annotations[KEDAPausedReplicas]; pinned {
		return false
	}
	text, has := annotations[KEDAPaused]
	paused, err := strconv.ParseBool(text)
	return has && (paused || err != nil) // KEDA takes what is no boolean for true
}

// Inert reports whether an HPA never changes replicas: both directions are disabled, and no number
// of replicas is outside its bounds.
func Inert(h *autoscalingv2.HorizontalPodAutoscaler) bool {
	b := h.Spec.Behavior
	if b == nil || h.Spec.MinReplicas != nil && *h.Spec.MinReplicas > 1 || h.Spec.MaxReplicas < math.MaxInt32 {
		return false
	}
	for _, rules := range []*autoscalingv2.HPAScalingRules{b.ScaleUp, b.ScaleDown} {
		if rules == nil || rules.SelectPolicy == nil || *rules.SelectPolicy != autoscalingv2.DisabledPolicySelect {
			return false
		}
	}
	return true
}

// InertObject is Inert for an HPA as a client of any kind reads it.
func InertObject(o *unstructured.Unstructured) bool {
	var h autoscalingv2.HorizontalPodAutoscaler
	return runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &h) == nil && Inert(&h)
}
