package apps

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// The YAML nodes that [Encode] is made of.

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

func put(m *yaml.Node, key string, value *yaml.Node) {
	m.Content = append(m.Content, text(key), value)
}

// word is a scalar written plainly: a number, a duration, a keyword.
func word(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

// text is a scalar that is always read as a string.
func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

func count(n int) *yaml.Node { return word(strconv.Itoa(n)) }

func inline(n *yaml.Node) *yaml.Node {
	n.Style |= yaml.FlowStyle
	return n
}

// marked tags a node with an origin.
func marked(n *yaml.Node, tag string) *yaml.Node {
	if tag != "" {
		n.Tag = tag
		n.Style |= yaml.TaggedStyle
	}
	return n
}

// pairs is a one-line mapping of plain scalars: key, value, key, value.
func pairs(keysAndValues ...string) *yaml.Node {
	m := inline(mapping())
	for i := 0; i < len(keysAndValues); i += 2 {
		put(m, keysAndValues[i], word(keysAndValues[i+1]))
	}
	return m
}

func spanOf(least, most string) *yaml.Node {
	return inline(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{word(least), word(most)}})
}
