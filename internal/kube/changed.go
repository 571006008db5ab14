package kube

import (
	"bytes"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Change is the field manager that last set a workload's replicas, according to
// managedFields.
type Change struct {
	Manager string // field manager; "" = none, they are the default
	Ours    bool
	// At is when that manager last changed any of its fields in the workload: not
	// before it set the replicas, and perhaps later. It is zero for clients of the
	// scale subresource, such as kubectl scale and Loadline itself: the API server
	// records no time for them.
	At time.Time
}

// changed finds the owner of spec.replicas. A manager that changes the value
// takes it from all others, so if Loadline is among the owners the value is
// unchanged since its last write, even if others have requested the same value.
// Of several others the last one counts.
func changed(fields []metav1.ManagedFieldsEntry) Change {
	var last Change
	for i := range fields {
		f := &fields[i]
		if !ownsReplicas(f) {
			continue
		}
		c := Change{Manager: f.Manager, Ours: f.Manager == Manager}
		if f.Time != nil {
			c.At = f.Time.Time
		}
		if c.Ours {
			return c
		}
		if last.Manager == "" || c.At.After(last.At) {
			last = c
		}
	}
	return last
}

var replicasKey = []byte(`"f:replicas"`)

func ownsReplicas(f *metav1.ManagedFieldsEntry) bool {
	if f.FieldsV1 == nil {
		return false
	}
	raw := f.FieldsV1.GetRawBytes()
	if !bytes.Contains(raw, replicasKey) { // nearly all entries, and most are long
		return false
	}
	var owned struct {
		Spec struct {
			Replicas *struct{} `json:"f:replicas"`
		} `json:"f:spec"`
	}
	return json.Unmarshal(raw, &owned) == nil && owned.Spec.Replicas != nil
}
