package chaos

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// workloadOf is a Deployment whose replicas a manager has set.
func workloadOf(t *testing.T, version, replicas, manager string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	err := o.UnmarshalJSON([]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web",
		"resourceVersion":"` + version + `","managedFields":[
		{"manager":"cluster-test","operation":"Apply","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:template":{}}}},
		{"manager":"kubectl","operation":"Update","time":"2026-03-01T12:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}},
		{"manager":"` + manager + `","operation":"Apply","subresource":"scale","fieldsType":"FieldsV1",
		 "fieldsV1":{"f:spec":{"f:replicas":{}}}}]},"spec":{"replicas":` + replicas + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestTheWatcherNotesChangesAndTheirOwner(t *testing.T) {
	w := newWatcher(nil, []string{"shop"})
	for _, o := range []*unstructured.Unstructured{
		workloadOf(t, "1", "2", "kubectl"), workloadOf(t, "2", "2", Manager), workloadOf(t, "3", "5", Manager),
	} {
		w.show(o, false, false, w.workload)
	}
	if len(w.changes) != 1 {
		t.Fatalf("noted %+v, want one change", w.changes)
	}
	if c := w.changes[0]; c.From != 2 || c.To != 5 || c.Manager != Manager || c.Version != "3" || c.App != "shop" || c.Service != "web" {
		t.Errorf("noted %+v", c)
	}
}
