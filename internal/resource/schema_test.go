package resource_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/policy"
)

type schema struct {
	Properties  map[string]*schema
	Items       *schema
	Enum        []string
	Validations []struct{ Rule string } `yaml:"x-kubernetes-validations"`
}

// at follows names of fields; [] is an element of a list.
func (s *schema) at(t *testing.T, path string) *schema {
	t.Helper()
	for _, name := range strings.Split(path, ".") {
		next := s.Properties[name]
		if name == "[]" {
			next = s.Items
		}
		if next == nil {
			t.Fatalf("the schema has no %s", path)
		}
		s = next
	}
	return s
}

func definition(t *testing.T) *schema {
	t.Helper()
	text, err := os.ReadFile("../../deploy/crd/loadline.dev_loadlines.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema *schema `yaml:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// The schema lists names of other packages, which must agree.
func TestSchemaKnowsAllNames(t *testing.T) {
	d := definition(t)

	presets := d.at(t, "spec.prometheus.preset").Enum
	if !sameNames(presets, prom.Presets()) {
		t.Errorf("presets are %v, the schema has %v", prom.Presets(), presets)
	}

	// Trained ones come from a file, which is spec.policy.model; the oracle needs the future
	// load.
	var live []string
	for _, m := range policy.Methods() {
		if !m.ReadsFile() && !m.Oracle {
			live = append(live, m.Name)
		}
	}
	for _, field := range []string{"spec.fallback", "spec.policy.baseline"} {
		list := regexp.MustCompile(`in \[(.*?)\]`).FindStringSubmatch(d.at(t, field).Validations[0].Rule)
		if list == nil {
			t.Fatalf("%s lists no names", field)
		}
		if names := strings.Split(strings.ReplaceAll(list[1], "'", ""), ", "); !sameNames(names, live) {
			t.Errorf("baselines are %v, %s has %v", live, field, names)
		}
	}

	guards := guard.Defaults()
	guards.Off = d.at(t, "spec.guard.without.[]").Enum
	if err := guards.Validate(&loadline.App{}); err != nil {
		t.Error(err)
	}
	if len(guards.Off) != 9 {
		t.Errorf("%d guards may be left out, docs/guard.md names 9", len(guards.Off))
	}
}

func sameNames(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}
