package deploy

import (
	"encoding/json"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type schema struct {
	Properties           map[string]schema `json:"properties"`
	AdditionalProperties any               `json:"additionalProperties"`
}

// Every value has a comment, and is in the schema; the schema has nothing else.
func TestValuesAreDocumented(t *testing.T) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(read(t, chartDir, "values.yaml")), &doc); err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal([]byte(read(t, chartDir, "values.schema.json")), &s); err != nil {
		t.Fatal(err)
	}
	delete(s.Properties, "global") // Helm's own
	checkValues(t, "", doc.Content[0], s)
}

func checkValues(t *testing.T, path string, node *yaml.Node, s schema) {
	t.Helper()
	if s.AdditionalProperties != false {
		t.Errorf("%s: the schema lets slips through", path)
	}
	known := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		here := strings.TrimPrefix(path+"."+key.Value, ".")
		known[key.Value] = true
		below, there := s.Properties[key.Value]
		if !there {
			t.Errorf("%s is not in the schema", here)
		}
		switch {
		case value.Kind == yaml.MappingNode && len(below.Properties) > 0 && here != "resources":
			checkValues(t, here, value, below)
		case len(strings.TrimSpace(key.HeadComment)) < len("# json or text."):
			t.Errorf("%s has no comment", here)
		}
	}
	for name := range s.Properties {
		if !known[name] {
			t.Errorf("%s.%s is in the schema only", path, name)
		}
	}
}
