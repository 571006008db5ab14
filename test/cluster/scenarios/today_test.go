package scenarios

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/test/cluster"
)

// vpaDefinition has the fields that users set, of the definition that comes with the autoscaler.
const vpaDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: verticalpodautoscalers.autoscaling.k8s.io
  annotations: {api-approved.kubernetes.io: https://github.com/kubernetes/kubernetes/pull/63797}
spec:
  group: autoscaling.k8s.io
  names: {kind: VerticalPodAutoscaler, plural: verticalpodautoscalers, singular: verticalpodautoscaler}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              targetRef: {type: object, x-kubernetes-preserve-unknown-fields: true}
              updatePolicy: {type: object, properties: {updateMode: {type: string}}}
              resourcePolicy: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// todaysObjects scale the shop: web by an HPA and a VPA of its memory, the catalogue by KEDA, with a
// schedule for working days, which no policy has. There is an HPA of another application.
const todaysObjects = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 9
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 65}}}]
  behavior: {scaleDown: {stabilizationWindowSeconds: 120}}
---
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  updatePolicy: {updateMode: InPlaceOrRecreate}
  resourcePolicy: {containerPolicies: [{containerName: "*", controlledResources: [memory], maxAllowed: {memory: 1Gi}}]}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: catalogue}
spec:
  scaleTargetRef: {name: catalogue}
  minReplicaCount: 1
  maxReplicaCount: 8
  triggers:
  - {type: prometheus, metadata: {serverAddress: "http://localhost:1", query: 'sum(rate(catalogue_requests_total[2m]))', threshold: "30"}}
  - {type: cron, metadata: {timezone: Etc/UTC, start: 0 8 * * 1-5, end: 0 20 * * 1-5, desiredReplicas: "4"}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: blog}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: blog}, maxReplicas: 3}
`

// TestTodayFromACluster: evaluate reads what scales the services from the objects of a real API
// server, among which is the HPA that KEDA made of a ScaledObject. The cluster is its own: a
// definition of VPAs would matter to other tests.
func TestTodayFromACluster(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{})
	admin := c.Client(t, cluster.Admin)
	ns, app := c.Namespace(t), shop(t)
	c.Deploy(t, ns, app)
	if all, err := kube.ReadAutoscalers(t.Context(), admin, ns); err != nil || len(all) != len(app.Services) {
		t.Errorf("without KEDA and VPA there are %d objects, want the Deployments; %v", len(all), err)
	}
	c.KEDA(t)
	c.ApplyYAML(t, "", vpaDefinition)
	c.ApplyYAML(t, ns, todaysObjects)
	cluster.Eventually(t, "KEDA to make an HPA", func() error {
		var all autoscalingv2.HorizontalPodAutoscalerList
		if err := admin.List(t.Context(), &all, client.InNamespace(ns)); err != nil {
			return err
		}
		if !slices.ContainsFunc(all.Items, func(h autoscalingv2.HorizontalPodAutoscaler) bool { return h.Name == "keda-hpa-catalogue" }) {
			return fmt.Errorf("%d HPAs, none of KEDA", len(all.Items))
		}
		return nil
	})
	kubeconfig, err := c.Kubeconfig(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	past, run := filepath.Join(dir, "past"), filepath.Join(dir, "run")
	loadlineCommand(t, "history", "record", "--app", filepath.Join("testdata", "shop.yaml"), "--workload",
		"diurnal:low=40,high=180,period=1h,peak=20m+noise:cv=0.05", "--duration", "3h", "-o", past)
	loadlineCommand(t, "train", "--history", past, "--objective", "99% < 250ms", "--held-out", "0.25", "--methods", "scaling-ops",
		"--steps", "100", "-o", run)
	text := evaluate(t, run, "--today", "cluster", "--kubeconfig", kubeconfig, "--namespace", ns, "--seeds", "1", "--stretch", "15m",
		"--baseline", "hpa", "--neighbours", "use=0")
	folder, err := pipeline.OpenRun(run)
	if err != nil {
		t.Fatal(err)
	}
	e, err := pipeline.ReadEvaluation(folder)
	if err != nil {
		t.Fatal(err)
	}
	const want = "by-service:catalogue=keda(threshold=30),web=hpa+vpa(target=65;down-window=120s)"
	if e.Settings.Today != want || e.Entry(pipeline.TodayLabel).Policy != want {
		t.Errorf("today is %q, want %q", e.Settings.Today, want)
	}
	for _, part := range []string{
		"today: keda:threshold=30 for catalogue, hpa+vpa:target=65,down-window=120s for web",
		"Today's figures leave out ScaledObject " + ns + "/catalogue: trigger cron from \"0 8 * * 1-5\"",
		"Left aside: HorizontalPodAutoscaler " + ns + "/blog is for Deployment blog, which is no service of the run.",
		"Pods of web are sized by a VerticalPodAutoscaler today",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
	if strings.Contains(text, "keda-hpa-catalogue") {
		t.Errorf("the HPA of KEDA is named beside its ScaledObject:\n%s", text)
	}
	if !strings.Contains(strings.Join(e.Settings.Known, "; "), "web.bounds=2-9 replicas") {
		t.Errorf("bounds of the objects: %q", e.Settings.Known)
	}
}
