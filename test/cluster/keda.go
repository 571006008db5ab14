package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loadline/loadline/test/cluster/binaries"
)

// KEDA starts KEDA's operator and metrics adapter, once for the cluster. External
// triggers reach scalers at loopback addresses ("127.0.0.1:PORT").
func (c *Cluster) KEDA(t testing.TB) {
	t.Helper()
	if err := c.keda.do(func() error { return c.startKEDA(context.WithoutCancel(t.Context())) }); err != nil {
		t.Fatal(err)
	}
}

// KEDAOperator is KEDA's operator, which asks the scalers. KEDA comes before it.
func (c *Cluster) KEDAOperator() *Server { return c.kedaOperator }

func (c *Cluster) startKEDA(ctx context.Context) error {
	config, err := binaries.ModuleFile("github.com/kedacore/keda/v2", "config")
	if err != nil {
		return err
	}
	if err := c.apply(ctx, "", []byte("{apiVersion: v1, kind: Namespace, metadata: {name: keda}}")); err != nil {
		return err
	}
	if err := c.applyFiles(ctx, "keda", filepath.Join(config, "crd", "bases"),
		filepath.Join(config, "metrics-server", "role.yaml"), filepath.Join(config, "metrics-server", "role_binding.yaml")); err != nil {
		return err
	}
	kubeconfig, err := c.Kubeconfig(Admin)
	if err != nil {
		return err
	}
	certs, err := c.kedaCerts()
	if err != nil {
		return err
	}
	env := []string{"KUBECONFIG=" + kubeconfig, "POD_NAMESPACE=keda", "KEDA_CLUSTER_OBJECT_NAMESPACE=keda", "WATCH_NAMESPACE="}
	c.kedaOperator = &Server{c: c, name: "keda-operator", env: env, program: c.program("operator"), args: []string{
		"--metrics-bind-address=" + c.address("keda-operator-metrics"), "--health-probe-bind-address=" + c.address("keda-operator-health"),
		"--metrics-service-bind-address=" + c.address("keda-operator"), "--cert-dir=" + certs, "--zap-encoder=console"}}
	if err := c.kedaOperator.start(); err != nil {
		return err
	}
	if err := c.waitHealthy(ctx, c.kedaOperator.process, "http://"+c.address("keda-operator-health")+"/readyz", ""); err != nil {
		return err
	}
	_, err = c.spawn("keda-adapter", env, c.program("adapter"), slices.Concat([]string{
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.ports["keda-adapter"]), fmt.Sprintf("--port=%d",
			c.ports["keda-adapter-metrics"]),
		fmt.Sprintf("--metrics-service-address=localhost:%d", c.ports["keda-operator"]), "--cert-dir=" + certs,
		"--client-ca-file=" + c.pki.cert("ca"), "--lister-kubeconfig=" + kubeconfig,
	}, c.aggregated(kubeconfig))...)
	if err != nil {
		return err
	}
	return c.aggregate(ctx, "keda-adapter", "keda", "keda-metrics-apiserver", "external.metrics.k8s.io", "v1beta1")
}

// kedaCerts is a folder with the file names that KEDA expects.
func (c *Cluster) kedaCerts() (string, error) {
	dir := filepath.Join(c.pki.dir, "keda")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	for name, from := range map[string]string{"ca.crt": c.pki.cert("ca"), "tls.crt": c.pki.cert("server"),
		"tls.key": c.pki.key("server")} {
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return "", err
		}
	}
	return dir, nil
}
