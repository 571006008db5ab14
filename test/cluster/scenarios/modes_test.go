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

// waitWanted until the policy wants a number of replicas within bounds.
func (s *fixture) waitWanted(t *testing.T, name string, low, high int32) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("a policy that wants %d to %d replicas", low, high), func() error {
		if st := s.service(t, name); st.Wanted == nil || st.Wanted.Replicas == nil || *st.Wanted.Replicas < low || *st.Wanted.Replicas > high {
			return fmt.Errorf("status: %+v", st)
		}
		return nil
	})
}

// TestRollOutHolds: while a release goes out, replicas stay as they are. Only while the SLO burns
// are some added, and none removed.
func TestRollOutHolds(t *testing.T) {
	t.Parallel()
	s := setUp(t, replicated(t, 4), 150)
	p := s.run(t, cluster.ProductOptions{})
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, "  policy: {baseline: \"hpa:target=40,period=2s,down-window=4s,init-period=1s\"}\n")
	s.waitCondition(t, "Active=True/Acting", "Stale=False/Fresh")
	// A release whose pods cannot be placed does not get anywhere.
	d := appsv1.Deployment{}
	d.Namespace, d.Name = s.ns, name
	stuck := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"strategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0}},`+
		`"template":{"spec":{"nodeSelector":{"no":"such"}}}}}`))
	if err := s.admin.Patch(t.Context(), &d, stuck); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the roll-out to be noticed", func() error {
		if st := s.service(t, name); st.State != v1alpha1.ServiceRollingOut {
			return fmt.Errorf("status: %+v", st)
		}
		return nil
	})
	s.player.SetRate(240) // four replicas meet the SLO, and the rule wants more
	s.waitWanted(t, name, 5, 12)
	s.staysFor(t, p, 4, name, 4)

	s.player.SetRate(450) // four replicas serve 400 requests per second
	s.waitReplicas(t, name, 5, 12)
	s.player.SetRate(40)
	s.waitWanted(t, name, 1, 3)
	high := s.replicas(t, name)
	s.staysFor(t, p, 10, name, high)
	if st := s.service(t, name); st.State != v1alpha1.ServiceRollingOut {
		t.Errorf("the roll-out is over: %+v", st)
	}
	for _, c := range s.changes(t, p) {
		if c.to < c.from {
			t.Errorf("from %d to %d replicas during the roll-out", c.from, c.to)
		}
	}
	back := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"nodeSelector":null}}}}`))
	if err := s.admin.Patch(t.Context(), &d, back); err != nil {
		t.Fatal(err)
	}
	s.waitReplicas(t, name, 1, high-1)
}
