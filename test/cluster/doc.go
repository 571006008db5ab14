// Package cluster runs a real Kubernetes on the loopback interface for tests: etcd,
// kube-apiserver, kube-controller-manager and kube-scheduler, with fake nodes whose pods KWOK
// simulates, and on demand metrics-server, KEDA and Prometheus. The behaviour of the pods under
// load is simulated by one of our own engines (Player), in wall time, and exported as the
// metrics of real pods, so that a real HPA and a real Prometheus see it.
//
//	func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		c := cluster.Shared(t)                        // or cluster.Start(t, cluster.Options{...})
//		ns := c.Namespace(t)                          // one of this test's own
//		c.Deploy(t, ns, app)                          // Deployments of a modelled application
//		p := c.Play(t, cluster.PlayerOptions{App: app, Namespace: ns})
//		prom := c.Prometheus(t, cluster.PrometheusOptions{Jobs: p.Jobs()})
//		p.SetRate(200)
//		cluster.Eventually(t, "more pods", func() error { ... })
//	}
//
// README.md has the details.
//
// Reading order: binaries/ (programs, built once), process.go (starting and stopping), pki.go
// and users.go (identities), controlplane.go (the cluster itself), nodes.go and stages/ (fake
// nodes), apply.go and install.go (manifests), metricsserver.go, keda.go and prometheus.go
// (other components), deploy.go (a modelled application as Deployments), player.go,
// player_pods.go and player_crash.go (load and pods), player_metrics.go, player_kubelet.go and
// player_kubestate.go (metrics), shared.go and wait.go (for tests).
package cluster
