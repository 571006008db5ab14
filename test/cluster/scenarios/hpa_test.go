package scenarios

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/test/cluster"
)

// stairs is a load in steps, each so small that any mixture of before and after in a sample
// needs the same number of replicas or the next.
type stairs []struct {
	until     time.Duration
	perSecond float64
}

// Rate implements sim.Arrivals.
func (s stairs) Rate(_ int, t time.Duration) (float64, time.Duration) {
	for _, step := range s {
		if t < step.until {
			return step.perSecond, step.until
		}
	}
	last := s[len(s)-1]
	return last.perSecond, t + time.Hour
}

// hpaSampling is how often metrics-server measures the CPU.
const hpaSampling = 10 * time.Second

// TestRealHPA: under the same load, Kubernetes' own HPA with metrics-server and our policy
// `hpa` in the simulator go through the same numbers of replicas. Timing is compared in fake
// time, where it is exact (TestHPAIsTheOriginal).
func TestRealHPA(t *testing.T) {
	t.Parallel()
	load := stairs{{50 * time.Second, 50}, {100 * time.Second, 90}, {150 * time.Second, 150}, {200 * time.Second, 90},
		{250 * time.Second, 20}}
	app := single(t)
	want := ourHPA(t, app, load)
	got := realHPA(t, app, load, want)
	t.Logf("replicas: %v", got)
	if !slices.Equal(got, want) {
		t.Errorf("the real HPA goes through %v replicas, ours through %v", got, want)
	}
}

// realHPA runs the load under Kubernetes' own autoscaler. It goes to the next step when the
// autoscaler has the replicas of the current one, and has measured them.
func realHPA(t *testing.T, app *loadline.App, load stairs, want []int) []int {
	t.Helper()
	if len(want) != len(load) {
		t.Fatalf("our HPA goes through %v replicas under %d steps of load: every step should change them once", want, len(load))
	}
	c := cluster.Shared(t)
	c.MetricsServer(t)
	s := &fixture{c: c, admin: c.Client(t, cluster.Admin), ns: c.Namespace(t), app: app}
	c.Deploy(t, s.ns, app)
	s.player = c.Play(t, cluster.PlayerOptions{App: app, Namespace: s.ns})
	least, target, window := int32(1), int32(60), int32(20)
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "server"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "server"},
			MinReplicas:    &least, MaxReplicas: 20,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType,
						AverageUtilization: &target},
				},
			}},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &window}},
		},
	}
	if err := s.admin.Create(t.Context(), hpa); err != nil {
		t.Fatal(err)
	}
	var got []int
	for i, step := range load {
		s.player.SetRate(step.perSecond)
		cluster.Eventually(t, fmt.Sprintf("%d replicas at %v requests per second", want[i], step.perSecond), func() error {
			n := s.replicas(t, "server")
			if len(got) == 0 || got[len(got)-1] != n {
				got = append(got, n)
			}
			return s.settled(t, hpa, want[i], step.perSecond)
		})
	}
	return got
}

// settled has no error once the HPA has a number of replicas and has measured their CPU at a
// load.
func (s *fixture) settled(t *testing.T, hpa *autoscalingv2.HorizontalPodAutoscaler, replicas int, perSecond float64) error {
	t.Helper()
	var now autoscalingv2.HorizontalPodAutoscaler
	if err := s.admin.Get(t.Context(), keyOf(hpa), &now); err != nil {
		return err
	}
	st := now.Status
	if int(st.CurrentReplicas) != replicas || int(st.DesiredReplicas) != replicas {
		return fmt.Errorf("%d replicas, %d wanted", st.CurrentReplicas, st.DesiredReplicas)
	}
	if len(st.CurrentMetrics) == 0 || st.CurrentMetrics[0].Resource == nil ||
		st.CurrentMetrics[0].Resource.Current.AverageUtilization == nil {
		return fmt.Errorf("the HPA has not measured the CPU: %+v", st)
	}
	service := &s.app.Services[0]
	want := 100 * perSecond * service.CPU.Mean.Seconds() / service.Size.CPURequest / float64(replicas)
	if is := float64(*st.CurrentMetrics[0].Resource.Current.AverageUtilization); math.Abs(is-want) > 3 {
		return fmt.Errorf("the HPA measures a utilization of %v %%, want %.0f %%", is, want)
	}
	return nil
}

// ourHPA simulates the same and returns the numbers of replicas, one after the other.
func ourHPA(t *testing.T, app *loadline.App, load stairs) []int {
	t.Helper()
	replicas := []int{app.Services[0].Replicas}
	_, err := simulate.Run(t.Context(), simulate.Spec{
		App: app, Load: load, Workload: "stairs", Engine: "fluid", Duration: load[len(load)-1].until, Seed: 1,
		Policy: fmt.Sprintf("hpa:target=60,period=2s,down-window=20s,resolution=%v,lag=0s", hpaSampling),
		Hooks: simulate.Hooks{Decision: func(d *loadline.Decision) {
			for _, p := range d.Plan.Services {
				if p.Setting.Replicas.Set {
					replicas = append(replicas, p.Setting.Replicas.Value)
				}
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return replicas
}
