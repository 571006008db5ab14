package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// steadyIn is an application that needs three replicas, before a fault.
func steadyIn(t *testing.T, c *cluster.Cluster, floor int) (*fixture, *cluster.Product, string) {
	t.Helper()
	s := setUpIn(t, c, c.Namespace(t), settled(t), 160)
	p := s.run(t, cluster.ProductOptions{})
	return s, p, s.steady(t, floor)
}

// settled is the smallest application with the replicas for 160 requests per second: from one
// replica, it would take a minute to recover from the overload.
func settled(t *testing.T) *loadline.App {
	t.Helper()
	app := single(t)
	app.Services[0].Replicas = 3
	return app
}

// slowToReduce is a rule that reduces after 20 s. When an exporter goes silent, rates over the last
// 15 s fall towards zero until their newest sample is too old, after 10 s (data.maxAge of quick).
const slowToReduce = `  policy: {baseline: "hpa:target=60,period=2s,down-window=20s,init-period=1s"}
  fallback: "hpa:target=60,period=2s,down-window=20s,init-period=1s"
`

func (s *fixture) steady(t *testing.T, floor int) string {
	t.Helper()
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf("  services: [{name: %s, targetRef: {name: %s}, floor: {replicas: %d}, bounds: "+
		"{replicas: {min: 1, max: 12}}}]\n", name, name, floor)+slowToReduce)
	s.waitReplicas(t, name, 3, 12)
	s.waitCondition(t, "Ready=True", "Fallback=False/Following", "Stale=False/Fresh")
	return name
}

// TestMetricsFail: with any fault of the metrics, replicas are never reduced; the status
// reports the fault; after guard.data.floorAfter the service is at its floor; and everything
// recovers with the metrics. One process manages all affected applications at the same time.
func TestMetricsFail(t *testing.T) {
	t.Parallel()
	shared := cluster.Shared(t)
	shared.InstallLoadline(t)
	cases := []struct {
		name    string
		begin   func(*testing.T, *fixture)
		end     func(*testing.T, *fixture)
		outcome []string
	}{
		{"Prometheus is down", func(_ *testing.T, s *fixture) { s.prom.Stop() }, func(t *testing.T, s *fixture) { s.prom.Start(t) },
			[]string{"Ready=False/PrometheusUnreachable", "Stale=True", "Fallback=True"}},
		{"Prometheus does not answer", func(_ *testing.T, s *fixture) { s.prom.Pause() },
			func(_ *testing.T, s *fixture) { s.prom.Resume() },
			[]string{"Ready=False/PrometheusUnreachable", "Stale=True", "Fallback=True"}},
		{"the exporters are down", faults(cluster.Down), faults(cluster.Well), []string{"Stale=True", "Fallback=True"}},
		{"the exporters say nothing", faults(cluster.Empty), faults(cluster.Well), []string{"Stale=True", "Fallback=True"}},
		{"the exporters say NaN", faults(cluster.NotANumber), faults(cluster.Well), []string{"Stale=True", "Fallback=True"}},
		{"the exporters say what was long ago", faults(cluster.Old), faults(cluster.Well), []string{"Stale=True", "Fallback=True"}},
	}
	var namespaces []string
	for range cases {
		namespaces = append(namespaces, shared.Namespace(t))
	}
	p := shared.Run(t, cluster.ProductOptions{Namespaces: namespaces})
	t.Cleanup(func() {
		if p.Ended() {
			t.Error("the process ended")
		}
	})
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := setUpIn(t, shared, namespaces[i], settled(t), 160)
			name := s.steady(t, 7)
			before := s.replicas(t, name)
			c.begin(t, s)
			least := before
			watch := func() error {
				n := s.replicas(t, name)
				if n < least {
					return fmt.Errorf("replicas fell from %d to %d while nothing could be seen", least, n)
				}
				least = max(least, n)
				return nil
			}
			s.waitCondition(t, c.outcome...)
			cluster.StaysUntil(t, "replicas that do not fall, up to the floor", watch, func() error {
				if n := s.replicas(t, name); n < 7 {
					return fmt.Errorf("%d replicas; %s", n, s.why(t))
				}
				return nil
			})
			if err := watch(); err != nil {
				t.Error(err)
			}
			c.end(t, s)
			s.waitCondition(t, "Ready=True", "Stale=False/Fresh", "Fallback=False/Following")
			s.waitReplicas(t, name, 2, 6)
		})
	}
}

func faults(f cluster.Fault) func(*testing.T, *fixture) {
	return func(_ *testing.T, s *fixture) {
		for _, j := range s.player.Jobs() {
			s.player.SetFault(j.Name, f)
		}
	}
}

// TestAPIServerOutages has a cluster of its own: an outage affects all tests.
func TestAPIServerOutages(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{})
	c.InstallLoadline(t)
	t.Run("the API server restarts", func(t *testing.T) { testAPIServerRestarts(t, c) })
	t.Run("killed between deciding and applying", func(t *testing.T) { testKilledBetweenDecidingAndApplying(t, c) })
}

// testAPIServerRestarts: nothing is lost, and the controller continues. After an outage longer
// than the lease the process ends, since another may decide by then; in a cluster the kubelet
// restarts it, here the test.
func testAPIServerRestarts(t *testing.T, c *cluster.Cluster) {
	const renewal = 8 * time.Second // the lease is given up after 10 s, counted from a renewal up to 2 s before
	s := setUpIn(t, c, c.Namespace(t), settled(t), 160)
	p := s.run(t, cluster.ProductOptions{LeaderElect: true})
	name := s.steady(t, 3)
	restart := func() {
		t.Helper()
		if p.Ended() {
			p = s.run(t, cluster.ProductOptions{Dir: p.Dir, LeaderElect: true})
		}
	}
	follow := func(rate float64, low int) {
		t.Helper()
		s.player.SetRate(rate)
		cluster.Eventually(t, fmt.Sprintf("%d replicas or more", low), func() error {
			restart()
			if n := s.replicas(t, name); n < low {
				return fmt.Errorf("%d replicas; status: %s", n, s.why(t))
			}
			return nil
		})
	}

	began := time.Now()
	s.c.KillAPIServer(t)
	s.c.StartAPIServer(t)
	if down := time.Since(began); down < renewal && p.Ended() {
		t.Errorf("the process ended, although the API server was down for %v only, which is less than the lease lasts", down)
	}
	follow(300, 5)

	s.c.KillAPIServer(t)
	cluster.Eventually(t, "the process to give up its lease", func() error {
		if !p.Ended() {
			return fmt.Errorf("it still runs")
		}
		return nil
	})
	s.c.StartAPIServer(t)
	follow(500, 8)
}

// testKilledBetweenDecidingAndApplying: the decision is lost with the process, and made again
// by the next one.
func testKilledBetweenDecidingAndApplying(t *testing.T, c *cluster.Cluster) {
	s, p, name := steadyIn(t, c, 3)
	const before = 3
	s.settles(t, p, 6, name, before) // nothing is decided while a change is under way
	s.c.KillAPIServer(t)
	s.player.SetRate(300)
	cluster.Eventually(t, "a decision that cannot be applied", func() error {
		if !strings.Contains(p.Log(t), "pass failed") || !strings.Contains(p.Log(t), "apply:") {
			return fmt.Errorf("none yet")
		}
		return nil
	})
	p.Kill()
	s.c.StartAPIServer(t)
	if n := s.replicas(t, name); n != before {
		t.Errorf("%d replicas, want the %d from before", n, before)
	}
	s.run(t, cluster.ProductOptions{Dir: p.Dir})
	s.waitReplicas(t, name, 5, 12)
	if text := loadlineCommand(t, "explain", s.ns+"/shop", name, "--log", p.Dir+"/decisions"); !strings.Contains(text, name) {
		t.Errorf("explain says: %s", text)
	}
}

// TestConflictAppears: an HPA on the same workload stops Loadline within an interval or
// two; it continues when the HPA is deleted.
func TestConflictAppears(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t)
	c.InstallLoadline(t)
	s, p, name := steadyIn(t, c, 3)
	least := int32(1)
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "somebody-else"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			MinReplicas:    &least, MaxReplicas: 12,
			// This metric is not served, so the HPA does not scale.
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: "not-served"},
				Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewQuantity(1, resource.DecimalSI),
				},
			}}},
		},
	}
	if err := s.admin.Create(t.Context(), hpa); err != nil {
		t.Fatal(err)
	}
	s.waitCondition(t, "Conflict=True/HorizontalPodAutoscaler", "Active=False/Conflict")
	before := s.replicas(t, name)
	s.player.SetRate(300)
	s.staysFor(t, p, 4, name, before)
	if err := s.admin.Delete(t.Context(), hpa); err != nil {
		t.Fatal(err)
	}
	s.waitCondition(t, "Conflict=False/NoConflict", "Active=True/Acting")
	s.waitReplicas(t, name, 5, 12)
}
