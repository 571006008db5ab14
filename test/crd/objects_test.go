package crd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestLoadLinesOfAllPagesAreGood: every whole LoadLine in the documents can be applied.
func TestLoadLinesOfAllPagesAreGood(t *testing.T) {
	s := newServer(t)
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range yamlBlock.FindAllSubmatch(text, -1) {
			for _, document := range strings.Split(string(m[1]), "\n---\n") {
				if !strings.Contains(document, "kind: LoadLine\n") {
					continue
				}
				found++
				for _, wrong := range s.take(parse(t, document)) {
					t.Errorf("%s: %s\nin\n%s", filepath.Base(page), wrong, document)
				}
			}
		}
	}
	if found < 4 {
		t.Errorf("%d LoadLines were found: they are written in another way now", found)
	}
}
