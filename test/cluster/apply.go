package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FieldManager is the field manager of the harness.
const FieldManager = "cluster-test"

// ApplyYAML applies manifests, as Admin. Namespaces and CRDs come first, whatever their order,
// and CRDs are waited for. Objects without a namespace go to the given one.
func (c *Cluster) ApplyYAML(t testing.TB, namespace, text string) {
	t.Helper()
	if err := c.apply(t.Context(), namespace, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// ApplyFile applies files, and all manifests in folders.
func (c *Cluster) ApplyFile(t testing.TB, namespace string, paths ...string) {
	t.Helper()
	if err := c.applyFiles(t.Context(), namespace, paths...); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) applyFiles(ctx context.Context, namespace string, paths ...string) error {
	var all bytes.Buffer
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err != nil {
			return err
		} else if info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
				return err
			}
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			all.WriteString("---\n")
			all.Write(text)
			all.WriteByte('\n')
		}
	}
	return c.apply(ctx, namespace, all.Bytes())
}

func (c *Cluster) apply(ctx context.Context, namespace string, text []byte) error {
	objects, err := decode(text)
	if err != nil {
		return err
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	for _, o := range objects {
		if err := c.applyObject(ctx, namespace, o); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// rank is the order in which objects are applied.
func rank(o *unstructured.Unstructured) int {
	switch o.GetKind() {
	case "CustomResourceDefinition":
		return 0
	case "Namespace":
		return 1
	}
	return 2
}

func decode(text []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		switch err := decoder.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

func (c *Cluster) applyObject(ctx context.Context, namespace string, o *unstructured.Unstructured) error {
	// The definition of the kind may have been applied a moment ago.
	err := until(ctx, noEnd, "the kind "+o.GetKind(), func() error {
		namespaced, err := c.client.IsObjectNamespaced(o)
		switch {
		case meta.IsNoMatchError(err):
			return err
		case err != nil:
			return fatal{err}
		}
		if namespaced && o.GetNamespace() == "" {
			o.SetNamespace(namespace)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(FieldManager),
		client.ForceOwnership); err != nil {
		return err
	}
	if o.GetKind() == "CustomResourceDefinition" {
		return c.established(ctx, o.GetName())
	}
	return nil
}

// established waits until the API server serves a kind.
func (c *Cluster) established(ctx context.Context, name string) error {
	return until(ctx, noEnd, "the definition "+name, func() error {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := c.client.Get(ctx, types.NamespacedName{Name: name}, &crd); err != nil {
			return err
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("it is not established: %v", crd.Status.Conditions)
	})
}
