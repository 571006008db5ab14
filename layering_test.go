package loadline_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/loadline/loadline"

// layer is one row of the table in docs/architecture.md.
type layer struct {
	name    string
	rooms   []string
	outside []string // modules of others, by the beginning of their path
}

// edges are the rows whose packages may not import each other: only a command joins them.
var edges = []string{"edges"}

// readLayers parses the table that follows the heading "Layers".
func readLayers(t *testing.T) []layer {
	t.Helper()
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text2, found := strings.Cut(string(text), "\n## Layers\n")
	if !found {
		t.Fatal("docs/architecture.md has no section \"Layers\"")
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	names := func(cell string) []string {
		var all []string
		for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
			all = append(all, m[1])
		}
		return all
	}
	var layers []layer
	for line := range strings.Lines(text2) {
		if strings.HasPrefix(line, "## ") {
			break
		}
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(strings.TrimSpace(cells[1]), "---") || strings.TrimSpace(cells[1]) == "layer" {
			continue
		}
		layers = append(layers, layer{strings.TrimSpace(cells[1]), names(cells[2]), names(cells[3])})
	}
	if len(layers) < 5 {
		t.Fatalf("docs/architecture.md: %d layers were read", len(layers))
	}
	return layers
}

// TestLayering compares the code with the table in docs/architecture.md: a package imports only
// packages that are named before it, edges do not import each other, and third-party modules
// are imported only by the layers that name them.
func TestLayering(t *testing.T) {
	layers := readLayers(t)
	place, in := map[string]int{}, map[string]layer{}
	for _, l := range layers {
		for _, room := range l.rooms {
			if _, twice := place[room]; twice {
				t.Errorf("docs/architecture.md names %s twice", room)
			}
			place[room], in[room] = len(place), l
		}
	}
	found := rooms(t)
	for room := range place {
		if found[room] == nil {
			t.Errorf("docs/architecture.md names %s, which has no Go files", room)
		}
	}
	for room, files := range found {
		own, known := in[room]
		if !known {
			t.Errorf("docs/architecture.md: the table of layers does not name %s", room)
			continue
		}
		for _, file := range files {
			for _, imported := range foreignImports(t, file) {
				at, ours := place[imported]
				switch {
				case !ours && !strings.HasPrefix(imported, "!"):
					t.Errorf("%s imports %s, which the table of layers does not name", file, imported)
				case !ours:
					if name := imported[1:]; !slices.ContainsFunc(own.outside,
						func(prefix string) bool { return name == prefix || strings.HasPrefix(name, prefix+"/") }) {
						t.Errorf("%s imports %s, which the layer %q does not name", file, name, own.name)
					}
				case at >= place[room]:
					t.Errorf("%s imports %s, which comes after %s in the table of layers", file, imported, room)
				case slices.Contains(edges, own.name) && in[imported].name == own.name && !related(room, imported):
					t.Errorf("%s imports %s: edges do not import each other", file, imported)
				}
			}
		}
	}
}

// TestProductionWithoutLab: what a platform engineer installs does not contain the lab.
func TestProductionWithoutLab(t *testing.T) {
	found := rooms(t)
	by := map[string]string{"cmd/loadline": ""} // package -> who imports it
	var reached []string
	for next := []string{"cmd/loadline"}; len(next) > 0; next = next[1:] {
		room := next[0]
		if strings.HasPrefix(room, "lab/") {
			reached = append(reached, room)
		}
		if found[room] == nil {
			t.Fatalf("%s has no Go files", room)
		}
		for _, file := range found[room] {
			for _, imported := range foreignImports(t, file) {
				if _, seen := by[imported]; seen || strings.HasPrefix(imported, "!") {
					continue
				}
				by[imported] = room
				next = append(next, imported)
			}
		}
	}
	for _, room := range reached {
		t.Errorf("cmd/loadline reaches %s, which %s imports", room, by[room])
	}
	if len(by) < 40 {
		t.Errorf("only %d packages were reached from cmd/loadline", len(by))
	}
}

// related packages share a folder of internal/.
func related(a, b string) bool {
	first := func(room string) string {
		parts := strings.Split(room, "/")
		return strings.Join(parts[:min(len(parts), 2)], "/")
	}
	return first(a) == first(b)
}

// rooms are all folders with Go files that are not tests.
func rooms(t *testing.T) map[string][]string {
	found := map[string][]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && d.IsDir() && name != "." {
			return filepath.SkipDir // a separate module
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			name = filepath.ToSlash(name)
			found[path.Dir(name)] = append(found[path.Dir(name)], name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// foreignImports of a file: ours by their folder, others by their path after "!", without the
// standard library.
func foreignImports(t *testing.T, file string) []string {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var imports []string
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(name, "/")
		switch {
		case name == module:
			imports = append(imports, ".")
		case strings.HasPrefix(name, module+"/"):
			imports = append(imports, strings.TrimPrefix(name, module+"/"))
		case strings.Contains(first, "."):
			imports = append(imports, "!"+name)
		}
	}
	return imports
}
