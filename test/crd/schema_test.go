// Package crd holds the LoadLine resource against the API server's own code: the
// schema that is generated, its defaults and each of its rules. It is a module of
// its own, so that the product does not depend on the API server.
package crd

import (
	"context"
	"os"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

const (
	definition      = "../../deploy/crd/loadline.dev_loadlines.yaml"
	classDefinition = "../../deploy/crd/loadline.dev_loadlineclasses.yaml"
)

// definitions of both resources.
var definitions = []string{definition, classDefinition}

// server does with an object what the API server does before it is kept.
type server struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

func readDefinition(t *testing.T, definition string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile(definition)
	if err != nil {
		t.Fatal(err)
	}
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &v1); err != nil {
		t.Fatal(err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&v1)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
	v1.Status.StoredVersions = []string{"v1alpha1"}
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, &internal,
		nil); err != nil {
		t.Fatal(err)
	}
	return &internal
}

func newServer(t *testing.T) *server { t.Helper(); return newServerOf(t, definition) }

func newServerOf(t *testing.T, definition string) *server {
	t.Helper()
	d := readDefinition(t, definition)
	schema := d.Spec.Validation
	if schema == nil {
		schema = d.Spec.Versions[0].Schema
	}
	structural, err := structuralschema.NewStructural(schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	checks, _, err := validation.NewSchemaValidator(schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return &server{structural, checks, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

// take fills in defaults and returns everything that is wrong with an object.
// Rules are not asked about an object of the wrong shape.
func (s *server) take(object map[string]any) []string {
	dropped := pruning.PruneWithOptions(object, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.Default(object, s.structural)
	errs := validation.ValidateCustomResource(nil, object, s.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	if !wrongShape(errs) {
		found, _ := s.rules.Validate(context.Background(), nil, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, found...)
	}
	var texts []string
	for _, path := range dropped {
		texts = append(texts, "unknown field "+path)
	}
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return texts
}

func wrongShape(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
			field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}

// decode reads YAML as the API server does: whole numbers are integers.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err == nil {
		err = json.Unmarshal(asJSON, into)
	}
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	decode(t, text, &object)
	return object
}

// The API server takes the definition: structural, defaults sound, names free, and
// no rule that might cost more than it allows.
func TestDefinitionIsAccepted(t *testing.T) {
	for _, file := range definitions {
		for _, err := range crdvalidation.ValidateCustomResourceDefinition(context.Background(), readDefinition(t, file)) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// What kubectl explain shows: every field of ours says what it is.
func TestEveryFieldIsDocumented(t *testing.T) {
	for _, file := range definitions {
		checkDocumented(t, readDefinition(t, file))
	}
}

func checkDocumented(t *testing.T, d *apiextensions.CustomResourceDefinition) {
	schema := d.Spec.Validation
	if schema == nil {
		schema = d.Spec.Versions[0].Schema
	}
	var look func(path string, s *apiextensions.JSONSchemaProps)
	look = func(path string, s *apiextensions.JSONSchemaProps) {
		if strings.TrimSpace(s.Description) == "" && path != ".metadata" {
			t.Errorf("%s has no description", path)
		}
		for name, p := range s.Properties {
			look(path+"."+name, &p)
		}
		if s.Items != nil && s.Items.Schema != nil {
			for name, p := range s.Items.Schema.Properties {
				look(path+"[]."+name, &p)
			}
		}
	}
	for name, p := range schema.OpenAPIV3Schema.Properties {
		look("."+name, &p)
	}
}

// Everything is bounded, so that an object and the cost of its rules are.
func TestEverythingIsBounded(t *testing.T) {
	for _, file := range definitions {
		checkBounded(t, readDefinition(t, file))
	}
}

func checkBounded(t *testing.T, d *apiextensions.CustomResourceDefinition) {
	schema := d.Spec.Validation
	if schema == nil {
		schema = d.Spec.Versions[0].Schema
	}
	var look func(path string, s *apiextensions.JSONSchemaProps)
	look = func(path string, s *apiextensions.JSONSchemaProps) {
		bad := ""
		switch {
		case s.XIntOrString && s.MaxLength == nil && !strings.HasPrefix(path, ".status"),
			s.Type == "string" && s.MaxLength == nil && len(s.Enum) == 0 && s.Format != "date-time":
			bad = "maxLength"
		case s.Type == "array" && s.MaxItems == nil:
			bad = "maxItems"
		case s.Type == "object" && s.AdditionalProperties != nil && s.MaxProperties == nil:
			bad = "maxProperties"
		}
		if bad != "" {
			t.Errorf("%s has no %s", path, bad)
		}
		for name, p := range s.Properties {
			look(path+"."+name, &p)
		}
		if s.Items != nil && s.Items.Schema != nil {
			look(path+"[]", s.Items.Schema)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			look(path+"{}", s.AdditionalProperties.Schema)
		}
	}
	for _, name := range []string{"spec", "status"} {
		p := schema.OpenAPIV3Schema.Properties[name]
		look("."+name, &p)
	}
}
