package apps

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reader walks a file's nodes and collects faults: every method returns something usable after
// a fault, so that one pass finds all.
type reader struct {
	file    string
	faults  []Fault
	figures []Figure
	origins []Origin
}

func (r *reader) fault(line int, field, value, want string) {
	r.faults = append(r.faults, Fault{File: r.file, Line: line, Field: field, Value: value, Want: want})
}

// at is one node of the file, with its path and its origin by the enclosing tags.
type at struct {
	*yaml.Node
	path    string
	origin  string
	keyLine int // of its key; 0 = none
}

// home is the line to report for something missing in the node: its key's, as a block begins a
// line below.
func (a at) home() int {
	if a.keyLine > 0 {
		return a.keyLine
	}
	return a.Line
}

// enter follows a node: it applies the node's tag and rejects aliases, which could make a small
// file endless (shared sub-trees have "calls").
func (r *reader) enter(n *yaml.Node, path, origin string) at {
	if n.Kind == yaml.AliasNode {
		r.fault(n.Line, path, "*"+n.Value, "written out: aliases are not taken (for call trees there is \"use\")")
		return at{Node: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line}, path: path, origin: origin}
	}
	if name, ok := localTag(n.Tag); ok {
		if r.origin(name) == nil {
			names := r.originNames()
			want := "the name of one of the file's origins" + didYouMean(name, names)
			r.fault(n.Line, path, n.Tag, want)
		} else {
			origin = name
		}
	}
	return at{Node: n, path: path, origin: origin}
}

func (r *reader) origin(name string) *Origin {
	i := slices.IndexFunc(r.origins, func(o Origin) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return &r.origins[i]
}

func (r *reader) originNames() []string {
	names := make([]string, len(r.origins))
	for i, o := range r.origins {
		names[i] = o.Name
	}
	return names
}

// null reports whether a node is empty: "cpu:" with nothing after it.
func (a at) null() bool { return a.Kind == yaml.ScalarNode && a.Tag == "!!null" }

// text is a node as shown in a fault.
func (a at) text() string {
	switch a.Kind {
	case yaml.ScalarNode:
		if a.Value == "" && !a.null() {
			return `""`
		}
		return a.Value
	case yaml.SequenceNode:
		return fmt.Sprintf("a list of %d", len(a.Content))
	case yaml.MappingNode:
		keys := make([]string, 0, len(a.Content)/2)
		for i := 0; i < len(a.Content); i += 2 {
			keys = append(keys, a.Content[i].Value)
		}
		return "{" + strings.Join(keys, ", ") + "}"
	}
	return ""
}

// entry is one key of a mapping with its value.
type entry struct {
	key  string
	line int
	at
}

// entries lists a mapping in the order of the file. A duplicate key is a fault; the first one
// counts.
func (r *reader) entries(a at, want string) []entry {
	if a.Kind != yaml.MappingNode {
		r.fault(a.Line, a.path, a.text(), want)
		return nil
	}
	var list []entry
	seen := map[string]int{}
	for i := 0; i+1 < len(a.Content); i += 2 {
		key := a.Content[i]
		path := key.Value
		if a.path != "" {
			path = a.path + "." + key.Value
		}
		if key.Kind != yaml.ScalarNode || key.Value == "" {
			r.fault(key.Line, a.path, at{Node: key}.text(), "a mapping whose keys are names")
			continue
		}
		if first, twice := seen[key.Value]; twice {
			r.fault(key.Line, path, key.Value, fmt.Sprintf("unique: it is in line %d already", first))
			continue
		}
		seen[key.Value] = key.Line
		value := r.enter(a.Content[i+1], path, a.origin)
		value.keyLine = key.Line
		list = append(list, entry{key: key.Value, line: key.Line, at: value})
	}
	return list
}

// object is a mapping with known fields.
type object struct {
	r      *reader
	at     at
	fields map[string]at
}

// object reads a mapping with known fields; others are faults with the closest known one.
func (r *reader) object(a at, want string, known ...string) object {
	o := object{r: r, at: a, fields: map[string]at{}}
	for _, e := range r.entries(a, want) {
		if !slices.Contains(known, e.key) {
			r.fault(e.line, e.path, e.key, "one of the fields "+strings.Join(known, ", ")+didYouMean(e.key, known))
			continue
		}
		if !e.null() {
			o.fields[e.key] = e.at
		}
	}
	return o
}

func (o object) has(field string) bool { _, ok := o.fields[field]; return ok }

func (o object) path(field string) string {
	if o.at.path == "" {
		return field
	}
	return o.at.path + "." + field
}

// need returns a field's node; a missing one is a fault.
func (o object) need(field, want string) (at, bool) {
	a, ok := o.fields[field]
	// A parent that is not a mapping was reported already.
	if !ok && o.at.Kind == yaml.MappingNode {
		o.r.fault(o.at.home(), o.path(field), "", want)
	}
	return a, ok
}

// words reads free text.
func (o object) words(field string) string {
	a, ok := o.fields[field]
	if !ok {
		return ""
	}
	if a.Kind != yaml.ScalarNode {
		o.r.fault(a.Line, a.path, a.text(), "text")
		return ""
	}
	return strings.TrimSpace(a.Value)
}

// choice reads one of some words, the first being the default.
func (o object) choice(field string, choices ...string) int {
	a, ok := o.fields[field]
	if !ok {
		return 0
	}
	i := slices.Index(choices, a.Value)
	if a.Kind != yaml.ScalarNode || i < 0 {
		o.r.fault(a.Line, a.path, a.text(), "one of "+strings.Join(choices, ", ")+didYouMean(a.Value, choices))
		return 0
	}
	return i
}

func (o object) yes(field string) bool { return o.choice(field, "false", "true") == 1 }
