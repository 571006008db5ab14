package scenarios

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// TestRecommendChangesNothing: changes are shown, and applied once the mode allows it.
func TestRecommendChangesNothing(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 160)
	p := s.run(t, cluster.ProductOptions{})
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Recommend, "")
	s.waitCondition(t, "Ready=True", "Active=False/Recommending")
	cluster.Eventually(t, "a recommendation", func() error {
		st := s.service(t, name)
		if st.Wanted == nil || st.Wanted.Replicas == nil || *st.Wanted.Replicas < 2 || st.State != v1alpha1.ServiceRecommended {
			return fmt.Errorf("status: %+v", st)
		}
		return nil
	})
	s.staysFor(t, p, 4, name, 1)
	s.loadLine(t, v1alpha1.Act, "")
	s.waitReplicas(t, name, 3, 12)
}

// TestOnceDryRun: one pass from a user's machine prints what would be done, and
// not even the status is written.
func TestOnceDryRun(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 160)
	s.loadLine(t, v1alpha1.Act, "")
	kubeconfig, err := s.c.Kubeconfig(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "a change to be foreseen", func() error {
		text, err := loadlineTry(t, "run", "--once", "--dry-run", "--kubeconfig", kubeconfig, "--namespaces", s.ns)
		if err != nil || !strings.Contains(text, "replicas (not applied)") {
			return fmt.Errorf("it says: %s %v", text, err)
		}
		return nil
	})
	if l := s.get(t); len(l.Status.Conditions) > 0 || s.replicas(t, s.app.Services[0].Name) != 1 {
		t.Errorf("something was written: %+v", l.Status)
	}
}

// TestPausedByAnnotation: on the resource and on the workload.
func TestPausedByAnnotation(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 40)
	p := s.run(t, cluster.ProductOptions{})
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, "")
	s.waitCondition(t, "Active=True/Acting")
	s.annotate(t, s.get(t), "true")
	s.waitCondition(t, "Paused=True/PausedByAnnotation", "Active=False/Paused")
	s.player.SetRate(160)
	s.staysFor(t, p, 4, name, 1)
	var d appsv1.Deployment
	if err := s.admin.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: name}, &d); err != nil {
		t.Fatal(err)
	}
	s.annotate(t, &d, "true")
	s.annotate(t, s.get(t), "false")
	s.waitCondition(t, "Paused=True/SomeServicesPaused")
	if n := s.replicas(t, name); n != 1 {
		t.Errorf("%d replicas while the workload is paused", n)
	}
	s.annotate(t, &d, "false")
	s.waitReplicas(t, name, 3, 12)
}

func (s *fixture) annotate(t *testing.T, o client.Object, value string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.PausedAnnotation,
		value))
	if err := s.admin.Patch(t.Context(), o, patch); err != nil {
		t.Fatal(err)
	}
}

// TestManualChange: a manual change is respected for as long as configured.
func TestManualChange(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 160)
	s.run(t, cluster.ProductOptions{})
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, "  respectManualChangesFor: 20s\n")
	s.waitReplicas(t, name, 3, 12)
	s.c.Scale(t, s.ns, name, 9)
	cluster.Eventually(t, "the manual change to be noticed", func() error {
		if st := s.service(t, name); st.State != v1alpha1.ServiceManualChange || st.ManualUntil == nil || !strings.Contains(st.Why,
			"kubectl set 9 replicas") {
			return fmt.Errorf("status: %+v", st)
		}
		return nil
	})
	if n := s.replicas(t, name); n != 9 {
		t.Errorf("%d replicas, want the 9 that a person set", n)
	}
	s.waitReplicas(t, name, 3, 8)
}

// TestRollOutHolds: while a release goes out, replicas stay as they are.
func TestRollOutHolds(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 40)
	p := s.run(t, cluster.ProductOptions{})
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, "")
	s.waitCondition(t, "Active=True/Acting")
	// A release whose pods cannot be placed does not get anywhere.
	d := appsv1.Deployment{}
	d.Namespace, d.Name = s.ns, name
	stuck := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"nodeSelector":{"no":"such"}}}}}`))
	if err := s.admin.Patch(t.Context(), &d, stuck); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the roll-out to be noticed", func() error {
		if st := s.service(t, name); st.State != v1alpha1.ServiceRollingOut {
			return fmt.Errorf("status: %+v", st)
		}
		return nil
	})
	s.player.SetRate(160)
	s.staysFor(t, p, 4, name, 1)
	back := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"nodeSelector":null}}}}`))
	if err := s.admin.Patch(t.Context(), &d, back); err != nil {
		t.Fatal(err)
	}
	s.waitReplicas(t, name, 3, 12)
}
