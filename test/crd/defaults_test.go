package crd

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/resource"
)

// typed is an object as the controller gets it. Fields that the types do not have, or write
// differently, are reported.
func typed(t *testing.T, object map[string]any) *v1alpha1.LoadLine {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var l v1alpha1.LoadLine
	if err := json.Unmarshal(text, &l); err != nil {
		t.Fatal(err)
	}
	return &l
}

func TestDefaults(t *testing.T) {
	s := newServer(t)
	object := least(t)
	if wrong := s.take(object); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	want := parse(t, examples(t)[0])
	edit(t, want, `
		spec.mode: Recommend
		spec.interval: 15s
		spec.policy: {baseline: planner}
		spec.fallback: hpa
		spec.respectManualChangesFor: 1h
		spec.objectives[0].kind: "*"
		spec.objectives[0].percentile: 99
		spec.prometheus.timeout: 10s
		spec.services[0].axes: [Horizontal]
		spec.services[0].movedBy: Scale
		spec.services[0].resize: InPlaceOnly
		spec.services[0].bounds.replicas.min: 1
		spec.services[0].targetRef.apiVersion: apps/v1
		spec.services[0].targetRef.kind: Deployment
	`)
	if !reflect.DeepEqual(object, want) {
		got, _ := json.MarshalIndent(object, "", " ")
		t.Errorf("got %s", got)
	}
}

// The defaults of the schema are those of the guard: whether a group is left out,
// empty, or written out as on the page about the resource.
func TestGuardDefaults(t *testing.T) {
	s := newServer(t)
	empty := least(t)
	edit(t, empty, `spec.guard: {data: {}, faults: {}, burn: {}, step: {}, coolDown: {}, observed: {}, starting: {}, disagreement: {}, gray: {}, brownout: {}}`)
	written := least(t)
	written["spec"].(map[string]any)["guard"] = everything(t)["spec"].(map[string]any)["guard"]
	for name, object := range map[string]map[string]any{"left out": least(t), "empty": empty, "written out": written} {
		if wrong := s.take(object); len(wrong) > 0 {
			t.Fatal(wrong)
		}
		a, err := resource.Read(typed(t, object), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a.Guard, guard.Defaults()) {
			t.Errorf("%s: %+v\nwant %+v", name, a.Guard, guard.Defaults())
		}
	}
}

// What the schema accepts, the product accepts: through the types and back nothing is lost, and
// nothing is added.
func TestTypesAgreeWithTheSchema(t *testing.T) {
	s := newServer(t)
	object := everything(t)
	if wrong := s.take(object); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	text, err := json.Marshal(typed(t, object))
	if err != nil {
		t.Fatal(err)
	}
	back := parse(t, string(text))
	if wrong := s.take(back); len(wrong) > 0 {
		t.Errorf("what the types write is refused: %v", wrong)
	}
	again, err := json.Marshal(typed(t, back))
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != string(text) {
		t.Errorf("was\n%s\nbecame\n%s", text, again)
	}
	if _, err := resource.Read(typed(t, object), nil); err != nil {
		t.Error(err)
	}
}
