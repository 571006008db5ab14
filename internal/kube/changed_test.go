package kube

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func entry(manager, fields string, at time.Time) metav1.ManagedFieldsEntry {
	e := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	if !at.IsZero() {
		e.Time = &metav1.Time{Time: at}
	}
	return e
}

const (
	ownsSpec   = `{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:replicas":{},"f:template":{"f:spec":{}}}}`
	ownsOnly   = `{"f:spec":{"f:replicas":{}}}`
	ownsStatus = `{"f:status":{"f:replicas":{},"f:updatedReplicas":{}}}`
	ownsOther  = `{"f:spec":{"f:template":{}}}`
)

func TestChanged(t *testing.T) {
	for _, row := range []struct {
		name   string
		fields []metav1.ManagedFieldsEntry
		want   Change
	}{
		{"no one else", []metav1.ManagedFieldsEntry{entry("kubectl", ownsOther, noon), entry("kube-controller-manager", ownsStatus, noon)},
			Change{}},
		{"a person, through the scale subresource", []metav1.ManagedFieldsEntry{entry("kubectl", ownsOnly, time.Time{})},
			Change{Manager: "kubectl"}},
		{"the manager of the whole spec", []metav1.ManagedFieldsEntry{entry("argocd-controller", ownsSpec, noon)},
			Change{Manager: "argocd-controller", At: noon}},
		{"we did", []metav1.ManagedFieldsEntry{entry("kubectl", ownsOther, noon), entry(Manager, ownsOnly, time.Time{})},
			Change{Manager: Manager, Ours: true}},
		{"others ask for what we set", []metav1.ManagedFieldsEntry{entry("argocd-controller", ownsSpec, noon),
			entry(Manager, ownsOnly, time.Time{})}, Change{Manager: Manager, Ours: true}},
		{"of several the last", []metav1.ManagedFieldsEntry{entry("a", ownsSpec, noon), entry("b", ownsSpec, noon.Add(time.Hour)),
			entry("c", ownsSpec, noon)}, Change{Manager: "b", At: noon.Add(time.Hour)}},
		{"what cannot be read owns nothing", []metav1.ManagedFieldsEntry{entry("a", `{"f:replicas"`, noon), {Manager: "b"}}, Change{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := changed(row.fields); got != row.want {
				t.Errorf("got %+v", got)
			}
			if got := changed(aboutReplicas(row.fields)); got != row.want {
				t.Errorf("stripped: got %+v", got)
			}
		})
	}
}
