package scenarios

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/test/cluster"
)

// fixed is a LoadLine that sets a number of replicas at once: the guards that would
// delay it are off.
const fixed = `  policy: {baseline: "static:period=1s,replicas=%d"}
  fallback: static
  interval: 1s
  guard:
    without: [disagreement, observed, starting, burning, gray, cool-down, step]
    data: {maxAge: 10s, holdFor: 5s, recovery: 5s, floorAfter: 10m}
`

// TestSuspendedLeader: a leader that is suspended and resumes after another has taken
// over changes nothing, and ends; the workload keeps the replicas of its successor.
func TestSuspendedLeader(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 40)
	first, second := s.runTwo(t)
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf(fixed, 7))
	s.waitReplicas(t, name, 7, 7)

	was := s.holder(t)
	leader, standby := s.leading(t, first, second)
	leader.Suspend()
	before := len(leader.Log(t))
	s.waitOtherLeader(t, was)
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf(fixed, 3))
	s.waitReplicas(t, name, 3, 3)
	successors := s.deployment(t, name)
	leader.Resume()
	s.staysFor(t, standby, 10, name, 3)
	cluster.Eventually(t, "the end of the former leader", func() error {
		if !leader.Ended() {
			return fmt.Errorf("it runs")
		}
		return nil
	})
	if log := leader.Log(t)[before:]; applied.MatchString(log) {
		t.Errorf("it applied a change after it had resumed:\n%s", log)
	}
	s.staysFor(t, standby, 3, name, 3)
	if d := s.deployment(t, name); d.Generation != successors.Generation {
		t.Errorf("the workload was written %d times after the former leader had resumed", d.Generation-successors.Generation)
	}
	if now := s.holder(t); now == was || now == "" {
		t.Errorf("the lease is held by %q", now)
	}
}

// TestOnceNeedsTheLease: a single pass does not act together with a controller. It
// waits for the lease, and releases it.
func TestOnceNeedsTheLease(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 40)
	p := s.run(t, cluster.ProductOptions{LeaderElect: true})
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf(fixed, 3))
	s.waitReplicas(t, name, 3, 3)
	kubeconfig, err := s.c.Kubeconfig(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	once := func(wait string) (string, error) {
		return loadlineTry(t, "run", "--once", "--kubeconfig", kubeconfig, "--namespaces", s.ns, "--lease-namespace", s.ns, "--lease-wait", wait)
	}
	if text, err := once("3s"); err == nil || !strings.Contains(fmt.Sprint(text, err), s.holder(t)+" holds the lease") {
		t.Errorf("while a controller runs it says: %s %v", text, err)
	}
	p.Stop()
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf(fixed, 5))
	cluster.Eventually(t, "a pass that acts", func() error {
		if text, err := once("30s"); err != nil {
			return fmt.Errorf("it says: %s %v", text, err)
		}
		if n := s.replicas(t, name); n != 5 {
			return fmt.Errorf("%d replicas; status: %s", n, s.why(t))
		}
		return nil
	})
	if holder := s.holder(t); holder != "" {
		t.Errorf("the lease is held by %s afterwards", holder)
	}
}

// TestKEDAInRecommend: Loadline's trigger does not hold the replicas in a mode that
// does not act. KEDA uses its fallback.
func TestKEDAInRecommend(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 20)
	s.c.KEDA(t)
	p := s.run(t, cluster.ProductOptions{})
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf(wanted, 3))
	s.c.ApplyYAML(t, s.ns, fmt.Sprintf(follower, p.KEDA))
	s.waitReplicas(t, "server", 3, 3)
	s.loadLine(t, v1alpha1.Recommend, fmt.Sprintf(wanted, 3))
	s.waitCondition(t, "Active=False/Recommending")
	s.waitReplicas(t, "server", 6, 6)
	if events := s.events(t, "NotScaled"); len(events) > 0 {
		t.Errorf("with a fallback: %+v", events)
	}
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf(wanted, 3))
	s.waitReplicas(t, "server", 3, 3)
}

// TestKEDAInRecommendWithoutFallback: the replicas stay, and an Event says that nothing
// scales the service. (The object has no fallback from the start: KEDA 2.21 ends with a
// nil pointer if a fallback is removed while it is in use.)
func TestKEDAInRecommendWithoutFallback(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 20)
	s.c.KEDA(t)
	p := s.run(t, cluster.ProductOptions{})
	alone := strings.Replace(follower, "  fallback: {failureThreshold: 3, replicas: 6, behavior: currentReplicasIfHigher}\n", "", 1)
	// On a machine without CPU to spare KEDA has taken a failed reading for inactivity, and scaled to zero.
	alone = strings.Replace(alone, "minReplicaCount: 0", "minReplicaCount: 1", 1)
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf(wanted, 4))
	s.c.ApplyYAML(t, s.ns, fmt.Sprintf(alone, p.KEDA))
	s.waitReplicas(t, "server", 4, 4)
	s.loadLine(t, v1alpha1.Recommend, fmt.Sprintf(wanted, 3))
	cluster.Eventually(t, "an Event", func() error {
		if len(s.events(t, "NotScaled")) == 0 {
			return fmt.Errorf("there is none")
		}
		return nil
	})
	cluster.Stays(t, 8*time.Second, "the replicas", func() error {
		if n := s.replicas(t, "server"); n != 4 {
			return fmt.Errorf("%d replicas", n)
		}
		return nil
	})
}

// TestKEDAWhilePaused: a pause keeps the replicas where they are. KEDA gets the present number,
// and neither its fallback nor the policy's proposal.
func TestKEDAWhilePaused(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 20)
	s.c.KEDA(t)
	p := s.run(t, cluster.ProductOptions{})
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf(wanted, 3))
	s.c.ApplyYAML(t, s.ns, fmt.Sprintf(follower, p.KEDA))
	s.waitReplicas(t, "server", 3, 3)
	s.annotate(t, s.get(t), "true")
	s.waitCondition(t, "Paused=True/PausedByAnnotation", "Active=False/Paused")
	s.loadLine(t, v1alpha1.Act, fmt.Sprintf(wanted, 8))
	s.waitWanted(t, "server", 8, 8)
	s.staysFor(t, p, 12, "server", 3) // KEDA asks every second, as often as the controller decides
	s.annotate(t, s.get(t), "false")
	s.waitReplicas(t, "server", 8, 8)
}

// TestStaleDecisionsAreRefused: two processes with the same permissions and the same
// field manager decide on the same state. The API server accepts the first decision
// and refuses the second; changes of the status or of labels refuse none.
func TestStaleDecisionsAreRefused(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t)
	c.InstallLoadline(t)
	ns, app := c.Namespace(t), single(t)
	app.Services[0].Replicas = 3
	c.Deploy(t, ns, app)
	name, admin := app.Services[0].Name, c.Client(t, cluster.Admin)
	bounds := &v1alpha1.QuantityBounds{Min: resource.MustParse("1m"), Max: resource.MustParse("4")}
	service := &v1alpha1.Service{
		Name: name, TargetRef: v1alpha1.TargetRef{Name: name}, Bounds: v1alpha1.Bounds{CPU: bounds},
		Axes: []v1alpha1.Axis{v1alpha1.Horizontal, v1alpha1.VerticalRequests, v1alpha1.VerticalLimits},
	}
	process := func() *kube.Workloads {
		return kube.New(kube.Options{Client: c.Client(t, cluster.Loadline), Namespace: ns, Services: []*v1alpha1.Service{service},
			Names: []string{name}})
	}
	look := func(w *kube.Workloads) {
		t.Helper()
		if states, err := w.Look(t.Context()); err != nil || states[0].Err != nil || len(states[0].Pods) != 3 {
			t.Fatalf("%+v, %v", states, err)
		}
	}
	label := func(o client.Object) {
		t.Helper()
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"touched":"yes"}}}`))
		if err := admin.Patch(t.Context(), o, patch); err != nil {
			t.Fatal(err)
		}
	}
	stale, leader := process(), process()

	look(stale)
	look(leader)
	half := loadline.Setting{CPURequest: loadline.Some(0.5), CPULimit: loadline.Some(0.5)}
	for _, pod := range c.Pods(t, ns, name) {
		label(&pod)
	}
	resized, err := leader.Resize(t.Context(), 0, half, kube.Resizing{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range resized {
		if o.Result != kube.InProgress {
			t.Errorf("the leader's resize after a change of labels: %+v", o)
		}
	}
	tiny := loadline.Setting{CPURequest: loadline.Some(0.01), CPULimit: loadline.Some(0.01)}
	if resized, err = stale.Resize(t.Context(), 0, tiny, kube.Resizing{}); err != nil {
		t.Fatal(err)
	}
	for _, o := range resized {
		if o.Result != kube.Waiting {
			t.Errorf("the stale resize: %+v", o)
		}
	}
	for _, pod := range c.Pods(t, ns, name) {
		if cpu := pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue(); cpu != 500 {
			t.Errorf("pod %s requests %d m", pod.Name, cpu)
		}
	}

	label(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}})
	if err := leader.Scale(t.Context(), 0, 3, 7); err != nil {
		t.Errorf("the leader's decision after a change of labels: %v", err)
	}
	if err := stale.Scale(t.Context(), 0, 3, 2); !errors.Is(err, kube.ErrChanged) {
		t.Errorf("the stale decision: %v", err)
	}
	if err := leader.Scale(t.Context(), 0, 7, 3); err != nil {
		t.Errorf("the leader's next decision: %v", err)
	}
	if err := stale.Scale(t.Context(), 0, 3, 2); !errors.Is(err, kube.ErrChanged) {
		t.Errorf("the stale decision, with the number that it was based on: %v", err)
	}
	var d appsv1.Deployment
	if err := admin.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: name}, &d); err != nil || *d.Spec.Replicas != 3 {
		t.Errorf("%d replicas, %v", *d.Spec.Replicas, err)
	}
}
