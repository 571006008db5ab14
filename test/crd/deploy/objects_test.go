// Package deploy compares the manifests and the chart with each other, and both with
// Kubernetes' types, by the engines of Helm and Kustomize themselves.
//
// Reading order: objects_test.go (what is compared), render_test.go (the engines), same_test.go
// (chart and manifests are equal), combinations_test.go (all values), wiring_test.go
// (references), permissions_test.go, values_test.go, docs_test.go.
package deploy

import (
	"fmt"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// object is a decoded YAML document.
type object map[string]any

func (o object) kind() string { s, _ := o["kind"].(string); return s }

// at is the value at a path, nil if there is none.
func (o object) at(path ...string) any {
	var v any = map[string]any(o)
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

func (o object) text(path ...string) string { s, _ := o.at(path...).(string); return s }

func (o object) id() string {
	return fmt.Sprintf("%s %s/%s", o.kind(), o.text("metadata", "namespace"), o.text("metadata", "name"))
}

// objects are the documents of a text, each of which must decode strictly into its type:
// without unknown or duplicate fields.
func objects(t *testing.T, text string) map[string]object {
	t.Helper()
	found := map[string]object{}
	for _, doc := range strings.Split("\n"+text, "\n---") {
		var o object
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		if len(o) == 0 {
			continue
		}
		if o.text("apiVersion") != "monitoring.coreos.com/v1" { // not of Kubernetes itself
			decodeStrictly(t, doc)
		}
		if _, twice := found[o.id()]; twice {
			t.Fatalf("%s is there twice", o.id())
		}
		found[o.id()] = o
	}
	return found
}

var strict = func() runtime.Decoder {
	if err := apiextensions.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	return serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
}()

// typed is a document as Kubernetes' type of it.
func typed(t *testing.T, doc string) runtime.Object {
	t.Helper()
	data, err := utilyaml.ToJSON([]byte(doc))
	if err != nil {
		t.Fatalf("%v in\n%s", err, doc)
	}
	got, _, err := strict.Decode(data, nil, nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, doc)
	}
	return got
}

func decodeStrictly(t *testing.T, doc string) { t.Helper(); typed(t, doc) }
