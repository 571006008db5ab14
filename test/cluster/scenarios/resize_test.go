package scenarios

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// vertical sets the CPU given by the test, in steps that the guard allows.
const vertical = `  policy: {baseline: "static:period=2s,cpu=%s"}
  fallback: static
  services: [{name: server, targetRef: {name: server}, axes: [VerticalRequests, VerticalLimits], bounds: {replicas: {min: 1, max: 5}, cpu: {min: 100m, max: "2"}}}]
  guard:
    without: [disagreement, gray, cool-down]
    data: {maxAge: 10s, holdFor: 5s, recovery: 5s, floorAfter: 5m}
    burn: {windows: [{short: 10s, long: 20s, rate: 20}], recovery: 20s, longestRecovery: 1m, scaleInWindow: 10s}
    observed: {window: 10s}
    starting: {patience: 20s, settle: 1s}
`

// TestResize: CPU is resized in place, without a restart or a roll-out; later pods have the
// size too, at once with the admission policy and right afterwards without it. The policy
// applies to the whole cluster and stays, so it comes last.
func TestResize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		install []string
	}{
		{"resized after creation", nil},
		{"by the admission policy", []string{"admission"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := setUp(t, single(t), 20)
			s.c.InstallLoadline(t, c.install...)
			s.run(t, cluster.ProductOptions{})
			before := s.deployment(t, "server")
			s.loadLine(t, v1alpha1.Act, fmt.Sprintf(vertical, "0.4"))
			cluster.Eventually(t, "less CPU", func() error { return s.cpu(t, "server", 400, 400) })
			for _, p := range s.c.Pods(t, s.ns, "server") {
				for _, st := range p.Status.ContainerStatuses {
					if st.RestartCount > 0 {
						t.Errorf("pod %s was restarted", p.Name)
					}
				}
			}
			s.c.Scale(t, s.ns, "server", 3)
			s.c.WaitReady(t, s.ns, "server", 3)
			cluster.Eventually(t, "new pods of the same size", func() error { return s.cpu(t, "server", 400, 400) })
			if c.install != nil {
				s.bornSmall(t)
			}
			if after := s.deployment(t, "server"); after.Annotations["deployment.kubernetes.io/revision"] != before.Annotations["deployment.kubernetes.io/revision"] {
				t.Error("there was a roll-out")
			}
			s.loadLine(t, v1alpha1.Act, fmt.Sprintf(vertical, "0.8"))
			cluster.Eventually(t, "more CPU", func() error { return s.cpu(t, "server", 800, 800) })
		})
	}
}

func (s *fixture) deployment(t *testing.T, name string) *appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	if err := s.admin.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: name}, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

// cpu of every pod, as asked for and as in force, within bounds in thousandths.
func (s *fixture) cpu(t *testing.T, service string, low, high int64) error {
	t.Helper()
	for _, p := range s.c.Pods(t, s.ns, service) {
		asked := p.Spec.Containers[0].Resources.Limits.Cpu().MilliValue()
		if asked < low || asked > high {
			return fmt.Errorf("pod %s asks for %dm; status: %s", p.Name, asked, s.why(t))
		}
		if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].Resources == nil {
			return fmt.Errorf("pod %s does not show its size yet", p.Name)
		}
		if has := p.Status.ContainerStatuses[0].Resources.Limits.Cpu().MilliValue(); has < low || has > high {
			return fmt.Errorf("pod %s has %dm, asks for %dm", p.Name, has, asked)
		}
	}
	return nil
}

// bornSmall: a pod that is only admitted, and never placed, has the size already.
func (s *fixture) bornSmall(t *testing.T) {
	t.Helper()
	template := s.deployment(t, "server").Spec.Template
	var sets appsv1.ReplicaSetList
	if err := s.admin.List(t.Context(), &sets, client.InNamespace(s.ns)); err != nil || len(sets.Items) != 1 {
		t.Fatalf("%d ReplicaSets: %v", len(sets.Items), err)
	}
	set := &sets.Items[0]
	p := &corev1.Pod{Spec: template.Spec}
	p.Namespace, p.GenerateName, p.Labels = s.ns, "born-", set.Spec.Template.Labels
	yes := true
	p.OwnerReferences = append(p.OwnerReferences, *ownedBy(set, &yes))
	if err := s.admin.Create(t.Context(), p, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if asked := p.Spec.Containers[0].Resources.Limits.Cpu().MilliValue(); asked >= 1000 {
		t.Errorf("a pod is admitted with %dm, as the template says", asked)
	}
}
