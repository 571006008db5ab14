package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/deploy"
)

const (
	crdName = "loadlines.loadline.dev"
	crdFile = "crd/loadline.dev_loadlines.yaml"
)

var crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// definition compares the cluster's definition of a LoadLine with our own.
func (e *exam) definition(ctx context.Context) {
	a := e.of(OfInstallation)
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(crdKind)
	err := e.Reader.Get(ctx, types.NamespacedName{Name: crdName}, crd)
	switch {
	case apierrors.IsNotFound(err):
		return // installation reports it, with what else is missing
	case err != nil && e.defined:
		a.note("crd", "ask for get on customresourcedefinitions",
			"LoadLines are served; whether their definition fits this command could not be seen: %s.", why(err))
		return
	case err != nil:
		e.unseen(a, "crd", "the definition of LoadLines", err, "")
		return
	}
	e.compareDefinition(a, crd)
}

const applyCRD = "kubectl apply --server-side -f deploy/crd"

func (e *exam) compareDefinition(a about, crd *unstructured.Unstructured) {
	for _, name := range []string{"NamesAccepted", "Established"} {
		if status, message := condition(crd, name); status != "True" {
			a.fault("crd", "kubectl describe crd "+crdName, "The definition of LoadLines is not in force (%s is %q): %s", name, status,
				message)
			return
		}
	}
	version := v1alpha1.GroupVersion.Version
	theirs := versionOf(crd.Object, version)
	if served, _, _ := unstructured.NestedBool(theirs, "served"); !served {
		a.fault("crd", applyCRD, "The definition of LoadLines does not serve %s.", v1alpha1.GroupVersion)
		return
	}
	ours, err := ownDefinition()
	if err != nil {
		a.warn("crd", "report this", "The definition within this command cannot be read: %v", err)
		return
	}
	d := compareSchemas(schemaOf(versionOf(ours, version)), schemaOf(theirs))
	switch {
	case len(d.missing) > 0 && len(d.extra) > 0:
		a.warn("crd", "install the definition, the controller and this command from one release",
			"The definition of LoadLines is of another release: it lacks %s, and has %s besides.", some(d.missing), some(d.extra))
	case len(d.missing) > 0:
		a.warn("crd", applyCRD, "The definition of LoadLines is older than this command: it lacks %s, and drops %s.", some(d.missing),
			count(len(d.missing), "field", "fields"))
	case len(d.extra) > 0:
		a.warn("crd", "use a newer loadline, or go back with "+applyCRD,
			"The definition of LoadLines is newer than this command: it has %s besides.", some(d.extra))
	case d.otherwise:
		a.note("crd", applyCRD, "The definition of LoadLines has this command's fields, with other rules, defaults or descriptions.")
	default:
		a.ok("crd", "The definition of LoadLines (%s) is this command's.", v1alpha1.GroupVersion)
	}
}

// ownDefinition is the embedded one. It is shared and must not be changed.
var ownDefinition = sync.OnceValues(func() (map[string]any, error) {
	text, err := deploy.Files.ReadFile(crdFile)
	if err != nil {
		return nil, err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, fmt.Errorf("deploy/%s: %w", crdFile, err)
	}
	return crd, nil
})

// versionOf a definition, by name; nil if it has none.
func versionOf(crd map[string]any, name string) map[string]any {
	versions, _, _ := unstructured.NestedFieldNoCopy(crd, "spec", "versions")
	list, _ := versions.([]any)
	for _, v := range list {
		if m, ok := v.(map[string]any); ok && m["name"] == name {
			return m
		}
	}
	return nil
}

func schemaOf(version map[string]any) map[string]any {
	s, _, _ := unstructured.NestedFieldNoCopy(version, "schema", "openAPIV3Schema")
	m, _ := s.(map[string]any)
	return m
}

// difference between two schemas.
type difference struct {
	missing, extra []string // fields
	otherwise      bool     // anything else
}

func compareSchemas(ours, theirs map[string]any) difference {
	mine, other := map[string]bool{}, map[string]bool{}
	fields(ours, "", mine)
	fields(theirs, "", other)
	var d difference
	for name := range mine {
		if !other[name] {
			d.missing = append(d.missing, name)
		}
	}
	for name := range other {
		if !mine[name] {
			d.extra = append(d.extra, name)
		}
	}
	slices.Sort(d.missing)
	slices.Sort(d.extra)
	a, _ := json.Marshal(ours) // maps are written in the order of their keys
	b, _ := json.Marshal(theirs)
	d.otherwise = !bytes.Equal(a, b)
	return d
}

// fields of a schema by their paths.
func fields(s map[string]any, path string, into map[string]bool) {
	if properties, ok := s["properties"].(map[string]any); ok {
		for name, p := range properties {
			full := name
			if path != "" {
				full = path + "." + name
			}
			into[full] = true
			if m, ok := p.(map[string]any); ok {
				fields(m, full, into)
			}
		}
	}
	if items, ok := s["items"].(map[string]any); ok {
		fields(items, path+"[]", into)
	}
}

// condition of an unstructured object.
func condition(o *unstructured.Unstructured, name string) (status, message string) {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		if m, ok := c.(map[string]any); ok && m["type"] == name {
			status, _ = m["status"].(string)
			message, _ = m["message"].(string)
			return status, message
		}
	}
	return "", "nothing is said of it yet"
}
