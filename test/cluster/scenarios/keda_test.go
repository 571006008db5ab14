package scenarios

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// wanted is a LoadLine whose service KEDA scales to a number set by the test. The guards that
// would limit a reduction for minutes are off: this tests KEDA.
const wanted = `  policy: {baseline: "static:period=1s,replicas=%d"}
  fallback: static
  interval: 1s
  services: [{name: server, targetRef: {name: server}, movedBy: KEDA, bounds: {replicas: {min: 0, max: 30}}}]
  guard:
    without: [disagreement, observed, starting, burning, gray, cool-down, step]
    data: {maxAge: 10s, holdFor: 5s, recovery: 5s, floorAfter: 10m}
`

// follower is the ScaledObject of docs/keda.md, with short times.
const follower = `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: server}
spec:
  scaleTargetRef: {name: server}
  pollingInterval: 1
  cooldownPeriod: 2
  minReplicaCount: 0
  maxReplicaCount: 30
  fallback: {failureThreshold: 3, replicas: 6, behavior: currentReplicasIfHigher}
  advanced:
    horizontalPodAutoscalerConfig:
      behavior:
        scaleUp: {tolerance: 0, stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 1000, periodSeconds: 15}]}
        scaleDown: {tolerance: 0, stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 1000, periodSeconds: 15}]}
  triggers:
    - type: external
      metadata: {scalerAddress: %q, loadline: shop, service: server}
`

// TestKEDAFollows: up, by one where the HPA's tolerance would ignore it, down, to zero and
// back, and through a restart of Loadline.
func TestKEDAFollows(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 20)
	s.c.KEDA(t)
	p := s.run(t, cluster.ProductOptions{})
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf(wanted, 1))
	s.waitCondition(t, "Ready=True", "Conflict=False/NoConflict")
	s.c.ApplyYAML(t, s.ns, fmt.Sprintf(follower, p.KEDA))
	s.waitCondition(t, "Conflict=False/NoConflict", "Active=True/Acting") // the HPA that KEDA makes is no conflict
	follow := func(n int) {
		t.Helper()
		s.loadLine(t, v1alpha1.Act, fmt.Sprintf(wanted, n))
		s.waitReplicas(t, "server", n, n)
	}
	for _, n := range []int{7, 20, 21, 20, 4, 0, 5} {
		follow(n)
	}

	// While no scaler answers, KEDA changes nothing: it cannot read the metric's specification,
	// which its fallback needs.
	p.Stop()
	cluster.Stays(t, 8*time.Second, "five replicas while we are away", func() error {
		if n := s.replicas(t, "server"); n != 5 {
			return fmt.Errorf("%d replicas", n)
		}
		return nil
	})
	s.run(t, cluster.ProductOptions{Dir: p.Dir, Flags: []string{"--keda-address", p.KEDA}})
	follow(4)

	// While we answer without a decision, it applies its fallback.
	if err := s.admin.Delete(t.Context(), s.get(t)); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the fallback's six replicas", func() error {
		if n := s.replicas(t, "server"); n != 6 {
			return fmt.Errorf("%d replicas", n)
		}
		return nil
	})
}

// TestKEDAWithOtherTriggers: a ScaledObject without our trigger is a conflict, and so is one of
// ours on a service that we scale ourselves.
func TestKEDAWithOtherTriggers(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 20)
	s.c.KEDA(t)
	p := s.run(t, cluster.ProductOptions{})
	s.loadLine(t, v1alpha1.Act, "")
	s.waitCondition(t, "Active=True/Acting")
	s.c.ApplyYAML(t, s.ns, fmt.Sprintf(follower, p.KEDA))
	s.waitCondition(t, "Conflict=True/ScaledObject", "Active=False/Conflict")
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("keda.sh/v1alpha1")
	o.SetKind("ScaledObject")
	if err := s.admin.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: "server"}, o); err != nil {
		t.Fatal(err)
	}
	if err := s.admin.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	s.waitCondition(t, "Conflict=False/NoConflict", "Active=True/Acting")
}
