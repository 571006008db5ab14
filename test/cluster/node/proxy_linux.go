package node

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/loadline/loadline/test/cluster"
)

// proxyUser has the role that Kubernetes makes for kube-proxy.
var proxyUser = cluster.User{Name: "system:kube-proxy"}

// startProxy gives Services their addresses. Connections are divided by the kernel, as on most
// clusters: a connection stays with its pod, and a new pod gets new connections only.
func (n *Node) startProxy(t testing.TB, program string) {
	t.Helper()
	kubeconfig, err := n.Kubeconfig(proxyUser)
	if err != nil {
		t.Fatal(err)
	}
	health := "127.0.0.1:10256"
	// The limits of connection tracking are the machine's: they stay as they are.
	config := n.file(t, "kube-proxy.yaml", fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: {kubeconfig: %q}
hostnameOverride: %s
clusterCIDR: %s
detectLocalMode: ClusterCIDR
healthzBindAddress: %q
metricsBindAddress: 127.0.0.1:10249
iptables: {minSyncPeriod: 100ms}
oomScoreAdj: 0
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`, kubeconfig, Name, podAddresses, health))
	n.Server(t, "kube-proxy", program, "--config="+config, "--v=2")
	cluster.Eventually(t, "kube-proxy", func() error {
		answer, err := http.Get("http://" + health + "/healthz")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %s", answer.Status)
		}
		return nil
	})
}

// seeBridged lets the kernel's address translation see what pods of this node send each other: the
// answers of a Service's pods pass the bridge only.
func seeBridged() error {
	err := os.WriteFile("/proc/sys/net/bridge/bridge-nf-call-iptables", []byte("1"), 0o644)
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("the kernel cannot translate addresses on bridges: load the module br_netfilter")
	}
	return err
}

// podAddresses of the node.
const podAddresses = "10.200.0.0/24"
