package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/test/cluster"
)

// Controllers of kube-controller-manager that Deployments without pods and the HPA controller need.
const rivalControllers = "--controllers=serviceaccount-controller,horizontal-pod-autoscaler-controller"

// podsOfEach Deployment. Nothing runs them.
const podsOfEach = 2

// measureHPAs measures Kubernetes' HPA controller: HPAs on CPU for Deployments of two pods.
func measureHPAs(t *testing.T, count int, measured, interval time.Duration) {
	c := cluster.Start(t, cluster.Options{HPASync: interval, ControllerManager: []string{rivalControllers}, NoNodes: true})
	metrics := &podMetrics{}
	c.MetricsAPI(t, metrics)
	admin := c.Client(t, cluster.Admin)
	each(t, count, func(ctx context.Context, i int) error {
		ns, err := workload(ctx, admin, i)
		if err != nil {
			return err
		}
		for pod := range podsOfEach {
			if err := runningPod(ctx, admin, ns, pod); err != nil {
				return err
			}
		}
		utilisation := int32(60)
		least := int32(podsOfEach)
		return admin.Create(ctx, &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: serviceName(0)},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: serviceName(0)},
				MinReplicas:    &least, MaxReplicas: 12,
				Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
					Name:   corev1.ResourceCPU,
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &utilisation},
				}}},
			},
		})
	})
	hpasScale(t, admin, count)
	measureProcesses(t, c, measured, &metrics.requests, "requests for metrics", "kube-controller-manager")
	hpasScale(t, admin, count)
}

// measureScaledObjects measures KEDA with a Prometheus trigger each, and the HPA controller that it needs.
func measureScaledObjects(t *testing.T, count int, measured, interval time.Duration) {
	c := cluster.Start(t, cluster.Options{HPASync: interval, ControllerManager: []string{rivalControllers}, NoNodes: true})
	c.KEDA(t)
	metrics := &answers{}
	metrics.services.Store(1) // of each namespace, so that a query has one result
	server := httptest.NewServer(metrics)
	defer server.Close()
	admin := c.Client(t, cluster.Admin)
	each(t, count, func(ctx context.Context, i int) error {
		ns, err := workload(ctx, admin, i)
		if err != nil {
			return err
		}
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
			"metadata": map[string]any{"namespace": ns, "name": serviceName(0)},
			"spec": map[string]any{
				"scaleTargetRef": map[string]any{"name": serviceName(0)}, "pollingInterval": int64(interval.Seconds()),
				"minReplicaCount": int64(podsOfEach), "maxReplicaCount": int64(12),
				"triggers": []any{map[string]any{"type": "prometheus", "metadata": map[string]any{
					"serverAddress": server.URL, "threshold": "6.25",
					"query": fmt.Sprintf(`sum(rate(http_requests_total{namespace=%q}[1m]))`, ns),
				}}},
			},
		}}
		return admin.Create(ctx, o)
	})
	hpasScale(t, admin, count)
	measureProcesses(t, c, measured, &metrics.queries, "Prometheus queries", "keda-operator", "keda-adapter", "kube-controller-manager")
	hpasScale(t, admin, count)
}

// workload is a Deployment in a namespace of its own.
func workload(ctx context.Context, admin client.Client, i int) (string, error) {
	ns := fmt.Sprintf("app-%d", i)
	if err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
		return ns, err
	}
	return ns, deployment(ctx, admin, ns, serviceName(0))
}

// runningPod of the Deployment says of itself that it has been ready for an hour.
func runningPod(ctx context.Context, admin client.Client, ns string, i int) error {
	since := metav1.NewTime(time.Now().Add(-time.Hour))
	no := false
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("%s-%d", serviceName(0), i), Labels: map[string]string{"app": serviceName(0)}},
		Spec: corev1.PodSpec{NodeName: "none", AutomountServiceAccountToken: &no, Containers: []corev1.Container{{Name: "app", Image: "app:1",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": quantity("500m"), "memory": quantity("256Mi")}}}}},
	}
	// The namespace has no service account until its controller has made one.
	err := cluster.Until(ctx, "a pod of "+ns, func() error { return admin.Create(ctx, pod) })
	if err != nil {
		return err
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &since, Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}}
	return admin.Status().Update(ctx, pod)
}

// hpasScale waits until every HPA has read its metric.
func hpasScale(t *testing.T, admin client.Client, count int) {
	t.Helper()
	cluster.Eventually(t, "HPAs with a metric", func() error {
		var list autoscalingv2.HorizontalPodAutoscalerList
		if err := admin.List(t.Context(), &list); err != nil {
			return err
		}
		active, message := 0, ""
		for i := range list.Items {
			for _, c := range list.Items[i].Status.Conditions {
				switch {
				case c.Type != autoscalingv2.ScalingActive:
				case c.Status == corev1.ConditionTrue:
					active++
				default:
					message = c.Message
				}
			}
			if d := list.Items[i].Status.DesiredReplicas; d != podsOfEach && d != 0 {
				return fmt.Errorf("%s wants %d replicas under a load for %d", list.Items[i].Namespace, d, podsOfEach)
			}
		}
		if active != count {
			return fmt.Errorf("%d of %d: %s", active, count, message)
		}
		return nil
	})
}

// measureProcesses measures what autoscalers use by name, what they ask and what they write.
func measureProcesses(t *testing.T, c *cluster.Cluster, measured time.Duration, asked *atomic.Int64, what string, names ...string) {
	t.Helper()
	before := map[string]cluster.Usage{}
	for _, name := range names {
		before[name] = c.UsageOf(t, name)
	}
	beforeAsked, beforeWrites := asked.Load(), c.Writes(t)
	time.Sleep(measured)
	seconds := measured.Seconds()
	cores, resident := 0.0, 0.0
	for _, name := range names {
		now := c.UsageOf(t, name)
		used := (now.CPU - before[name].CPU).Seconds() / seconds
		cores, resident = cores+used, resident+float64(now.Resident)/1e6
		t.Logf("%s: %.3f cores, %.0f MB resident (%.0f MB at most)", name, used, float64(now.Resident)/1e6, float64(now.Peak)/1e6)
	}
	n := asked.Load() - beforeAsked
	if n == 0 {
		t.Errorf("no %s came", what)
	}
	t.Logf("together %.3f cores, %.0f MB; %.1f %s/s; API writes/s: %s", cores, resident, float64(n)/seconds, what,
		c.Writes(t).Sub(beforeWrites).PerSecond(seconds))
}

// podMetrics is the API of metrics-server for the pods of runningPod: each uses what the HPAs aim at.
type podMetrics struct{ requests atomic.Int64 }

func (m *podMetrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	rest, found := strings.CutPrefix(r.URL.Path, "/apis/metrics.k8s.io/v1beta1/namespaces/")
	ns, _, found2 := strings.Cut(rest, "/pods")
	if !found || !found2 { // discovery
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "metrics.k8s.io/v1beta1",
			"resources": []any{map[string]any{"name": "pods", "kind": "PodMetrics", "namespaced": true, "verbs": []string{"get", "list"}}}})
		return
	}
	m.requests.Add(1)
	items := []any{}
	for pod := range podsOfEach {
		items = append(items, map[string]any{
			"metadata":  map[string]any{"name": fmt.Sprintf("%s-%d", serviceName(0), pod), "namespace": ns},
			"timestamp": time.Now().UTC().Format(time.RFC3339), "window": "15s",
			"containers": []any{map[string]any{"name": "app", "usage": map[string]any{"cpu": "300m", "memory": "100Mi"}}},
		})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": map[string]any{}, "items": items})
}
