package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/loadline/loadline/test/cluster/binaries"
)

// InstallLoadline applies the base of every installation: the CRD, the namespace and the
// controller's permissions, from deploy/. Further files are given from there, such as
// "rbac/optional-recreate.yaml". The test runs the controller itself, as the user Loadline.
func (c *Cluster) InstallLoadline(t testing.TB, further ...string) {
	t.Helper()
	deploy, err := binaries.Repository("deploy")
	if err != nil {
		t.Fatal(err)
	}
	files := append([]string{
		"crd", "namespace.yaml", "rbac/service-account.yaml", "rbac/cluster-role.yaml", "rbac/cluster-role-binding.yaml",
		"rbac/classes.yaml", "rbac/console.yaml", "rbac/leader-election.yaml",
	}, further...)
	for i, f := range files {
		files[i] = filepath.Join(deploy, f)
	}
	c.installing.Lock() // two tests that create the same object at once would conflict
	defer c.installing.Unlock()
	c.ApplyFile(t, "loadline-system", files...)
}

// installLease lets the controller hold its lease in another namespace than its own.
func (c *Cluster) installLease(ctx context.Context, namespace string) error {
	path, err := binaries.Repository("deploy/rbac/leader-election.yaml")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	objects, err := decode(text)
	if err != nil {
		return err
	}
	for _, o := range objects {
		o.SetNamespace(namespace)
		if err := c.applyObject(ctx, namespace, o); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}
