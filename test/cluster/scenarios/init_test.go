package scenarios

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/onboard"
	"github.com/loadline/loadline/test/cluster"
)

// Of the namespace that TestInitFromACluster starts from.
const (
	initChains, initLength   = 5, 6 // applications, and services of each that call one another
	initHPAs, initScaledOnes = 10, 5
)

// chains are applications of services that call one another in a row: a0 calls a1, which calls a2.
func chains() *loadline.App {
	app := &loadline.App{Name: "chains"}
	for c := range initChains {
		var call loadline.Call
		for i := initLength - 1; i >= 0; i-- {
			next := loadline.Call{Service: c*initLength + i, Probability: 1, Times: 1, Work: 1}
			if i < initLength-1 {
				next.Stages = [][]loadline.Call{{call}}
			}
			call = next
		}
		for i := range initLength {
			app.Services = append(app.Services, loadline.Service{
				Name: fmt.Sprintf("%c%d", 'a'+c, i), CPU: loadline.Dist{Mean: 5 * time.Millisecond, CV: 1}, Workers: 32, Backlog: 320,
				Memory: loadline.Memory{Base: 50 << 20, PerRequest: 64 << 10}, Startup: loadline.Dist{Mean: time.Second}, Replicas: 1,
				Size:   loadline.Size{CPURequest: 0.2, CPULimit: 1, MemoryRequest: 64 << 20, MemoryLimit: 128 << 20},
				Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 5},
			})
		}
		app.Kinds = append(app.Kinds, loadline.Kind{Name: fmt.Sprintf("%c", 'a'+c), Share: 1.0 / initChains,
			SLO: loadline.SLO{Percentile: 99, Latency: time.Second}, Root: call})
	}
	return app
}

// TestInitFromACluster: from thirty Deployments, ten HPAs and five ScaledObjects that Loadline has never
// seen to recommendations for all of them, by loadline init --apply. The log has the times.
func TestInitFromACluster(t *testing.T) {
	t.Parallel()
	app := chains()
	s := setUp(t, app, 50)
	s.c.KEDA(t)
	var objects strings.Builder
	for i := range initHPAs {
		fmt.Fprintf(&objects, `---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %[1]s}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}
  minReplicas: 1
  maxReplicas: 7
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]
`, app.Services[i].Name)
	}
	for i := range initScaledOnes {
		name := app.Services[initHPAs+i].Name
		fmt.Fprintf(&objects, `---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: %[1]s}
spec:
  scaleTargetRef: {name: %[1]s}
  minReplicaCount: 1
  maxReplicaCount: 6
  triggers:
  - {type: prometheus, metadata: {serverAddress: %[2]q, threshold: "50", query: 'sum(rate(istio_requests_total{destination_workload="%[1]s"}[1m]))'}}
`, name, s.prom.URL)
	}
	s.c.ApplyYAML(t, s.ns, objects.String())
	kubeconfig, err := s.c.Kubeconfig(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.run(t, cluster.ProductOptions{})
	running := time.Since(began)
	args := []string{"init", "--kubeconfig", kubeconfig, "--namespace", s.ns, "--prometheus", s.prom.URL, "--cluster-prometheus", s.prom.URL,
		"--output", "json"}
	cluster.Eventually(t, "metrics of all services", func() error {
		text, err := loadlineTry(t, args...)
		if err != nil {
			return err
		}
		var p onboard.Proposal
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return err
		}
		if n := p.ServiceCount(); n != len(app.Services) || len(p.Applications) != initChains || len(p.LeftOut) > 0 {
			return fmt.Errorf("%d services in %d applications; left out: %v", n, len(p.Applications), p.LeftOut)
		}
		return nil
	})
	measured := time.Since(began)
	var lines v1alpha1.LoadLineList
	if err := s.admin.List(t.Context(), &lines, client.InNamespace(s.ns)); err != nil || len(lines.Items) > 0 {
		t.Fatalf("%d LoadLines before --apply: %v", len(lines.Items), err)
	}
	loadlineCommand(t, append(args, "--apply")...)
	created := time.Since(began)
	cluster.Eventually(t, "a recommendation for every service", func() error {
		if err := s.admin.List(t.Context(), &lines, client.InNamespace(s.ns)); err != nil {
			return err
		}
		services := 0
		for i := range lines.Items {
			l := &lines.Items[i]
			if l.Spec.Mode != v1alpha1.Recommend {
				t.Fatalf("LoadLine %s has the mode %s", l.Name, l.Spec.Mode)
			}
			for _, st := range l.Status.Services {
				if st.Wanted != nil && st.Wanted.Replicas != nil {
					services++
				}
			}
		}
		if services < len(app.Services) {
			return fmt.Errorf("%d of %d services have one", services, len(app.Services))
		}
		return nil
	})
	t.Logf("controller ready after %.0f s, metrics of all services after %.0f s, LoadLines created after %.0f s, first recommendation "+
		"for each of %d services after %.0f s", running.Seconds(), measured.Seconds(), created.Seconds(), len(app.Services),
		time.Since(began).Seconds())
	bounds := map[string]int32{}
	for i := range lines.Items {
		for _, of := range lines.Items[i].Spec.Services {
			bounds[of.Name] = of.Bounds.Replicas.Max
		}
	}
	if bounds["a0"] != 7 || bounds["b5"] != 6 || bounds["e5"] != 5 {
		t.Errorf("bounds of an HPA, a ScaledObject and a guess: %v", bounds)
	}
	if out, err := loadlineTry(t, args...); err == nil || !strings.Contains(err.Error(), "has it already") {
		t.Errorf("a second time: %s, %v", out, err)
	}
}
