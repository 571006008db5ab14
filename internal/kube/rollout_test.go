package kube

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDeploymentRollsOut(t *testing.T) {
	stuck := []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse,
		Reason: "ProgressDeadlineExceeded"}}
	for _, row := range []struct {
		name   string
		given  appsv1.Deployment
		ours   bool
		reason string
	}{
		{"all pods are of the newest template", appsv1.Deployment{Status: appsv1.DeploymentStatus{Replicas: 4, UpdatedReplicas: 4}},
			false, ""},
		{"old pods are there", appsv1.Deployment{Status: appsv1.DeploymentStatus{Replicas: 5, UpdatedReplicas: 2}}, false,
			"3 of 5 pods are of an older template"},
		{"scaling up: fewer pods than wanted", appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(9))},
			Status: appsv1.DeploymentStatus{Replicas: 4, UpdatedReplicas: 4}}, false, ""},
		{"the change was not taken up yet", appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2},
			Status: appsv1.DeploymentStatus{ObservedGeneration: 1}}, false, "not taken up"},
		{"the change is our own", appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2},
			Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 4, UpdatedReplicas: 4}}, true, ""},
		{"our own change in a roll-out", appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2},
			Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 4, UpdatedReplicas: 1}}, true, "3 of 4"},
		{"paused in the midst", appsv1.Deployment{Spec: appsv1.DeploymentSpec{Paused: true},
			Status: appsv1.DeploymentStatus{Replicas: 4, UpdatedReplicas: 1}}, false, "is paused"},
		{"one that has failed holds nothing", appsv1.Deployment{Status: appsv1.DeploymentStatus{Replicas: 5, UpdatedReplicas: 2,
			Conditions: stuck}}, false, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := deploymentRollsOut(&row.given, row.ours); !strings.Contains(got, row.reason) || (got == "") != (row.reason == "") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestStatefulSetRollsOut(t *testing.T) {
	status := appsv1.StatefulSetStatus{Replicas: 3, UpdatedReplicas: 1, CurrentRevision: "db-1", UpdateRevision: "db-2"}
	if got := statefulSetRollsOut(&appsv1.StatefulSet{Status: status}); got != "1 of 3 pods are of revision db-2, the others of db-1" {
		t.Errorf("got %q", got)
	}
	byHand := appsv1.StatefulSetSpec{UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}}
	if got := statefulSetRollsOut(&appsv1.StatefulSet{Spec: byHand, Status: status}); got != "" {
		t.Errorf("replaced by hand: got %q", got)
	}
	status.CurrentRevision = status.UpdateRevision
	if got := statefulSetRollsOut(&appsv1.StatefulSet{Status: status}); got != "" {
		t.Errorf("scaling: got %q", got)
	}
}

func TestRolloutRollsOut(t *testing.T) {
	of := newTarget(service("x"), "x")
	of.gvk = KindOf("argoproj.io/v1alpha1", "Rollout")
	for _, row := range []struct {
		name   string
		status map[string]any
		reason string
	}{
		{"starting pods are none, whatever the phase says", map[string]any{"phase": "Progressing", "stableRS": "a",
			"currentPodHash": "a"}, ""},
		{"a newer template", map[string]any{"phase": "Paused", "stableRS": "a", "currentPodHash": "b"},
			"the Rollout is Paused: from template a to b"},
		{"aborted", map[string]any{"phase": "Degraded", "stableRS": "a", "currentPodHash": "b", "abort": true}, ""},
		{"only the phase is known", map[string]any{"phase": "Progressing"}, "the Rollout is Progressing"},
		{"nothing is known", nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := rolloutRollsOut(of, map[string]any{"status": row.status}); got != row.reason {
				t.Errorf("got %q", got)
			}
		})
	}
}
