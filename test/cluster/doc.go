// Package cluster runs a real Kubernetes on the loopback interface for tests:
// etcd, kube-apiserver, kube-controller-manager and kube-scheduler, with fake
// nodes whose pods KWOK brings up, and on demand metrics-server, KEDA and
// Prometheus. What the pods of such nodes would do under load is played by one of
// our own engines (Player), in wall time, and shown as the metrics that real pods
// show, so that a real HPA and a real Prometheus see it.
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
// README.md has the whole of it.
//
// Reading order: binaries/ (what is run, built once), process.go (how it is run
// and stopped), pki.go and users.go (who is who), controlplane.go (the cluster
// itself), nodes.go and stages/ (fake nodes), apply.go and install.go (manifests),
// metricsserver.go, keda.go and prometheus.go (what else a cluster has), deploy.go
// (a modelled application as Deployments), player.go, player_pods.go and
// player_crash.go (physics), player_metrics.go, player_kubelet.go and
// player_kubestate.go (what it shows), shared.go and wait.go (for tests).
package cluster
