package scenarios

import (
	"fmt"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/test/cluster"
)

// stairs is a load in steps, each small enough that whatever mixture of before and
// after a sample holds asks for the same number of replicas or the next.
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

// hpaSync is how often both autoscalers look, and hpaSampling how often what they
// see is measured: neither is in step with the other's.
const (
	hpaSync     = 5 * time.Second
	hpaSampling = 10 * time.Second
)

// TestRealHPA: under the same load, Kubernetes' own HPA with metrics-server and our
// policy `hpa` in the simulator take the same replicas at the same time, to within
// one sync and one look of metrics-server.
func TestRealHPA(t *testing.T) {
	t.Parallel() // it has a cluster of its own
	load := stairs{{40 * time.Second, 50}, {90 * time.Second, 90}, {140 * time.Second, 150}, {190 * time.Second, 90}, {240 * time.Second, 20}}
	app := single(t)
	real := realHPA(t, app, load)
	ours := ourHPA(t, app, load)
	t.Logf("real: %v", real)
	t.Logf("ours: %v", ours)
	if len(real) != len(ours) {
		t.Fatalf("the real HPA made %d changes, ours %d", len(real)-1, len(ours)-1)
	}
	for i := range ours {
		if real[i].replicas != ours[i].replicas {
			t.Errorf("change %d: the real HPA goes to %d, ours to %d", i, real[i].replicas, ours[i].replicas)
		}
		if apart := (real[i].at - ours[i].at).Abs(); apart > hpaSync+hpaSampling {
			t.Errorf("change %d to %d replicas: %v apart", i, ours[i].replicas, apart)
		}
	}
}

// move is a number of replicas and since when.
type move struct {
	at       time.Duration
	replicas int
}

func (m move) String() string { return fmt.Sprintf("%d at %v", m.replicas, m.at.Round(time.Second)) }

// realHPA plays the load under Kubernetes' own autoscaler.
func realHPA(t *testing.T, app *loadline.App, load stairs) []move {
	t.Helper()
	c := cluster.Start(t, cluster.Options{HPASync: hpaSync})
	c.MetricsServer(t)
	s := &scene{c: c, admin: c.Client(t, cluster.Admin), ns: c.Namespace(t), app: app}
	c.Deploy(t, s.ns, app)
	s.player = c.Play(t, cluster.PlayerOptions{App: app, Namespace: s.ns})
	s.player.SetRate(load[0].perSecond)
	least, target, window := int32(1), int32(60), int32(20)
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "server"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "server"},
			MinReplicas:    &least, MaxReplicas: 20,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &target},
				},
			}},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &window}},
		},
	}
	if err := s.admin.Create(t.Context(), hpa); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the HPA to see the CPU", func() error {
		var now autoscalingv2.HorizontalPodAutoscaler
		if err := s.admin.Get(t.Context(), keyOf(hpa), &now); err != nil {
			return err
		}
		if len(now.Status.CurrentMetrics) == 0 || now.Status.CurrentMetrics[0].Resource == nil || now.Status.CurrentMetrics[0].Resource.Current.AverageUtilization == nil {
			return fmt.Errorf("its status is %+v", now.Status)
		}
		return nil
	})
	began := time.Now()
	moves := []move{{0, s.replicas(t, "server")}}
	for step := 0; time.Since(began) < load[len(load)-1].until; {
		for time.Since(began) >= load[step].until {
			step++
		}
		s.player.SetRate(load[step].perSecond)
		if n := s.replicas(t, "server"); n != moves[len(moves)-1].replicas {
			moves = append(moves, move{time.Since(began), n})
		}
		time.Sleep(200 * time.Millisecond)
	}
	return moves
}

// ourHPA simulates the same.
func ourHPA(t *testing.T, app *loadline.App, load stairs) []move {
	t.Helper()
	moves := []move{{0, app.Services[0].Replicas}}
	var began time.Time
	_, err := simulate.Run(t.Context(), simulate.Spec{
		App: app, Load: load, Workload: "stairs", Engine: "fluid", Duration: load[len(load)-1].until, Seed: 1,
		Policy: fmt.Sprintf("hpa:target=60,period=%v,down-window=20s,resolution=%v,lag=0s", hpaSync, hpaSampling),
		Hooks: simulate.Hooks{Decision: func(d *loadline.Decision) {
			if began.IsZero() {
				began = d.At
			}
			for _, p := range d.Plan.Services {
				if p.Setting.Replicas.Set {
					moves = append(moves, move{d.At.Sub(began), p.Setting.Replicas.Value})
				}
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return moves
}
