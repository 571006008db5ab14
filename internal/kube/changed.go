package kube

import (
	"bytes"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Change is who set a workload's replicas to what they are, by its managedFields.
type Change struct {
	Manager string // field manager; "" = nobody did, they are the default
	Ours    bool
	// At is when that manager last changed anything of what it owns in the workload:
	// never before it set the replicas, and perhaps later. It is zero for whoever goes
	// through the scale subresource, as kubectl scale and we ourselves do: the API
	// server keeps no time of that.
	At time.Time
}

// changed finds the owner of spec.replicas. Whoever changes the value takes it from
// all others, so if we are among the owners it is as we left it, whoever has asked
// for the same since. Of several others the last one counts.
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
