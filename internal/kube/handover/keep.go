package handover

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
)

// kept is what an autoscaler was, in its annotation: the fields of its spec that were changed, with
// their values (null = it had none), and KEDA's annotation.
type kept struct {
	LoadLine string         `json:"loadLine"`
	Spec     map[string]any `json:"spec,omitempty"`
	Paused   *string        `json:"paused,omitempty"` // KEDA's annotation; nil = it had none
}

// keptOf an object; nil = it was not taken over.
func keptOf(o *unstructured.Unstructured) (*kept, error) {
	text, has := o.GetAnnotations()[v1alpha1.TakenOverAnnotation]
	if !has {
		return nil, nil
	}
	var k kept
	if err := json.Unmarshal([]byte(text), &k); err != nil || k.LoadLine == "" {
		return nil, fmt.Errorf("%s %s: its annotation %s is not what loadline init wrote (%v): restore it by hand, and remove the annotation",
			o.GetKind(), o.GetName(), v1alpha1.TakenOverAnnotation, err)
	}
	return &k, nil
}

// inert has the fields of a spec with which an autoscaler changes nothing.
func inert(kind string) map[string]any {
	disabled := func() any { return map[string]any{"selectPolicy": "Disabled"} }
	switch kind {
	case "HorizontalPodAutoscaler":
		return map[string]any{"minReplicas": int64(1), "maxReplicas": int64(math.MaxInt32),
			"behavior": map[string]any{"scaleUp": disabled(), "scaleDown": disabled()}}
	case kube.VerticalPodAutoscalers.Kind:
		return map[string]any{"updatePolicy": map[string]any{"updateMode": kube.Off}}
	}
	return nil
}

// acts reports whether an autoscaler changes anything.
func acts(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "HorizontalPodAutoscaler":
		return !kube.InertObject(o)
	case kube.VerticalPodAutoscalers.Kind:
		return kube.UpdateMode(o.Object) != kube.Off
	}
	return !kube.PausedInKEDA(o.GetAnnotations())
}

// keep is an autoscaler made inert, with what it was in an annotation; nil = it is inert already. Of
// one that was changed after it had been taken over, as by a tool that restores what is in Git, the
// fields that were changed are kept as they are now.
func keep(o *unstructured.Unstructured, loadLine string) (*unstructured.Unstructured, error) {
	old, err := keptOf(o)
	if err != nil {
		return nil, err
	}
	if old != nil && old.LoadLine != loadLine {
		return nil, fmt.Errorf("%s %s was taken over for LoadLine %s: give it back first", o.GetKind(), o.GetName(), old.LoadLine)
	}
	annotations := o.GetAnnotations()
	if _, pinned := annotations[kube.KEDAPausedReplicas]; pinned {
		return nil, fmt.Errorf("%s %s pins its replicas by the annotation %s: remove it first", o.GetKind(), o.GetName(),
			kube.KEDAPausedReplicas)
	}
	if !acts(o) {
		return nil, nil
	}
	changed := o.DeepCopy()
	k := kept{LoadLine: loadLine}
	for field, value := range inert(o.GetKind()) {
		if k.Spec == nil {
			k.Spec = map[string]any{}
		}
		is, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", field)
		if k.Spec[field] = is; old != nil && sameInert(o.GetKind(), field, is) {
			k.Spec[field] = old.Spec[field]
		}
		if err := unstructured.SetNestedField(changed.Object, value, "spec", field); err != nil {
			return nil, err
		}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	if o.GetKind() == kube.ScaledObjects.Kind {
		if text, has := annotations[kube.KEDAPaused]; has {
			k.Paused = &text
		} else if old != nil {
			k.Paused = old.Paused
		}
		annotations[kube.KEDAPaused] = "true"
	}
	text, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	annotations[v1alpha1.TakenOverAnnotation] = string(text)
	changed.SetAnnotations(annotations)
	return changed, nil
}

// sameInert reports whether a field has the value that makes it inert. The API server adds defaults to
// a behaviour.
func sameInert(kind, field string, is any) bool {
	want := inert(kind)[field]
	if field != "behavior" {
		return reflect.DeepEqual(is, want)
	}
	for _, direction := range []string{"scaleUp", "scaleDown"} {
		b, _ := is.(map[string]any)
		if policy, _, _ := unstructured.NestedString(b, direction, "selectPolicy"); policy != "Disabled" {
			return false
		}
	}
	return true
}

// restore is an autoscaler as it was; nil = it was not taken over for this LoadLine.
func restore(o *unstructured.Unstructured, loadLine string) (*unstructured.Unstructured, error) {
	k, err := keptOf(o)
	if err != nil || k == nil || k.LoadLine != loadLine {
		return nil, err
	}
	restored := o.DeepCopy()
	annotations := restored.GetAnnotations()
	delete(annotations, v1alpha1.TakenOverAnnotation)
	if o.GetKind() == kube.ScaledObjects.Kind {
		delete(annotations, kube.KEDAPaused)
		if k.Paused != nil {
			annotations[kube.KEDAPaused] = *k.Paused
		}
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	restored.SetAnnotations(annotations)
	for field, value := range k.Spec {
		if value == nil {
			unstructured.RemoveNestedField(restored.Object, "spec", field)
			continue
		}
		if err := unstructured.SetNestedField(restored.Object, whole(value), "spec", field); err != nil {
			return nil, err
		}
	}
	return restored, nil
}

// whole turns the numbers of JSON into integers, as objects of a cluster have them.
func whole(value any) any {
	switch v := value.(type) {
	case float64:
		if v == math.Trunc(v) {
			return int64(v)
		}
	case map[string]any:
		for key := range v {
			v[key] = whole(v[key])
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	}
	return value
}
