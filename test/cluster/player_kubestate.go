package cluster

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kubeState is the output of kube-state-metrics for the namespace, from the real objects.
func (p *Player) kubeState(b *bytes.Buffer) error {
	return kubeState(context.Background(), p.cache, b) // the cache answers from memory
}

// ServeKubeState serves the same of a namespace whose pods no Player plays, from the API server's
// objects at each scrape, until the end of the test. It returns what to scrape.
func (c *Cluster) ServeKubeState(t testing.TB, namespace string) Job {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		if err := kubeState(r.Context(), client.NewNamespacedClient(c.client, namespace), &b); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(b.Bytes())
	}))
	t.Cleanup(server.Close)
	return Job{Name: JobKubeState, Address: strings.TrimPrefix(server.URL, "http://")}
}

// kubeState is limited to what our queries read.
func kubeState(ctx context.Context, from client.Reader, b *bytes.Buffer) error {
	var deployments appsv1.DeploymentList
	var sets appsv1.ReplicaSetList
	var stateful appsv1.StatefulSetList
	var pods corev1.PodList
	for _, list := range []func() error{
		func() error { return from.List(ctx, &deployments) },
		func() error { return from.List(ctx, &sets) },
		func() error { return from.List(ctx, &stateful) },
		func() error { return from.List(ctx, &pods) },
	} {
		if err := list(); err != nil {
			return err
		}
	}
	x := exporter{b}
	gauges(x, "kube_deployment_spec_replicas", deployments.Items, func(d *appsv1.Deployment) {
		x.sample("kube_deployment_spec_replicas", float64(*d.Spec.Replicas), "namespace", d.Namespace, "deployment", d.Name)
	})
	gauges(x, "kube_deployment_status_replicas_ready", deployments.Items, func(d *appsv1.Deployment) {
		x.sample("kube_deployment_status_replicas_ready", float64(d.Status.ReadyReplicas), "namespace", d.Namespace, "deployment", d.Name)
	})
	gauges(x, "kube_statefulset_replicas", stateful.Items, func(s *appsv1.StatefulSet) {
		x.sample("kube_statefulset_replicas", float64(*s.Spec.Replicas), "namespace", s.Namespace, "statefulset", s.Name)
	})
	gauges(x, "kube_statefulset_status_replicas_ready", stateful.Items, func(s *appsv1.StatefulSet) {
		x.sample("kube_statefulset_status_replicas_ready", float64(s.Status.ReadyReplicas), "namespace", s.Namespace, "statefulset",
			s.Name)
	})
	gauges(x, "kube_replicaset_owner", sets.Items, func(s *appsv1.ReplicaSet) {
		if o := metav1.GetControllerOf(s); o != nil {
			x.sample("kube_replicaset_owner", 1, "namespace", s.Namespace, "replicaset", s.Name, "owner_kind", o.Kind, "owner_name",
				o.Name)
		}
	})
	kubePods(x, pods.Items)
	return nil
}

func kubePods(x exporter, pods []corev1.Pod) {
	gauges(x, "kube_pod_owner", pods, func(p *corev1.Pod) {
		if o := metav1.GetControllerOf(p); o != nil {
			x.sample("kube_pod_owner", 1, "namespace", p.Namespace, "pod", p.Name, "owner_kind", o.Kind, "owner_name", o.Name)
		}
	})
	gauges(x, "kube_pod_created", pods, func(p *corev1.Pod) {
		x.sample("kube_pod_created", float64(p.CreationTimestamp.Unix()), "namespace", p.Namespace, "pod", p.Name)
	})
	gauges(x, "kube_pod_status_ready_time", pods, func(p *corev1.Pod) {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				x.sample("kube_pod_status_ready_time", float64(c.LastTransitionTime.Unix()), "namespace", p.Namespace, "pod", p.Name)
			}
		}
	})
	x.family("kube_pod_container_status_restarts_total", "counter")
	for i := range pods {
		for _, c := range pods[i].Status.ContainerStatuses {
			x.sample("kube_pod_container_status_restarts_total", float64(c.RestartCount), "namespace", pods[i].Namespace, "pod",
				pods[i].Name, "container", c.Name)
		}
	}
	resources := func(name string, of func(*corev1.Container) corev1.ResourceList) {
		gauges(x, name, pods, func(p *corev1.Pod) {
			for i := range p.Spec.Containers {
				c := &p.Spec.Containers[i]
				for _, unit := range []struct {
					resource corev1.ResourceName
					name     string
				}{{corev1.ResourceCPU, "core"}, {corev1.ResourceMemory, "byte"}} {
					if q, set := of(c)[unit.resource]; set {
						x.sample(name, q.AsApproximateFloat64(), "namespace", p.Namespace, "pod", p.Name, "container", c.Name,
							"resource", string(unit.resource), "unit", unit.name)
					}
				}
			}
		})
	}
	resources("kube_pod_container_resource_requests", func(c *corev1.Container) corev1.ResourceList { return c.Resources.Requests })
	resources("kube_pod_container_resource_limits", func(c *corev1.Container) corev1.ResourceList { return c.Resources.Limits })
}

// gauges writes one family.
func gauges[T any](x exporter, name string, items []T, write func(*T)) {
	x.family(name, "gauge")
	for i := range items {
		write(&items[i])
	}
}
