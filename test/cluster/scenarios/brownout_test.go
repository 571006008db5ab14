package scenarios

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/test/cluster"
)

func ownedBy(set *appsv1.ReplicaSet, yes *bool) *metav1.OwnerReference {
	return &metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set.Name, UID: set.UID, Controller: yes}
}

// withAds is a service that calls an optional one.
func withAds(t *testing.T) *loadline.App {
	t.Helper()
	m, err := apps.Parse("ads.yaml", []byte(`
version: 1
name: shop
nodes: {node: {count: 3, cores: 8, memory: 16Gi}}
services:
  server:
    cpu: {mean: 10ms, shape: exponential}
    workers: 10000
    memory: {base: 32Mi}
    startup: {mean: 1s}
    replicas: 1
    size: {cpu: {request: 1, limit: 1}, memory: {request: 256Mi, limit: 512Mi}}
    bounds: {replicas: [1, 1], cpu: [100m, 4], memory: [64Mi, 2Gi]}
  ads:
    cpu: {mean: 2ms, shape: exponential}
    workers: 10000
    memory: {base: 32Mi}
    startup: {mean: 1s}
    replicas: 2
    size: {cpu: {request: 500m, limit: 500m}, memory: {request: 256Mi, limit: 512Mi}}
    bounds: {replicas: [0, 5], cpu: [100m, 4], memory: [64Mi, 2Gi]}
kinds:
  request:
    slo: {percentile: 99, latency: 250ms}
    timeout: 2s
    call: {service: server, stages: [{service: ads, optional: true}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return m.App
}

// adsSpec is about both services: static replicas, and a brownout after ten seconds.
const adsSpec = `  services:
  - {name: server, targetRef: {name: server}, bounds: {replicas: {min: 1, max: 1}}}
  - {name: ads, targetRef: {name: ads}, optional: {price: "0.1"}, bounds: {replicas: {min: 0, max: 5}}}
  policy: {baseline: static}
  fallback: static
  guard:
    data: {maxAge: 10s, holdFor: 5s, recovery: 5s, floorAfter: 5m}
    burn: {windows: [{short: 10s, long: 20s, rate: 20}], recovery: 20s, longestRecovery: 1m, scaleInWindow: 10s}
    brownout: {window: 10s, rate: 5, recovery: 12s}
`

// TestBrownout: an optional service goes to zero while the error budget burns, and
// comes back afterwards.
func TestBrownout(t *testing.T) {
	t.Parallel()
	s := setUp(t, withAds(t), 20)
	s.run(t, cluster.ProductOptions{})
	s.loadLine(t, v1alpha1.Act, adsSpec)
	s.waitCondition(t, "Ready=True", "Stale=False/Fresh")
	if n := s.replicas(t, "ads"); n != 2 {
		t.Fatalf("%d replicas of ads before anything burned", n)
	}
	s.player.SetRate(130) // more than the one replica of server can serve
	s.waitReplicas(t, "ads", 0, 0)
	cluster.Eventually(t, "the status says that ads is browned out", func() error {
		if st := s.service(t, "ads"); st.Applied == nil || st.Applied.Brownout == nil || !*st.Applied.Brownout ||
			*st.Applied.Replicas != 2 {
			return fmt.Errorf("the status says %+v", st.Applied)
		}
		return nil
	})
	s.player.SetRate(20)
	s.waitReplicas(t, "ads", 2, 2)
	s.c.WaitReady(t, s.ns, "ads", 2)
}
