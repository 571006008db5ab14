package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
)

// TestAServiceOnHoldIsRaisedWhileTheSLOBurns: a roll-out, a partition, a manual change
// and a workload that was created again stand still, but not at the users' cost.
func TestAServiceOnHoldIsRaisedWhileTheSLOBurns(t *testing.T) {
	for name, row := range map[string]struct {
		hold  func(*stage)
		burns bool
		want  loadline.Setting
		did   []string
	}{
		"a roll-out": {func(s *stage) { s.states[0].RollingOut = "1 of 3 pods are updated" }, true, replicas(5),
			[]string{"web 3 to 5"}},
		"a partition": {func(s *stage) { s.states[0].RollingOut = "partition 2" }, true, replicas(5),
			[]string{"web 3 to 5"}},
		"a roll-out, and all is well": {func(s *stage) { s.states[0].RollingOut = "1 of 3 pods are updated" }, false, replicas(5), nil},
		"never fewer":                 {func(s *stage) { s.states[0].RollingOut = "1 of 3 pods are updated" }, true, replicas(2), nil},
		"no sizes":                    {func(s *stage) { s.states[0].RollingOut = "1 of 3 pods are updated" }, true, cpu(2), nil},
		"a pause is a pause":          {func(s *stage) { s.states[0].Paused = true }, true, replicas(5), nil},
		"a conflict is one": {func(s *stage) { s.states[0].Conflicts = []kube.Conflict{{Reason: "HPA", Message: "an HPA scales it"}} },
			true,
			replicas(5), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := newStage(t)
			row.hold(s)
			var o loadline.Observation
			if err := c.Observe(t.Context(), &o); err != nil {
				t.Fatal(err)
			}
			g := holdGuard{c, func() bool { return row.burns }}
			got, why := g.Check(s.now, loadline.Situation{InFlight: c.Allocation(nil)}, 0, row.want)
			if (got != row.want) != (why != "") {
				t.Errorf("%+v becomes %+v with the reason %q", row.want, got, why)
			}
			if err := c.Apply(t.Context(), loadline.Plan{Services: []loadline.ServicePlan{{Setting: got}}}); err != nil {
				t.Fatal(err)
			}
			s.did(t, row.did...)
		})
	}
}

// TestACreatedAgainWorkloadIsRaisedWhileTheSLOBurns: its manifest has fewer replicas
// than Loadline had set, which looks like a manual change.
func TestACreatedAgainWorkloadIsRaisedWhileTheSLOBurns(t *testing.T) {
	s, c := newStage(t)
	s.pass(t, c, 0, replicas(8))
	s.acts = nil
	s.states[0].Replicas, s.states[0].Changed = 1, kube.Change{Manager: "kubectl", At: s.now.Add(time.Second)}
	var o loadline.Observation
	if err := c.Observe(t.Context(), &o); err != nil {
		t.Fatal(err)
	}
	if h := c.holds[0]; !strings.Contains(h.why, "kubectl set 1 replicas") {
		t.Fatalf("the hold is %q", h.why)
	}
	got, _ := holdGuard{c, func() bool { return true }}.Check(s.now, loadline.Situation{InFlight: c.Allocation(nil)}, 0, replicas(3))
	if err := c.Apply(t.Context(), loadline.Plan{Services: []loadline.ServicePlan{{Setting: got}}}); err != nil {
		t.Fatal(err)
	}
	s.did(t, "web 1 to 3")
	if err := c.Observe(t.Context(), &o); err != nil {
		t.Fatal(err)
	}
	if !c.holds[0].held() {
		t.Error("the manual change is no longer respected")
	}
}

// TestChangesOfAnotherAutoscalerAreNotManual: while an HPA is in control its changes are its own, and
// after it has been taken over Loadline does not wait.
func TestChangesOfAnotherAutoscalerAreNotManual(t *testing.T) {
	s, c := newStage(t)
	s.pass(t, c, 0, replicas(8))
	look := func() {
		t.Helper()
		var o loadline.Observation
		if err := c.Observe(t.Context(), &o); err != nil {
			t.Fatal(err)
		}
	}
	s.states[0].Conflicts = []kube.Conflict{{Reason: "HPA", Message: "an HPA scales it"}}
	s.states[0].Replicas, s.states[0].Changed = 3, kube.Change{Manager: "kube-controller-manager", At: s.now.Add(time.Second)}
	look()
	if h := c.holds[0]; h.state != v1alpha1.ServiceConflict {
		t.Fatalf("the hold is %+v", h)
	}
	s.states[0].Conflicts = nil
	look()
	if c.holds[0].held() {
		t.Errorf("it waits: %+v", c.holds[0])
	}
}
