package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// nodeStart is how long a node of the test's pool takes to come.
const nodeStart = 20 * time.Second

// TestBurstOnANodePool: the load jumps beyond what the first node holds, and another node comes
// only after its start. While pods wait for it, the planner keeps to what the load needs; once they
// are ready the SLO is met.
func TestBurstOnANodePool(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{Nodes: []cluster.Node{
		{Name: "first", Cores: 2, Memory: 8 << 30}, {Name: "second", Cores: 4, Memory: 16 << 30}, {Name: "third", Cores: 4, Memory: 16 << 30},
	}})
	c.InstallLoadline(t)
	admin := c.Client(t, cluster.Admin)
	for _, name := range []string{"second", "third"} {
		cordon(t, admin, name, true)
	}
	s := setUpIn(t, c, c.Namespace(t), single(t), 60)
	s.run(t, cluster.ProductOptions{})
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, "  policy: {baseline: \"planner:period=2s,down-window=30s\"}\n")
	s.waitCondition(t, "Ready=True/Deciding", "Active=True/Acting", "Fallback=False/Following")

	const most = 8 // 2.5 cores, a margin of at most half, and the growth of the last minute
	s.player.SetRate(250)
	cluster.Eventually(t, "a pod that no node has room for", func() error { return s.waiting(t) })
	came := time.Now().Add(nodeStart)
	cluster.StaysUntil(t, fmt.Sprintf("at most %d replicas until a node has come", most), func() error {
		if n := s.replicas(t, name); n > most {
			return fmt.Errorf("%d replicas; status: %s", n, s.why(t))
		}
		return nil
	}, func() error {
		if time.Now().Before(came) {
			return errors.New("it has not come")
		}
		return nil
	})
	for _, node := range []string{"second", "third"} {
		cordon(t, admin, node, false)
	}
	s.c.WaitReady(t, s.ns, name, -1)
	cluster.Eventually(t, "ten seconds with at most 1 % of requests over the SLO", func() error {
		if over := s.over(t, func() { time.Sleep(10 * time.Second) }); over > 0.01 {
			return fmt.Errorf("%.2f %% of requests are over the SLO; status: %s", 100*over, s.why(t))
		}
		return nil
	})
	if st := s.service(t, name); st.Wanted == nil || st.Wanted.Replicas == nil || *st.Wanted.Replicas < 3 {
		t.Errorf("the planner wants %+v for 2.5 cores of requests", st.Wanted)
	}
}

// waiting has no error if a pod of the fixture waits for a node.
func (s *fixture) waiting(t *testing.T) error {
	t.Helper()
	var pods corev1.PodList
	if err := s.admin.List(t.Context(), &pods, client.InNamespace(s.ns)); err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if slices.ContainsFunc(pods.Items[i].Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
		}) {
			return nil
		}
	}
	return fmt.Errorf("%d pods, none of them unschedulable; status: %s", len(pods.Items), s.why(t))
}

// cordon keeps pods off a node, or lets them in.
func cordon(t *testing.T, admin client.Client, name string, keep bool) {
	t.Helper()
	var node corev1.Node
	if err := admin.Get(t.Context(), types.NamespacedName{Name: name}, &node); err != nil {
		t.Fatal(err)
	}
	changed := node.DeepCopy()
	changed.Spec.Unschedulable = keep
	if err := admin.Patch(t.Context(), changed, client.MergeFrom(&node)); err != nil {
		t.Fatal(err)
	}
}
