package cluster

import (
	"path/filepath"
	"testing"

	"github.com/loadline/loadline/test/cluster/binaries"
)

// InstallLoadline applies what every installation has: the resource, the
// namespace and the controller's permissions, from deploy/. Further files are
// given from there, such as "rbac/optional-recreate.yaml". The controller itself is
// the test's to run, as the user Loadline.
func (c *Cluster) InstallLoadline(t testing.TB, further ...string) {
	t.Helper()
	deploy, err := binaries.Repository("deploy")
	if err != nil {
		t.Fatal(err)
	}
	files := append([]string{
		"crd", "namespace.yaml", "rbac/service-account.yaml", "rbac/cluster-role.yaml", "rbac/cluster-role-binding.yaml", "rbac/leader-election.yaml",
	}, further...)
	for i, f := range files {
		files[i] = filepath.Join(deploy, f)
	}
	c.ApplyFile(t, "loadline-system", files...)
}
