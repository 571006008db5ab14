package apps_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline/internal/apps"
)

// reference is docs/application.md: its example, and its tables of fields by the path of their object.
type reference struct {
	example string
	tables  map[string][]field
	order   []string
}

type field struct{ name, byDefault, meaning string }

var (
	yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
	fieldRow  = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.*?) \\|(.*)\\|$")
)

func readReference(t *testing.T) reference {
	t.Helper()
	page, err := os.ReadFile("../../docs/application.md")
	if err != nil {
		t.Fatal(err)
	}
	r := reference{tables: map[string][]field{}}
	if m := yamlBlock.FindSubmatch(page); m != nil {
		r.example = string(m[1])
	}
	for _, section := range strings.Split(string(page), "\n### ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		path := strings.Trim(title, "`")
		if path == "The file" {
			path = ""
		}
		for _, m := range fieldRow.FindAllStringSubmatch(body, -1) {
			r.tables[path] = append(r.tables[path], field{m[1], m[2], strings.TrimSpace(m[3])})
		}
		r.order = append(r.order, path)
	}
	if len(r.order) < 15 || r.example == "" {
		t.Fatalf("%d tables and an example of %d bytes: docs/application.md is written in another way now", len(r.order), len(r.example))
	}
	return r
}

// sameFields are objects whose fields are those of another one, as the page says.
var sameFields = map[string]string{
	"services.NAME.wait": "services.NAME.cpu", "services.NAME.startup": "services.NAME.cpu", "kinds.NAME.users.think": "services.NAME.cpu",
	"services.NAME.size.memory": "services.NAME.size.cpu", "calls.NAME": "kinds.NAME.call", "kinds.NAME.call.stages[]": "kinds.NAME.call",
	"kinds.NAME.call.stages[][]": "kinds.NAME.call", "kinds.NAME.call.stages[][].retries": "kinds.NAME.retries",
}

// named are the mappings whose keys are names.
var named = []string{"origins", "nodes", "services", "services.NAME.versions", "calls", "kinds"}

// objects of a document by their path, names and positions left out.
func objects(n *yaml.Node, path string, visit func(path string, n *yaml.Node)) {
	switch n.Kind {
	case yaml.DocumentNode:
		objects(n.Content[0], path, visit)
	case yaml.SequenceNode:
		for _, c := range n.Content {
			objects(c, path+"[]", visit)
		}
	case yaml.MappingNode:
		names := slices.Contains(named, path)
		if !names {
			visit(path, n)
		}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if names {
				key = "NAME"
			}
			objects(n.Content[i+1], strings.TrimPrefix(path+"."+key, "."), visit)
		}
	}
}

// parse the document as it is now.
func parse(t *testing.T, doc *yaml.Node) (*apps.Model, error) {
	t.Helper()
	text, err := yaml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return apps.Parse("shop.yaml", text)
}

var knownFields = regexp.MustCompile(`one of the fields ([\w, ]+)`)

// TestReferenceHasTheReadersFields: every object that the reader reads has a table on the page, with
// the fields that the reader knows in it and no others.
func TestReferenceHasTheReadersFields(t *testing.T) {
	r := readReference(t)
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(r.example), &doc); err != nil {
		t.Fatal(err)
	}
	if _, err := parse(t, &doc); err != nil {
		t.Fatalf("the example: %v", err)
	}
	seen, used := map[string]bool{}, map[string]bool{}
	objects(&doc, "", func(path string, n *yaml.Node) {
		// A field that no object has makes the reader list those that this one has.
		whole := n.Content
		n.Content = append(slices.Clone(whole), &yaml.Node{Kind: yaml.ScalarNode, Value: "zzzz"}, &yaml.Node{Kind: yaml.ScalarNode, Value: "1"})
		_, err := parse(t, &doc)
		n.Content = whole
		m := knownFields.FindStringSubmatch(fmt.Sprint(err))
		if m == nil {
			t.Errorf("%s: the reader took an unknown field: %v", path, err)
			return
		}
		table := path
		if other, same := sameFields[path]; same {
			table = other
		}
		seen[table] = true
		want, got := strings.Split(m[1], ", "), []string{}
		for _, f := range r.tables[table] {
			got = append(got, f.name)
		}
		for i := 0; i < len(whole); i += 2 {
			used[table+"."+whole[i].Value] = true
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Errorf("%q: the reader knows %v, docs/application.md has %v", path, want, got)
		}
	})
	for _, path := range r.order {
		if !seen[path] {
			t.Errorf("the example has no %q", path)
		}
		for _, f := range r.tables[path] {
			if !used[path+"."+f.name] {
				t.Errorf("the example does not set %s.%s", path, f.name)
			}
		}
	}
}

var literal = regexp.MustCompile("^`([^`]+)`$")

// TestReferenceHasTheReadersDefaults: what the page calls required is required, nothing else is,
// and leaving a field out is the same as writing its default.
func TestReferenceHasTheReadersDefaults(t *testing.T) {
	r := readReference(t)
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(r.example), &doc); err != nil {
		t.Fatal(err)
	}
	required, defaults := 0, 0
	objects(&doc, "", func(path string, n *yaml.Node) {
		for _, f := range r.tables[path] {
			i := slices.IndexFunc(n.Content, func(k *yaml.Node) bool { return k.Value == f.name })
			if i < 0 || i%2 == 1 {
				continue
			}
			whole := n.Content
			n.Content = slices.Delete(slices.Clone(whole), i, i+2)
			without, err := parse(t, &doc)
			var fault apps.Fault
			misses := errors.As(err, &fault) && strings.HasSuffix(fault.Field, f.name) && fault.Value == ""
			if is := f.byDefault == "required"; is != misses && path+"."+f.name != "kinds.NAME.call.service" {
				t.Errorf("%s.%s without a value: %v; docs/application.md says %s", path, f.name, err, f.byDefault)
			} else if is {
				required++
			}
			if m := literal.FindStringSubmatch(f.byDefault); m != nil && err == nil {
				defaults++
				value := *whole[i+1]
				value.Kind, value.Tag, value.Value, value.Content = yaml.ScalarNode, "", m[1], nil
				n.Content = slices.Clone(whole)
				n.Content[i+1] = &value
				with, err := parse(t, &doc)
				if err != nil || !reflect.DeepEqual(with.App, without.App) {
					t.Errorf("%s.%s: the default is not %s, %v", path, f.name, f.byDefault, err)
				}
			}
			n.Content = whole
		}
	})
	if required < 40 || defaults < 15 {
		t.Errorf("%d required fields and %d defaults were tried: the page is written in another way now", required, defaults)
	}
}
