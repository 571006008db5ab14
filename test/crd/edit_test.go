package crd

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// examples are the YAML blocks of the page about the resource: the least, and
// everything.
func examples(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/resource.md")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1) {
		texts = append(texts, string(m[1]))
	}
	if len(texts) != 2 {
		t.Fatalf("docs/resource.md has %d examples, expected the least and everything", len(texts))
	}
	return texts
}

func least(t *testing.T) map[string]any      { return parse(t, examples(t)[0]) }
func everything(t *testing.T) map[string]any { return parse(t, examples(t)[1]) }

// edit changes an object: lines of PATH: VALUE, or PATH: absent. A path is written
// spec.services[0].name; beyond the end of a list an element is added.
func edit(t *testing.T, object map[string]any, lines string) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		path, text, found := strings.Cut(strings.TrimSpace(line), ": ")
		if !found {
			t.Fatalf("%q is not PATH: VALUE", line)
		}
		var value any
		decode(t, text, &value)
		set(t, object, steps(path), value, text == "absent")
	}
}

func steps(path string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(path, "[", ".["), func(r rune) bool { return r == '.' })
}

func set(t *testing.T, in any, path []string, value any, remove bool) {
	t.Helper()
	key, last := path[0], len(path) == 1
	switch in := in.(type) {
	case map[string]any:
		switch {
		case last && remove:
			delete(in, key)
		case last:
			in[key] = value
		case strings.HasPrefix(path[1], "["):
			list, _ := in[key].([]any)
			i, err := strconv.Atoi(strings.Trim(path[1], "[]"))
			if err != nil {
				t.Fatal(err)
			}
			for len(list) <= i {
				list = append(list, map[string]any{})
			}
			in[key] = list
			if len(path) == 2 {
				list[i] = value
				return
			}
			set(t, list[i], path[2:], value, remove)
		default:
			if in[key] == nil {
				in[key] = map[string]any{}
			}
			set(t, in[key], path[1:], value, remove)
		}
	default:
		t.Fatalf("%v leads into %T", path, in)
	}
}
