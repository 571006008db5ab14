package loadline_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// row is a term in a table of terms: its first cell.
var row = regexp.MustCompile(`(?m)^\| ([A-Za-z][A-Za-z ]*) \| [^|]+ \|$`)

// linked is a document that another in the same folder refers to.
var linked = regexp.MustCompile(`\]\(([a-z]+\.md)\)`)

// TestGlossary: it has every term that the architecture defines, and its links lead somewhere.
func TestGlossary(t *testing.T) {
	terms, text := termsOf(t, "docs/glossary.md")
	of, _ := termsOf(t, "docs/architecture.md")
	if len(of) < 5 {
		t.Fatalf("%d terms were found in docs/architecture.md: its table is written in another way now", len(of))
	}
	for _, term := range of {
		if !slices.Contains(terms, term) {
			t.Errorf("docs/glossary.md lacks %q of docs/architecture.md", term)
		}
	}
	for _, m := range linked.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join("docs", m[1])); err != nil {
			t.Errorf("docs/glossary.md: %v", err)
		}
	}
}

// termsOf a document, without the head of its table.
func termsOf(t *testing.T, document string) (terms []string, text string) {
	t.Helper()
	read, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range row.FindAllStringSubmatch(string(read), -1) {
		if m[1] != "term" {
			terms = append(terms, m[1])
		}
	}
	return terms, string(read)
}
