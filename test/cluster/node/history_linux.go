package node

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/lab/realapp"
	"github.com/loadline/loadline/test/cluster"
)

// Prometheus scrapes what an application of real pods exposes: the servers' metrics, with the labels
// namespace and pod, and cAdvisor's from the kubelet. What kube-state-metrics exposes comes from an
// exporter of the tests; so do the pods' addresses, since Debian's Prometheus has no discovery by the
// API server.
func (d *Deployed) Prometheus(t testing.TB, scrape time.Duration) *cluster.Prometheus {
	t.Helper()
	n := d.node
	discovery := httptest.NewServer(http.HandlerFunc(d.discover))
	t.Cleanup(discovery.Close)
	return n.Cluster.Prometheus(t, cluster.PrometheusOptions{
		Scrape:        scrape,
		ScrapeConfigs: fmt.Sprintf("- {job_name: pods, http_sd_configs: [{url: %q, refresh_interval: 1s}]}\n", discovery.URL),
		Jobs: []cluster.Job{
			{Name: "cadvisor", Address: n.Kubelet, Path: "/metrics/cadvisor", Token: n.Config(cluster.Admin).BearerToken},
			n.ServeKubeState(t, d.Namespace),
		},
	})
}

// discover answers with the ready pods of the namespace, as Prometheus' discovery by HTTP wants it.
func (d *Deployed) discover(w http.ResponseWriter, r *http.Request) {
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	var pods corev1.PodList
	if err := d.node.admin.List(r.Context(), &pods, client.InNamespace(d.Namespace)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	groups := []group{}
	for i := range pods.Items {
		if pod := &pods.Items[i]; isReady(pod) {
			groups = append(groups, group{
				[]string{net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(realapp.Port))},
				map[string]string{"namespace": pod.Namespace, "pod": pod.Name},
			})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(groups) // Prometheus may have gone
}
