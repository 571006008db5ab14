package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline/internal/sim"
)

// query asks Prometheus for one number.
func query(ctx context.Context, server, text string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/api/v1/query?query="+url.QueryEscape(text), nil)
	if err != nil {
		return 0, err
	}
	client := &http.Client{Timeout: 5 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var answer struct {
		Error string
		Data  struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return 0, err
	}
	if len(answer.Data.Result) != 1 {
		return 0, fmt.Errorf("%s has %d results %s", text, len(answer.Data.Result), answer.Error)
	}
	return strconv.ParseFloat(answer.Data.Result[0].Value[1].(string), 64)
}

// near says whether a query gives about a number.
func near(t *testing.T, server, text string, want float64) error {
	got, err := query(t.Context(), server, text)
	if err == nil && math.Abs(got-want) > 0.1*math.Abs(want)+1e-9 {
		err = fmt.Errorf("%s is %g, want %g", text, got, want)
	}
	return err
}

// At 40 requests per second the front uses 0.4 cores and the back 0.2, whatever
// their number: ten and five milliseconds for each.
func TestMetricsReachPrometheus(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	ns := c.Namespace(t)
	app := shop()
	c.Deploy(t, ns, app)
	p := c.Play(t, PlayerOptions{App: app, Namespace: ns})
	prom := c.Prometheus(t, PrometheusOptions{Jobs: p.Jobs()})
	p.SetRate(40)
	const inbound = `reporter="destination",destination_workload="front"`
	for _, q := range []struct {
		text string
		want float64
	}{
		{`sum(rate(istio_requests_total{` + inbound + `}[4s]))`, 40},
		{`sum(rate(container_cpu_usage_seconds_total{namespace="` + ns + `",pod=~"front-.*"}[4s]))`, 0.4},
		{`sum(rate(container_cpu_usage_seconds_total{namespace="` + ns + `",pod=~"back-.*"}[4s]))`, 0.2},
		{`sum(container_memory_working_set_bytes{pod=~"front-.*"} > bool 50e6)`, 2},
		{`count(kube_pod_created{namespace="` + ns + `"})`, 3},
		{`kube_deployment_status_replicas_ready{deployment="front"}`, 2},
		{`sum(kube_pod_container_resource_requests{resource="cpu",pod=~"front-.*"})`, 1},
		{`histogram_quantile(0.5, sum by (le) (rate(istio_request_duration_milliseconds_bucket{` + inbound + `}[4s]))) > bool 5`, 1},
	} {
		Eventually(t, q.text, func() error { return near(t, prom.URL, q.text, q.want) })
	}
	failed := `sum(rate(istio_requests_total{` + inbound + `,response_code="503"}[4s]))`

	// Without any pod all requests fail; with some again, none.
	c.Scale(t, ns, "front", 0)
	Eventually(t, "failures", func() error { return near(t, prom.URL, failed, 40) })
	c.Scale(t, ns, "front", 3)
	Eventually(t, "no failures", func() error { return near(t, prom.URL, failed, 0) })
	Eventually(t, "three pods that share the work", func() error {
		return near(t, prom.URL, `count(rate(container_cpu_usage_seconds_total{pod=~"front-.*"}[4s]) > 0.12)`, 3)
	})
	p.Look(func(m *sim.Meter) {
		if k := &m.Kinds[0]; k.Failed == 0 || k.Completed < 100 || m.Services[0].CoreSeconds == 0 {
			t.Errorf("%g failed, %g completed, %g core-seconds", k.Failed, k.Completed, m.Services[0].CoreSeconds)
		}
	})
}

func TestMetricsCanBeWrong(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	ns := c.Namespace(t)
	app := shop()
	c.Deploy(t, ns, app)
	p := c.Play(t, PlayerOptions{App: app, Namespace: ns})
	prom := c.Prometheus(t, PrometheusOptions{Jobs: p.Jobs()})
	p.SetRate(40)
	rate := `sum(rate(istio_requests_total{reporter="destination",destination_workload="front"}[3s]))`
	Eventually(t, "a rate", func() error { return near(t, prom.URL, rate, 40) })
	p.SetFault(JobMesh, Frozen)
	Eventually(t, "counters that stand still", func() error { return near(t, prom.URL, rate, 0) })
	p.SetFault(JobMesh, Down)
	Eventually(t, "a job that is down", func() error { return near(t, prom.URL, `up{job="istio"}`, 0) })
	p.SetFault(JobMesh, Well)
	Eventually(t, "a rate again", func() error { return near(t, prom.URL, rate, 40) })

	prom.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	if _, err := query(ctx, prom.URL, rate); err == nil {
		t.Error("a server that stands still answers")
	}
	cancel()
	prom.Resume()
	Eventually(t, "an answer", func() error { return near(t, prom.URL, rate, 40) })
	prom.Stop()
	if _, err := query(t.Context(), prom.URL, rate); err == nil {
		t.Error("a server that was stopped answers")
	}
	prom.Start(t)
	Eventually(t, "an answer", func() error { return near(t, prom.URL, rate, 40) })
}

// A smaller limit makes the same requests slower, from the moment at which it is in
// force.
func TestSizesInForceArePlayed(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	ns := c.Namespace(t)
	app := shop()
	app.Services[0].Replicas = 1
	c.Deploy(t, ns, app)
	p := c.Play(t, PlayerOptions{App: app, Namespace: ns})
	prom := c.Prometheus(t, PrometheusOptions{Jobs: p.Jobs()})
	p.SetRate(30)
	throttled := `sum(rate(container_cpu_cfs_throttled_periods_total{pod=~"front-.*"}[4s])) / sum(rate(container_cpu_cfs_periods_total{pod=~"front-.*"}[4s]))`
	share := func(low, high float64) func() error {
		return func() error {
			got, err := query(t.Context(), prom.URL, throttled)
			if err == nil && (got < low || got > high) {
				err = fmt.Errorf("%g of the periods are cut short, want %g to %g", got, low, high)
			}
			return err
		}
	}
	Eventually(t, "little throttling", share(0, 0.3))
	pod := c.Pods(t, ns, "front")[0]
	if err := resizePod(t, c.Client(t, Admin), &pod, "500m"); err != nil {
		t.Fatal(err)
	}
	if err := resizePod(t, c.Client(t, Admin), &pod, "310m"); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "much throttling", share(0.7, 1))
}

// A container that runs out of memory is visible: restarted, and not ready during its start-up.
func TestContainersRunOutOfMemory(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	ns := c.Namespace(t)
	app := shop()
	app.Services[0].Replicas = 1
	app.Services[0].Memory.PerRequest = 4 << 20
	c.Deploy(t, ns, app)
	p := c.Play(t, PlayerOptions{App: app, Namespace: ns})
	p.SetRate(300) // three times what a pod can do
	Eventually(t, "a restart", func() error {
		pod := c.Pods(t, ns, "front")[0]
		s := pod.Status.ContainerStatuses[0]
		if s.RestartCount == 0 || s.LastTerminationState.Terminated == nil || s.LastTerminationState.Terminated.Reason != "OOMKilled" {
			return fmt.Errorf("%d restarts, last state %v", s.RestartCount, s.LastTerminationState)
		}
		return nil
	})
	p.SetRate(0)
	c.WaitReady(t, ns, "front", 1)
}

// podCPU is a pod's usage by metrics-server, in cores.
func podCPU(t *testing.T, c *Cluster, ns, pod string) (float64, error) {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("metrics.k8s.io/v1beta1")
	o.SetKind("PodMetrics")
	if err := c.Client(t, Admin).Get(t.Context(), types.NamespacedName{Namespace: ns, Name: pod}, o); err != nil {
		return 0, err
	}
	containers, _, err := unstructured.NestedSlice(o.Object, "containers")
	if err != nil || len(containers) != 1 {
		return 0, fmt.Errorf("%d containers: %v", len(containers), err)
	}
	text, _, err := unstructured.NestedString(containers[0].(map[string]any), "usage", "cpu")
	if err != nil {
		return 0, err
	}
	q, err := resource.ParseQuantity(text)
	return q.AsApproximateFloat64(), err
}

// Metrics-server reports the player's usage, and a real HPA acts on it: at 120 requests per
// second the front uses 1.2 cores, which is 50 % of 2.4, and pods request half a core each.
func TestHPASeesWhatIsPlayed(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	c.MetricsServer(t)
	ns := c.Namespace(t)
	app := shop()
	c.Deploy(t, ns, app)
	p := c.Play(t, PlayerOptions{App: app, Namespace: ns})
	p.SetRate(40)
	pod := c.Pods(t, ns, "front")[0]
	Eventually(t, "a sample of the CPU", func() error {
		got, err := podCPU(t, c, ns, pod.Name)
		if err == nil && math.Abs(got-0.2) > 0.004 {
			err = fmt.Errorf("metrics-server says %g cores, want 0.2", got)
		}
		return err
	})
	// A reading is of an instant between its call and its return, which may be far apart on a
	// busy machine.
	called := time.Now()
	before, _ := p.CPUSeconds(pod.Name)
	returned := time.Now()
	time.Sleep(time.Second)
	shortest := time.Since(returned).Seconds()
	after, there := p.CPUSeconds(pod.Name)
	longest := time.Since(called).Seconds()
	if used := after - before; !there || used < 0.9*0.2*shortest || used > 1.1*0.2*longest {
		t.Errorf("the player says that %g CPU seconds were used in %g to %g s, want 0.2 cores", used, shortest, longest)
	}

	min, target := int32(1), int32(50)
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "front"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "front"},
			MinReplicas:    &min, MaxReplicas: 10,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType,
						AverageUtilization: &target},
				},
			}},
		},
	}
	if err := c.Client(t, Admin).Create(t.Context(), hpa); err != nil {
		t.Fatal(err)
	}
	p.SetRate(120)
	c.WaitReady(t, ns, "front", 5)
}
