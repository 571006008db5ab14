package crd

import (
	"bytes"
	"testing"

	"github.com/loadline/loadline/internal/advice"
	"github.com/loadline/loadline/internal/apps"
)

// The LoadLines that advice writes are accepted by the API server.
func TestAdvisedLoadLinesAreGood(t *testing.T) {
	s := newServer(t)
	for _, name := range []string{"single", "bookinfo", "boutique"} {
		model, err := apps.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range []string{"phpa:target=70", "model:file=registry/model.safetensors"} {
			documents, err := advice.Manifests(spec, advice.Target{App: model.App, Namespace: "prod"})
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := advice.Write(&text, documents); err != nil {
				t.Fatal(err)
			}
			if errs := s.take(parse(t, text.String())); len(errs) > 0 {
				t.Errorf("%s of %s: %v in\n%s", spec, name, errs, text.String())
			}
		}
	}
}
