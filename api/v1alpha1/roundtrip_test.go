package v1alpha1_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loadline/loadline/api/v1alpha1"
)

// What is written stays as it was written, zeros included where they differ from
// the default.
func TestRoundTrip(t *testing.T) {
	text := `{"apiVersion":"loadline.dev/v1alpha1","kind":"LoadLine","metadata":{"name":"shop","namespace":"shop"},` +
		`"spec":{"fallback":"hpa:target=60",` +
		`"guard":{"burn":{"minOver":0,"recovered":"0.5","windows":[{"long":"10m0s","rate":"14.4","short":"1m0s"}]},"coolDown":{"up":"0s"},"data":{"holdFor":"0s"},"disagreement":{"low":0,"slack":0},"without":["gray"]},` +
		`"interval":"30s","mode":"Act",` +
		`"objectives":[{"kind":"checkout","latency":"250ms","percentile":"99.90"},{"latency":"1s","percentile":99}],` +
		`"policy":{"model":{"folder":"registry","version":2}},` +
		`"prometheus":{"bearerToken":{"key":"token","name":"prometheus"},"timeout":"10s","url":"https://prometheus"},` +
		`"respectManualChangesFor":"0s",` +
		`"services":[{"axes":["Horizontal","VerticalRequests"],"bounds":{"cpu":{"max":"2","min":"100m"},"replicas":{"max":9,"min":0}},"name":"web","optional":{"price":"0.2"},"targetRef":{"name":"web"}}]},` +
		`"status":{"ladder":{"rung":"Rule","since":"2026-03-01T12:00:00Z","why":"it burned","distrust":true,"recovery":"20m0s"},"services":[{"name":"web","seen":{"time":"2026-03-01T12:00:00Z","rate":"67.1","cpu":"1200m"},"wanted":{"replicas":0}}]}}`
	var l v1alpha1.LoadLine
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&l)
	if err != nil {
		t.Fatal(err)
	}
	// Of equal quantities Kubernetes writes its own form: 1200m stays, 2 stays.
	var before, after any
	if err := json.Unmarshal([]byte(text), &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &after); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("was\n%s\nbecame\n%s", text, again)
	}
	if c := l.DeepCopy(); !reflect.DeepEqual(*c, l) {
		t.Error("a deep copy differs")
	} else if c.Spec.Services[0].Bounds.Replicas.Min == l.Spec.Services[0].Bounds.Replicas.Min {
		t.Error("a deep copy shares a pointer")
	}
}

// A resource that says nothing writes nothing: defaults are the API server's.
func TestAbsentIsNotWritten(t *testing.T) {
	text, err := json.Marshal(v1alpha1.LoadLine{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{},"spec":{"objectives":null}}`
	if string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

func TestSchemeKnowsTheKind(t *testing.T) {
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	for _, o := range []runtime.Object{&v1alpha1.LoadLine{}, &v1alpha1.LoadLineList{}, &v1alpha1.LoadLineClass{},
		&v1alpha1.LoadLineClassList{}} {
		kinds, _, err := s.ObjectKinds(o)
		if err != nil || len(kinds) != 1 || kinds[0].GroupVersion() != v1alpha1.GroupVersion {
			t.Errorf("%T is known as %v: %v", o, kinds, err)
		}
	}
}
