package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// steady is an application with three replicas that are needed, before something
// goes wrong.
func steady(t *testing.T, floor int) (*scene, *cluster.Product, string) {
	t.Helper()
	s := setUp(t, settled(t), 160)
	p := s.c.Run(t, cluster.ProductOptions{})
	return s, p, s.steady(t, floor)
}

// settled is the smallest application with the replicas that 160 requests a second
// need: beginning with one, it would take a minute to get over the overload.
func settled(t *testing.T) *loadline.App {
	t.Helper()
	app := single(t)
	app.Services[0].Replicas = 3
	return app
}

func (s *scene) steady(t *testing.T, floor int) string {
	t.Helper()
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf("  services: [{name: %s, targetRef: {name: %s}, floor: {replicas: %d}, bounds: {replicas: {min: 1, max: 12}}}]\n", name, name, floor))
	s.waitReplicas(t, name, 3, 12)
	s.waitCondition(t, "Ready=True", "Fallback=False/Following", "Stale=False/Fresh")
	return name
}

// TestMetricsFail: whatever is wrong with the metrics, replicas never fall; the
// status says what is wrong; after guard.data.floorAfter the service is at its floor;
// and everything is as before once the metrics are. One process looks after all the
// applications to which it happens.
func TestMetricsFail(t *testing.T) {
	c := cluster.Shared(t)
	c.InstallLoadline(t)
	p := c.Run(t, cluster.ProductOptions{})
	t.Cleanup(func() {
		if p.Ended() {
			t.Error("the process ended")
		}
	})
	for _, c := range []struct {
		name    string
		begin   func(*testing.T, *scene)
		end     func(*testing.T, *scene)
		outcome []string
	}{
		{"Prometheus is down", func(_ *testing.T, s *scene) { s.prom.Stop() }, func(t *testing.T, s *scene) { s.prom.Start(t) },
			[]string{"Ready=False/PrometheusUnreachable", "Stale=True", "Fallback=True"}},
		{"Prometheus does not answer", func(_ *testing.T, s *scene) { s.prom.Pause() }, func(_ *testing.T, s *scene) { s.prom.Resume() },
			[]string{"Ready=False/PrometheusUnreachable", "Stale=True", "Fallback=True"}},
		{"the exporters are down", faults(cluster.Down), faults(cluster.Well), []string{"Stale=True", "Fallback=True"}},
		{"the exporters say nothing", faults(cluster.Empty), faults(cluster.Well), []string{"Stale=True", "Fallback=True"}},
		{"the exporters say NaN", faults(cluster.NotANumber), faults(cluster.Well), []string{"Stale=True", "Fallback=True"}},
		{"the exporters say what was long ago", faults(cluster.Old), faults(cluster.Well), []string{"Stale=True", "Fallback=True"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := setUp(t, settled(t), 160)
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
			cluster.Eventually(t, "the floor", func() error {
				if err := watch(); err != nil {
					return err
				}
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

func faults(f cluster.Fault) func(*testing.T, *scene) {
	return func(_ *testing.T, s *scene) {
		for _, j := range s.player.Jobs() {
			s.player.SetFault(j.Name, f)
		}
	}
}

// TestAPIServerRestarts: nothing is lost, and it goes on. Away for longer than the
// lease can wait for, the process ends, since another may decide by then; what
// restarts it is the kubelet in a cluster and the test here.
func TestAPIServerRestarts(t *testing.T) {
	const renewal = 8 * time.Second // the lease is given up after 10 s, counted from a renewal up to 2 s before
	s, p, name := steady(t, 3)
	outage := func(atLeast time.Duration) (away time.Duration) {
		t.Helper()
		began := time.Now()
		s.c.KillAPIServer(t)
		time.Sleep(atLeast)
		s.c.StartAPIServer(t)
		away = time.Since(began)
		t.Logf("the API server was away for %s", away.Round(time.Millisecond))
		return away
	}
	restart := func() {
		t.Helper()
		if p.Ended() {
			p = s.c.Run(t, cluster.ProductOptions{Dir: p.Dir})
		}
	}

	if away := outage(0); away < renewal && p.Ended() {
		t.Error("the process ended, although the API server was away for a shorter time than the lease lasts")
	}
	restart()
	s.player.SetRate(300)
	s.waitReplicas(t, name, 5, 12)

	outage(15 * time.Second)
	cluster.Eventually(t, "the process to give up its lease", func() error {
		if !p.Ended() {
			return fmt.Errorf("it still runs")
		}
		return nil
	})
	restart()
	s.player.SetRate(500)
	s.waitReplicas(t, name, 8, 12)
}

// TestKilledBetweenDecidingAndApplying: the decision is lost with the process, and
// made again by the next one.
func TestKilledBetweenDecidingAndApplying(t *testing.T) {
	s, p, name := steady(t, 3)
	before := s.replicas(t, name)
	s.player.SetRate(300)
	s.c.KillAPIServer(t)
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
	s.c.Run(t, cluster.ProductOptions{Dir: p.Dir})
	s.waitReplicas(t, name, 5, 12)
	if text := loadlineCommand(t, "explain", s.ns+"/shop", name, "--log", p.Dir+"/decisions"); !strings.Contains(text, name) {
		t.Errorf("explain says: %s", text)
	}
}

// TestConflictAppears: an HPA on the same workload stops us within an interval or
// two, and its end lets us go on.
func TestConflictAppears(t *testing.T) {
	s, _, name := steady(t, 3)
	least := int32(1)
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "somebody-else"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			MinReplicas:    &least, MaxReplicas: 12,
		},
	}
	if err := s.admin.Create(t.Context(), hpa); err != nil {
		t.Fatal(err)
	}
	s.waitCondition(t, "Conflict=True/HorizontalPodAutoscaler", "Active=False/Conflict")
	before := s.replicas(t, name)
	s.player.SetRate(300)
	cluster.Stays(t, 10*time.Second, "the replicas to be left alone", func() error {
		if n := s.replicas(t, name); n != before {
			return fmt.Errorf("%d replicas, there were %d", n, before)
		}
		return nil
	})
	if err := s.admin.Delete(t.Context(), hpa); err != nil {
		t.Fatal(err)
	}
	s.waitCondition(t, "Conflict=False/NoConflict", "Active=True/Acting")
	s.waitReplicas(t, name, 5, 12)
}
