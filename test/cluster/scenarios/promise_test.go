package scenarios

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// replicated is the smallest application with a number of replicas.
func replicated(t *testing.T, replicas int) *loadline.App {
	t.Helper()
	app := single(t)
	app.Services[0].Replicas = replicas
	return app
}

// shrinking is a LoadLine whose policy wants a number of replicas whatever the load is. The
// limits of steps, the cool-down and the gradual scale-in follow.
const shrinking = `  policy: {baseline: "static:period=2s,replicas=%d"}
  fallback: static
  guard:
    without: [disagreement]
    data: {maxAge: 10s, holdFor: 5s, recovery: 5s, floorAfter: 5m}
    burn: {windows: [{short: 10s, long: 20s, rate: 20}], recovery: 20s, longestRecovery: 1m, scaleInWindow: 10s}
    observed: {window: 6s}
    starting: {patience: 20s, settle: 1s}
`

// brief is a gradual scale-in whose steps are watched for seconds.
const brief = "    gray: {part: \"0.5\", span: 2s, retreat: 20s}\n"

// upTo is the spec's services: one, with a maximum of replicas.
func upTo(name string, most int) string {
	return fmt.Sprintf("  services: [{name: %s, targetRef: {name: %s}, bounds: {replicas: {min: 1, max: %d}}}]\n", name, name, most)
}

// waitStatus of the service until it is as wanted.
func (s *fixture) waitStatus(t *testing.T, what string, is func(v1alpha1.ServiceStatus) bool) v1alpha1.ServiceStatus {
	t.Helper()
	var st v1alpha1.ServiceStatus
	cluster.Eventually(t, what, func() error {
		if st = s.service(t, s.app.Services[0].Name); !is(st) {
			return fmt.Errorf("status: %+v, memory %+v", st, st.Memory)
		}
		return nil
	})
	return st
}

// waitPass until the status is of a pass after an instant, and return that pass' time.
func (s *fixture) waitPass(t *testing.T, after time.Time) time.Time {
	t.Helper()
	var at time.Time
	cluster.Eventually(t, "a pass", func() error {
		m := s.get(t).Status.Memory
		if m == nil || !m.Time.After(after) {
			return fmt.Errorf("the status is of %+v", m)
		}
		at = m.Time.Time
		return nil
	})
	return at
}

// within the step limit of one pod or a quarter, whichever is more.
func within(t *testing.T, changes []change) {
	t.Helper()
	for _, c := range changes {
		if c.to < c.from-max(1, c.from/4) {
			t.Errorf("from %d to %d replicas in one decision", c.from, c.to)
		}
	}
}

// TestPartialData: while half of the pods are not measured, replicas are not reduced, and they
// are added as for the whole load. Scale-in follows when all are measured again.
func TestPartialData(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{
		"ursa:utilisation=60,period=2s,down-window=4s",          // by the CPU of the service, a sum over pods
		"hpa:target=60,period=2s,down-window=4s,init-period=1s", // by the CPU of each pod
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			testPartialData(t, policy)
		})
	}
}

func testPartialData(t *testing.T, policy string) {
	s := setUp(t, replicated(t, 6), 320)
	p := s.run(t, cluster.ProductOptions{})
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf("  policy: {baseline: %q}\n  fallback: %q\n", policy, policy))
	s.settles(t, p, 3, name, 6)
	var hidden []string
	cluster.Eventually(t, "pods that are no longer new", func() error {
		hidden = hidden[:0]
		for _, pod := range s.c.Pods(t, s.ns, name) {
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodReady && time.Since(c.LastTransitionTime.Time) > 70*time.Second {
					hidden = append(hidden, pod.Name)
				}
			}
		}
		if len(hidden) < 6 {
			return fmt.Errorf("%d of 6 pods are", len(hidden))
		}
		return nil
	})
	s.player.HidePods(hidden[:3]...)
	s.waitStatus(t, "half of the pods measured", func(st v1alpha1.ServiceStatus) bool {
		return st.Seen != nil && st.Seen.MeasuredPods == "3/6"
	})
	s.waitCondition(t, "Stale=True/MetricsPartial")

	s.player.SetRate(40)
	s.waitWanted(t, name, 1, 5)
	s.staysFor(t, p, 10, name, 6)

	s.player.SetRate(520)
	s.waitReplicas(t, name, 9, 12) // 5.2 cores at 60 %; half of them would need five
	s.player.SetRate(40)
	high := s.replicas(t, name)
	s.staysFor(t, p, 10, name, high)
	s.waitCondition(t, "Stale=True/MetricsPartial")

	s.player.HidePods()
	s.waitReplicas(t, name, 1, 6)
	s.waitCondition(t, "Stale=False/Fresh")
	within(t, s.changes(t, p))
}

// TestRestartPerPass: a controller that is killed after passes and after reductions reduces no
// faster than one that runs on: its changes are within the step limit, and the cool-down, which
// is longer than all windows of measurements, is between them.
func TestRestartPerPass(t *testing.T) {
	t.Parallel()
	s := setUp(t, replicated(t, 20), 40) // enough for a reduction by each process
	name := s.app.Services[0].Name
	const coolDown = 20 * time.Second
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf(shrinking+"    coolDown: {up: 0s, down: %v}\n"+brief, 1, coolDown))
	var last time.Time
	unhurried := func() error {
		st := s.service(t, name)
		if st.LastChangeTime == nil || st.LastChangeTime.Time.Equal(last) {
			return nil
		}
		// The time is in whole seconds.
		if gap := st.LastChangeTime.Sub(last); !last.IsZero() && gap <= coolDown-time.Second {
			return fmt.Errorf("it was reduced twice within %v, and the cool-down is %v; %s", gap, coolDown, s.why(t))
		}
		last = st.LastChangeTime.Time
		return nil
	}
	var processes []*cluster.Product
	runUntil := func(done func() error) {
		t.Helper()
		p := s.run(t, cluster.ProductOptions{})
		processes = append(processes, p)
		cluster.StaysUntil(t, "the cool-down", unhurried, done)
		p.Kill()
	}
	var pass time.Time
	for range 4 {
		runUntil(func() error {
			m := s.get(t).Status.Memory
			if m == nil || !m.Time.After(pass) {
				return fmt.Errorf("no pass after %v yet", pass)
			}
			pass = m.Time.Time
			return nil
		})
	}
	for range 4 {
		n := s.replicas(t, name)
		runUntil(func() error {
			if s.replicas(t, name) == n {
				return fmt.Errorf("%d replicas; %s", n, s.why(t))
			}
			return nil
		})
	}
	t.Logf("%d processes: %v", len(processes), s.changes(t, processes...))
	within(t, s.changes(t, processes...))
}

// TestLeaderChangeInScaleIn: the leader is killed between the two steps of a reduction. The
// next one goes on watching the first step, and takes it back when the SLO burns.
func TestLeaderChangeInScaleIn(t *testing.T) {
	t.Parallel()
	s := setUp(t, replicated(t, 6), 100)
	first, second := s.runTwo(t)
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf(shrinking, 2)+`    coolDown: {up: 0s, down: 6s}
    step: {downPercent: "50"}
    gray: {part: "0.5", span: 3m, retreat: 3m}
`)
	stage := func(want string) func(v1alpha1.ServiceStatus) bool {
		return func(st v1alpha1.ServiceStatus) bool {
			return st.Memory != nil && st.Memory.ScaleIn != nil && st.Memory.ScaleIn.Stage == want
		}
	}
	s.waitStatus(t, "the first of two steps", stage("first"))
	s.waitReplicas(t, name, 4, 4)
	was := s.holder(t)
	leader, standby := s.leading(t, first, second)
	leader.Kill()
	pass := s.get(t).Status.Memory.Time.Time
	s.waitOtherLeader(t, was)
	s.waitPass(t, s.waitPass(t, pass))
	if st := s.service(t, name); !stage("first")(st) || *st.Memory.ScaleIn.Before.Replicas != 6 || st.Memory.ScaleIn.Low != 4 {
		t.Fatalf("the new leader has forgotten the reduction: %+v", st.Memory)
	}
	s.staysFor(t, standby, 4, name, 4)

	s.player.SetRate(450) // four replicas serve 400 requests per second
	s.waitReplicas(t, name, 6, 6)
	s.waitStatus(t, "the reduction to be reverted", stage("reverted"))
	s.settles(t, standby, 4, name, 6)
	if want := []change{{6, 4}, {4, 6}}; !slices.Equal(s.changes(t, first, second), want) {
		t.Errorf("changes: %v, want %v", s.changes(t, first, second), want)
	}
}

// TestEditInCoolDown: the spec is edited during a cool-down. It ends when it would have ended
// without the edit: neither before, nor after a whole one from the edit on.
func TestEditInCoolDown(t *testing.T) {
	t.Parallel()
	s := setUp(t, replicated(t, 4), 40)
	p := s.run(t, cluster.ProductOptions{})
	name := s.app.Services[0].Name
	const coolDown, interval = 24 * time.Second, 2 * time.Second
	spec := fmt.Sprintf(shrinking+"    coolDown: {up: 0s, down: %v}\n"+brief, 2, coolDown)
	s.loadLine(t, v1alpha1.Act, spec)
	s.waitReplicas(t, name, 3, 3)
	reduced := s.waitStatus(t, "the change in the status", func(st v1alpha1.ServiceStatus) bool {
		return st.LastChangeTime != nil
	}).LastChangeTime.Time
	s.staysFor(t, p, 7, name, 3)

	edited := metric(t, p, passCount)
	s.loadLine(t, v1alpha1.Act, spec+upTo(name, 11))
	cluster.Eventually(t, "a pass by the edited spec", func() error {
		if l := s.get(t); l.Status.ObservedGeneration != l.Generation {
			return fmt.Errorf("generation %d of %d", l.Status.ObservedGeneration, l.Generation)
		}
		return nil
	})
	s.waitReplicas(t, name, 2, 2)
	passes := time.Duration(metric(t, p, passCount) - edited)
	st := s.waitStatus(t, "the second change in the status", func(st v1alpha1.ServiceStatus) bool {
		return st.LastChangeTime.After(reduced)
	})
	if gap := st.LastChangeTime.Sub(reduced); gap <= coolDown-time.Second {
		t.Errorf("%v between the reductions, and the cool-down is %v", gap, coolDown)
	}
	if passes*interval >= coolDown {
		t.Errorf("%d passes from the edit to the reduction: the cool-down began anew", passes)
	}
}

// TestStrayPodsWithoutPrometheus: after a crash, pods that are larger than the status says are
// made smaller only once their load is measured.
func TestStrayPodsWithoutPrometheus(t *testing.T) {
	t.Parallel()
	s := setUp(t, replicated(t, 3), 60)
	p := s.run(t, cluster.ProductOptions{})
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf(vertical, "0.5"))
	cluster.Eventually(t, "pods of half a core", func() error { return s.cpu(t, "server", 500, 500) })
	s.waitStatus(t, "the size in the status", func(st v1alpha1.ServiceStatus) bool {
		return st.Size != nil && st.Size.CPULimit != nil && st.Size.CPULimit.MilliValue() == 500
	})
	p.Kill()
	s.prom.Stop()
	stray := s.c.Pods(t, s.ns, "server")[0]
	larger := fmt.Appendf(nil, `{"spec":{"containers":[{"name":%q,"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"1"}}}]}}`,
		cluster.ContainerName)
	if err := s.admin.SubResource("resize").Patch(t.Context(), &stray, client.RawPatch(types.StrategicMergePatchType, larger)); err != nil {
		t.Fatal(err)
	}
	p = s.run(t, cluster.ProductOptions{})
	s.waitCondition(t, "Ready=False/PrometheusUnreachable", "Stale=True")
	began := metric(t, p, passCount)
	cluster.StaysUntil(t, "the size of the pod", func() error {
		var pod corev1.Pod
		if err := s.admin.Get(t.Context(), keyOf(&stray), &pod); err != nil {
			return err
		}
		if cpu := pod.Spec.Containers[0].Resources.Limits.Cpu().MilliValue(); cpu != 1000 {
			return fmt.Errorf("the pod has %dm; %s", cpu, s.why(t))
		}
		return nil
	}, func() error {
		if n := metric(t, p, passCount) - began; n < 6 {
			return fmt.Errorf("%v of 6 passes", n)
		}
		return nil
	})
	s.prom.Start(t)
	cluster.Eventually(t, "pods of half a core", func() error { return s.cpu(t, "server", 500, 500) })
}

// TestLoweredMaximum: replicas above a maximum that was lowered are removed in steps that the
// guards allow, or at once if the spec says so.
func TestLoweredMaximum(t *testing.T) {
	t.Parallel()
	s := setUp(t, replicated(t, 10), 100)
	p := s.run(t, cluster.ProductOptions{})
	name := s.app.Services[0].Name
	limit := func(most int, guards string) {
		t.Helper()
		s.loadLine(t, v1alpha1.Act, fmt.Sprintf(shrinking+"    coolDown: {up: 0s, down: 3s}\n"+brief, 10)+guards+upTo(name, most))
	}
	limit(10, "")
	s.waitCondition(t, "Ready=True", "Active=True/Acting", "Stale=False/Fresh")
	limit(3, "")
	s.waitReplicas(t, name, 3, 3)
	steps := s.changes(t, p)
	within(t, steps)
	if len(steps) < 4 || steps[0].from != 10 {
		t.Errorf("changes %v, want several from 10 to 3", steps)
	}

	limit(10, "")
	s.waitReplicas(t, name, 10, 10)
	s.c.WaitReady(t, s.ns, name, 10)
	limit(3, "    bounds: {atOnce: true}\n")
	s.waitReplicas(t, name, 3, 3)
	cluster.Eventually(t, "the change in the log", func() error {
		if all := s.changes(t, p); all[len(all)-1] != (change{10, 3}) {
			return fmt.Errorf("changes %v, the last one should be from 10 to 3", all)
		}
		return nil
	})
}
