package cluster

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// KEDA's operator makes an HPA of a ScaledObject, and its adapter serves the HPA's metric.
func TestKEDAScales(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	c.KEDA(t)
	ns := c.Namespace(t)
	app := shop()
	c.Deploy(t, ns, app)
	// A cron window that is always open, with a number of replicas.
	c.ApplyYAML(t, ns, `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: front}
spec:
  scaleTargetRef: {name: front}
  pollingInterval: 1
  minReplicaCount: 1
  maxReplicaCount: 10
  triggers:
    - type: cron
      metadata: {timezone: UTC, start: "0 0 1 1 *", end: "59 23 31 12 *", desiredReplicas: "4"}
`)
	c.WaitReady(t, ns, "front", 4)
	Eventually(t, "the ScaledObject to be ready", func() error {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("keda.sh/v1alpha1")
		o.SetKind("ScaledObject")
		if err := c.Client(t, Admin).Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "front"}, o); err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, condition := range conditions {
			if m := condition.(map[string]any); m["type"] == "Ready" && m["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", conditions)
	})
}
