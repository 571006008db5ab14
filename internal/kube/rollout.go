package kube

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A rollout is in progress while pods of an older template are being replaced.
// New pods that are not ready yet do not count: scaling causes those as well. A
// failed rollout does not count either, because otherwise a service with a broken
// release would never be scaled again.

// deploymentRollsOut returns why a rollout is in progress, or "". ours: the
// Deployment is unchanged since Loadline's own write, so only the number of
// replicas is not yet processed by its controller.
func deploymentRollsOut(d *appsv1.Deployment, ours bool) string {
	s := &d.Status
	if s.ObservedGeneration < d.Generation && !ours {
		return "its controller has not taken up the last change of the Deployment yet"
	}
	old := s.Replicas - s.UpdatedReplicas
	if old <= 0 {
		return ""
	}
	for _, c := range s.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
			return "" // ProgressDeadlineExceeded
		}
	}
	if d.Spec.Paused {
		return fmt.Sprintf("the Deployment is paused during a rollout: %d of %d pods are of an older template", old, s.Replicas)
	}
	return fmt.Sprintf("%d of %d pods are of an older template", old, s.Replicas)
}

// statefulSetRollsOut returns why a rollout is in progress, or "". With the
// update strategy OnDelete a rollout is never reported, because its end is
// unknown.
func statefulSetRollsOut(d *appsv1.StatefulSet) string {
	s := &d.Status
	if d.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType || s.UpdateRevision == "" ||
		s.UpdateRevision == s.CurrentRevision {
		return ""
	}
	return fmt.Sprintf("%d of %d pods are of revision %s, the others of %s", s.UpdatedReplicas, s.Replicas, s.UpdateRevision,
		s.CurrentRevision)
}

func isRollout(t target) bool { return t.gvk.Group == "argoproj.io" && t.gvk.Kind == "Rollout" }

// rolloutRollsOut returns why a rollout is in progress, or "". Argo's phase
// Progressing also covers starting pods, so the hashes of the stable and the
// newest template are compared first; an aborted rollout does not count.
func rolloutRollsOut(t target, o map[string]any) string {
	if !isRollout(t) {
		return ""
	}
	text := func(field string) string {
		s, _, _ := unstructured.NestedString(o, "status", field)
		return s
	}
	newest, stable, phase := text("currentPodHash"), text("stableRS"), text("phase")
	aborted, _, _ := unstructured.NestedBool(o, "status", "abort")
	switch {
	case aborted || stable != "" && stable == newest:
		return ""
	case stable != "":
		return fmt.Sprintf("the Rollout is %s: from template %s to %s", phase, stable, newest)
	case phase == "Progressing" || phase == "Paused":
		return "the Rollout is " + phase
	}
	return ""
}
