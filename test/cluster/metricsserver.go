package cluster

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline/test/cluster/binaries"
)

// MetricsResolution is metrics-server's interval: the shortest that it allows.
const MetricsResolution = "10s"

// MetricsServer starts metrics-server, once for the cluster, so that HPAs on CPU and memory
// work. It reads the pods' usage from the Players, every MetricsResolution.
func (c *Cluster) MetricsServer(t testing.TB) {
	t.Helper()
	if err := c.metricsServer.do(func() error { return c.startMetricsServer(context.WithoutCancel(t.Context())) }); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) startMetricsServer(ctx context.Context) error {
	rbac, err := binaries.ModuleFile("sigs.k8s.io/metrics-server", "manifests/base/rbac.yaml")
	if err != nil {
		return err
	}
	if err := c.applyFiles(ctx, "kube-system", rbac); err != nil {
		return err
	}
	kubeconfig, err := c.Kubeconfig(Admin)
	if err != nil {
		return err
	}
	p, err := c.spawn("metrics-server", nil, c.program("metrics-server"), slices.Concat([]string{
		"--kubeconfig=" + kubeconfig, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.ports["metrics-server"]),
		"--kubelet-certificate-authority=" +
			c.pki.cert("ca"), "--kubelet-use-node-status-port", "--kubelet-preferred-address-types=InternalIP",
		"--metric-resolution=" + MetricsResolution, "--kubelet-request-timeout=5s",
	}, c.aggregated(kubeconfig))...)
	if err != nil {
		return err
	}
	if err := c.waitHealthy(ctx, p, "https://"+c.address("metrics-server")+"/livez", ""); err != nil {
		return err
	}
	return c.aggregate(ctx, "metrics-server", "kube-system", "metrics-server", "metrics.k8s.io", "v1beta1")
}

// MetricsAPI serves the API of metrics-server from a handler of the test, for more pods than can be played.
func (c *Cluster) MetricsAPI(t testing.TB, handler http.Handler) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(c.pki.cert("server"), c.pki.key("server"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", c.address("metrics-server"), &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
	if err := c.aggregate(t.Context(), "metrics-server", "kube-system", "metrics-server", "metrics.k8s.io", "v1beta1"); err != nil {
		t.Fatal(err)
	}
}

// aggregated are the flags of a server behind the API server.
func (c *Cluster) aggregated(kubeconfig string) []string {
	return []string{
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--tls-cert-file=" + c.pki.cert("server"), "--tls-private-key-file=" + c.pki.key("server"),
	}
}

// aggregate registers a server on the loopback interface for an API group, and waits until the
// API server reaches it. Only a Service of type ExternalName may point there.
func (c *Cluster) aggregate(ctx context.Context, server, namespace, service, group, version string) error {
	err := c.apply(ctx, namespace, fmt.Appendf(nil, `
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: %[2]s}
spec: {type: ExternalName, externalName: localhost, ports: [{port: %[3]d, targetPort: %[3]d}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: %[5]s.%[4]s}
spec:
  service: {name: %[1]s, namespace: %[2]s, port: %[3]d}
  group: %[4]s
  version: %[5]s
  groupPriorityMinimum: 100
  versionPriority: 100
  caBundle: %[6]s
`, service, namespace, c.ports[server], group, version, base64.StdEncoding.EncodeToString(c.pki.caText)))
	if err != nil {
		return err
	}
	return until(ctx, noEnd, "the API "+group, func() error {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("apiregistration.k8s.io/v1")
		o.SetKind("APIService")
		if err := c.client.Get(ctx, types.NamespacedName{Name: version + "." + group}, o); err != nil {
			return err
		}
		conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, condition := range conditions {
			if m, _ := condition.(map[string]any); m["type"] == "Available" && m["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("it is not available: %v %v", conditions, err)
	})
}
