package crd

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSamplesAreGood(t *testing.T) {
	servers := map[string]*server{"LoadLine": newServer(t), "LoadLineClass": newServerOf(t, classDefinition)}
	files, err := filepath.Glob("../../deploy/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		object := parse(t, string(text))
		s := servers[object["kind"].(string)]
		if s == nil {
			t.Fatalf("%s is a %v", filepath.Base(file), object["kind"])
		}
		for _, wrong := range s.take(object) {
			t.Errorf("%s: %s", filepath.Base(file), wrong)
		}
	}
}

func TestExamplesAreGood(t *testing.T) {
	s := newServer(t)
	for _, text := range examples(t) {
		for _, wrong := range s.take(parse(t, text)) {
			t.Errorf("%s\nin\n%s", wrong, text)
		}
	}
}
