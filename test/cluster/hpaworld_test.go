package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	scalefake "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

// world is the original controller with its inputs. It runs in a synctest bubble, so that we
// control its clock.
type world struct {
	pods   cache.Indexer
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	byName map[string]*autoscaler
	looked map[string]int
	shown  map[string][]*corev1.Pod
}

const hpaNamespace = "test"

func newWorld(t *testing.T, list []*autoscaler) *world {
	t.Helper()
	// The rate limiter has a clock of its own, which is not the bubble's.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	klog.SetLogger(logr.Discard())
	t.Cleanup(klog.ClearLogger)
	w := &world{byName: map[string]*autoscaler{}, looked: map[string]int{}, shown: map[string][]*corev1.Pod{}}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	var objects []runtime.Object
	for _, a := range list {
		w.byName[a.name] = a
		objects = append(objects, a.rules.object(a.name))
	}
	client := fake.NewClientset(objects...)
	ignore := func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &autoscalingv2.HorizontalPodAutoscaler{}, nil
	}
	client.PrependReactor("update", "horizontalpodautoscalers", ignore) // its status does not matter
	client.PrependReactor("create", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return true, a.(clienttesting.CreateAction).GetObject(), nil
	})
	scales := &scalefake.FakeScaleClient{}
	scales.AddReactor("get", "deployments", w.getScale)
	scales.AddReactor("update", "deployments", w.updateScale)
	factory := informers.NewSharedInformerFactory(client, 0)
	controller := podautoscaler.NewHorizontalController(ctx, client.CoreV1(), scales, client.AutoscalingV2(),
		testrestmapper.TestOnlyStaticRESTMapper(legacyscheme.Scheme), (*hpaSamples)(w),
		factory.Autoscaling().V2().HorizontalPodAutoscalers(), factory.Core().V1().Pods(),
		hpaPeriod, hpaStabilise, 0.1, hpaInit, hpaReadiness)
	w.pods = factory.Core().V1().Pods().Informer().GetIndexer()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	w.done.Go(func() { controller.Run(ctx, 1) })
	w.done.Go(func() { <-ctx.Done(); factory.Shutdown() })
	return w
}

func (w *world) stop() {
	w.cancel()
	w.done.Wait()
}

// show gives the controller the pods of this round.
func (w *world) show(a *autoscaler, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, old := range w.shown[a.name] {
		_ = w.pods.Delete(old)
	}
	w.shown[a.name] = nil
	for i := range a.round.pods {
		pod := a.round.pods[i].object(a.name, i, now)
		_ = w.pods.Add(pod)
		w.shown[a.name] = append(w.shown[a.name], pod)
	}
}

// syncs is how often the controller has processed an autoscaler since the last call.
func (w *world) syncs(a *autoscaler) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.looked[a.name]
	w.looked[a.name] = 0
	return n
}

func (w *world) getScale(action clienttesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.byName[action.(clienttesting.GetAction).GetName()]
	w.looked[a.name]++
	return true, &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: hpaNamespace, Name: a.name},
		Spec:       autoscalingv1.ScaleSpec{Replicas: int32(a.replicas)},
		Status:     autoscalingv1.ScaleStatus{Replicas: int32(a.round.there()), Selector: "app=" + a.name},
	}, nil
}

func (w *world) updateScale(action clienttesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	scale := action.(clienttesting.UpdateAction).GetObject().(*autoscalingv1.Scale)
	w.byName[scale.Name].replicas = int(scale.Spec.Replicas)
	return true, scale, nil
}

// hpaSamples is the world as the metrics APIs show it.
type hpaSamples world

func (s *hpaSamples) of(selector labels.Selector) *autoscaler {
	requirements, _ := selector.Requirements()
	name, _ := requirements[0].Values().PopAny()
	return s.byName[name]
}

func (s *hpaSamples) samples(selector labels.Selector, value func(*podRound) (int64, bool)) (metrics.PodMetricsInfo, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of(selector)
	found := metrics.PodMetricsInfo{}
	for i := range a.round.pods {
		p := &a.round.pods[i]
		if v, there := value(p); there {
			found[podName(a.name, i)] = metrics.PodMetric{Timestamp: time.Now().Add(-p.sampleAge), Window: hpaWindow, Value: v}
		}
	}
	if len(found) == 0 {
		return nil, time.Time{}, errors.New("no metrics returned")
	}
	return found, time.Now(), nil
}

// GetResourceMetric fits metrics.MetricsClient.
func (s *hpaSamples) GetResourceMetric(_ context.Context, resource corev1.ResourceName, _ string, selector labels.Selector,
	_ string) (metrics.PodMetricsInfo, time.Time, error) {
	return s.samples(selector, func(p *podRound) (int64, bool) {
		if resource == corev1.ResourceMemory {
			return p.memory * 1000, p.memory > 0
		}
		return p.cpu, p.cpu >= 0
	})
}

// GetRawMetric is that of pods: concurrency.
func (s *hpaSamples) GetRawMetric(_, _ string, selector, _ labels.Selector) (metrics.PodMetricsInfo, time.Time, error) {
	return s.samples(selector, func(p *podRound) (int64, bool) { return p.busy, p.busy >= 0 })
}

// GetObjectMetric is not used.
func (s *hpaSamples) GetObjectMetric(string, string, *autoscalingv2.CrossVersionObjectReference, labels.Selector) (int64, time.Time,
	error) {
	return 0, time.Time{}, errors.New("no metrics of objects")
}

// GetExternalMetric is the rate; the metric's name is the workload's.
func (s *hpaSamples) GetExternalMetric(name, _ string, _ labels.Selector) ([]int64, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rate := s.byName[name].round.rate
	if rate < 0 {
		return nil, time.Time{}, errors.New("no metrics returned")
	}
	return []int64{rate}, time.Now(), nil
}

func podName(app string, i int) string { return fmt.Sprintf("%s-%d", app, i) }
