package loadline_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// command is a test that a document names as the source of its figures.
var command = regexp.MustCompile("go test (\\./[a-z/]+)[^`\n]* -run '?([A-Za-z|]+)'?")

// function is the name of a test or a benchmark.
var function = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// TestDocumentsNameTests: the tests that documents name as the source of figures exist.
func TestDocumentsNameTests(t *testing.T) {
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, document := range append(documents, "README.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			found++
			if run := regexp.MustCompile(m[2]); !anyTest(t, m[1], run.MatchString) {
				t.Errorf("%s says %q, which matches no test there", document, m[0])
			}
		}
	}
	if found < 5 {
		t.Errorf("%d commands were found in the documents: they are written in another way now", found)
	}
}

// anyTest reports whether a folder has a test of such a name.
func anyTest(t *testing.T, dir string, is func(string) bool) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range function.FindAllSubmatch(text, -1) {
			if is(string(m[1])) {
				return true
			}
		}
	}
	return false
}
