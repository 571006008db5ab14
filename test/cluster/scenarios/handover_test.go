package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/kube/handover"
	"github.com/loadline/loadline/test/cluster"
)

// scaled records every number of replicas that a Deployment asks for, by a watch.
type scaled struct {
	mu   sync.Mutex
	seen []int
}

// follow records from now on.
func (s *fixture) follow(t *testing.T, name string) *scaled {
	t.Helper()
	c, err := client.NewWithWatch(s.c.Config(cluster.Admin), client.Options{Scheme: s.admin.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	r := &scaled{seen: []int{s.replicas(t, name)}}
	w, err := c.Watch(t.Context(), &appsv1.DeploymentList{}, client.InNamespace(s.ns), client.MatchingFields{"metadata.name": name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	go func() {
		for e := range w.ResultChan() {
			if d, is := e.Object.(*appsv1.Deployment); is {
				r.mu.Lock()
				if n := int(*d.Spec.Replicas); r.seen[len(r.seen)-1] != n {
					r.seen = append(r.seen, n)
				}
				r.mu.Unlock()
			}
		}
	}()
	return r
}

// only fails the test if there was another number of replicas than the given one since the last call.
func (r *scaled) only(t *testing.T, when string, replicas int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.seen, []int{replicas}) {
		t.Errorf("%s: replicas went through %v, want %d all the time", when, r.seen, replicas)
	}
	r.seen = r.seen[len(r.seen)-1:]
}

func (r *scaled) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = r.seen[len(r.seen)-1:]
}

// hand runs loadline init with a direction.
func (s *fixture) hand(t *testing.T, direction string) string {
	t.Helper()
	kubeconfig, err := s.c.Kubeconfig(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	return loadlineCommand(t, "init", "--kubeconfig", kubeconfig, "--namespace", s.ns, direction, "shop", "--within", "10m")
}

// handUntil makes steps of a handover up to a number of writes, as if it had been killed then.
func (s *fixture) handUntil(t *testing.T, d handover.Direction, writes int) {
	t.Helper()
	h := &handover.Handover{Client: s.admin, Manager: "loadline-init", Direction: d,
		Name: types.NamespacedName{Namespace: s.ns, Name: "shop"}}
	cluster.Eventually(t, fmt.Sprintf("%d writes", writes), func() error {
		for writes > 0 {
			a, err := h.Step(t.Context())
			switch {
			case err != nil:
				return err
			case a == nil:
				return nil
			case a.Waits():
				return fmt.Errorf("%s", a.Sentence)
			}
			writes--
		}
		return nil
	})
}

// spec of an autoscaler, and its annotations.
func (s *fixture) spec(t *testing.T, apiVersion, kind, name string) map[string]any {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	if err := s.admin.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: name}, o); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"spec": o.Object["spec"], "annotations": o.GetAnnotations()}
}

// TestHandoverFromHPA: control goes from a real HPA to Loadline and back, also if it is killed in
// between; replicas do not change by it, and what is given back is what was there.
func TestHandoverFromHPA(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 80)
	s.c.MetricsServer(t)
	const original = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: server, annotations: {team: shop}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: server}
  minReplicas: 1
  maxReplicas: 12
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]
  behavior: {scaleDown: {stabilizationWindowSeconds: 5}}
`
	s.c.ApplyYAML(t, s.ns, original)
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	hpa.Namespace, hpa.Name = s.ns, "server"
	p := s.run(t, cluster.ProductOptions{})
	s.loadLine(t, v1alpha1.Recommend, "")
	steady := func(rate float64) int {
		t.Helper()
		n := 0
		cluster.Eventually(t, "a steady number of replicas", func() error {
			n = s.replicas(t, "server")
			return s.settled(t, hpa, n, rate)
		})
		if n < 2 { // a single one would prove little
			t.Fatalf("%d replicas at %v requests per second", n, rate)
		}
		return n
	}
	n := steady(80)
	s.waitCondition(t, "Ready=True", "Active=False/Recommending")
	was := s.spec(t, "autoscaling/v2", "HorizontalPodAutoscaler", "server")
	record := s.follow(t, "server")

	// Killed after the LoadLine was set to Act: the HPA is in control, Loadline changes nothing.
	s.handUntil(t, handover.TakeOver, 1)
	s.waitCondition(t, "Active=False/Conflict", "Conflict=True/HorizontalPodAutoscaler")
	s.staysFor(t, p, 3, "server", n)
	text := s.hand(t, "--take-over")
	s.waitCondition(t, "Active=True/Acting", "Conflict=False/NoConflict")
	s.staysFor(t, p, 5, "server", n)
	record.only(t, "take-over\n"+text, n)
	if err := s.admin.Get(t.Context(), keyOf(hpa), hpa); err != nil || !kube.Inert(hpa) {
		t.Errorf("the HPA is %+v, %v", hpa.Spec, err)
	}

	// Loadline is in control: it follows the load, and the HPA does not.
	s.player.SetRate(160)
	s.waitReplicas(t, "server", n+1, 12)
	s.player.SetRate(80)
	s.waitReplicas(t, "server", n, n)
	s.settles(t, p, 5, "server", n)
	record.forget()

	// Back, killed after each write.
	s.handUntil(t, handover.GiveBack, 1)
	s.waitCondition(t, "Active=False/Recommending")
	s.staysFor(t, p, 3, "server", n)
	text = s.hand(t, "--give-back")
	s.staysFor(t, p, 5, "server", n)
	record.only(t, "give-back\n"+text, n)
	if is := s.spec(t, "autoscaling/v2", "HorizontalPodAutoscaler", "server"); !reflect.DeepEqual(is, was) {
		t.Errorf("given back is %v, want %v", is, was)
	}
	s.player.SetRate(160)
	s.waitReplicas(t, "server", n+1, 12)
	more := steady(160)
	record.forget()

	// And over again: the HPA's changes are no reason for Loadline to wait.
	text = s.hand(t, "--take-over")
	s.staysFor(t, p, 3, "server", more)
	record.only(t, "second take-over\n"+text, more)
	s.player.SetRate(80)
	s.waitReplicas(t, "server", n, n)
}

// TestHandoverFromKEDA: the same for a ScaledObject of a real KEDA.
func TestHandoverFromKEDA(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 100)
	s.c.KEDA(t)
	p := s.run(t, cluster.ProductOptions{})
	const n = 4 // 100 requests per second, 30 for each replica
	s.c.ApplyYAML(t, s.ns, fmt.Sprintf(`
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: server}
spec:
  scaleTargetRef: {name: server}
  pollingInterval: 1
  minReplicaCount: 1
  maxReplicaCount: 12
  advanced: {horizontalPodAutoscalerConfig: {behavior: {scaleDown: {stabilizationWindowSeconds: 5}}}}
  triggers:
  - type: prometheus
    metadata:
      serverAddress: %q
      threshold: "30"
      query: 'sum(rate(istio_requests_total{reporter="destination", destination_workload_namespace=%q}[20s]))'
`, s.prom.URL, s.ns))
	policy := func(replicas int) string {
		return fmt.Sprintf("  policy: {baseline: \"static:period=1s,replicas=%d\"}\n  fallback: static\n", replicas)
	}
	s.loadLine(t, v1alpha1.Recommend, policy(n))
	s.waitReplicas(t, "server", n, n)
	s.waitCondition(t, "Ready=True", "Active=False/Recommending")
	was := s.spec(t, "keda.sh/v1alpha1", "ScaledObject", "server")
	s.settles(t, p, 3, "server", n)
	record := s.follow(t, "server")

	s.handUntil(t, handover.TakeOver, 1)
	s.waitCondition(t, "Active=False/Conflict", "Conflict=True/ScaledObject")
	s.staysFor(t, p, 3, "server", n)
	text := s.hand(t, "--take-over")
	s.waitCondition(t, "Active=True/Acting", "Conflict=False/NoConflict")
	s.staysFor(t, p, 5, "server", n)
	record.only(t, "take-over\n"+text, n)
	s.loadLine(t, v1alpha1.Act, policy(n+2))
	s.waitReplicas(t, "server", n+2, n+2)
	s.loadLine(t, v1alpha1.Act, policy(n))
	s.waitReplicas(t, "server", n, n)
	s.settles(t, p, 3, "server", n)
	record.forget()

	s.handUntil(t, handover.GiveBack, 1)
	s.staysFor(t, p, 3, "server", n)
	text = s.hand(t, "--give-back")
	s.staysFor(t, p, 5, "server", n)
	record.only(t, "give-back\n"+text, n)
	if is := s.spec(t, "keda.sh/v1alpha1", "ScaledObject", "server"); !reflect.DeepEqual(is, was) {
		t.Errorf("given back is %v, want %v", is, was)
	}
	s.player.SetRate(200)
	s.waitReplicas(t, "server", n+2, 12)
}
