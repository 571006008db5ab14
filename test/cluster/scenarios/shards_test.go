package scenarios

import (
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// TestAShardIsKilled: two shards with a process each, and a standby of both. Every LoadLine is run by one shard. When
// the shard of an application that is under load is killed, its standby goes on where it ended after the lease has; the
// other shard never touches it.
func TestAShardIsKilled(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 40)
	name := s.app.Services[0].Name
	start := func(shard, shards int) *cluster.Product {
		return s.run(t, cluster.ProductOptions{LeaderElect: true, Flags: []string{"--shards", fmt.Sprint(shards), "--shard", fmt.Sprint(shard)}})
	}
	holder := func(shard int) string {
		t.Helper()
		lease := "loadline.dev"
		if shard > 0 {
			lease += fmt.Sprintf(".shard-%d", shard)
		}
		var l coordinationv1.Lease
		if err := s.admin.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: lease}, &l); err != nil || l.Spec.HolderIdentity == nil {
			return ""
		}
		return *l.Spec.HolderIdentity
	}
	processes := []*cluster.Product{start(0, 2), start(1, 2)}
	for shard := range 2 {
		cluster.Eventually(t, fmt.Sprintf("a holder of the lease of shard %d", shard), func() error {
			if holder(shard) == "" {
				return fmt.Errorf("none")
			}
			return nil
		})
	}
	standbys := []*cluster.Product{start(0, 2), start(1, 2)}
	s.loadLine(t, v1alpha1.Act, "")
	s.waitCondition(t, "Active=True/Acting")
	ran := func(p *cluster.Product) bool { return strings.Contains(p.Log(t), "LoadLine started") }
	owner := 0
	if ran(processes[1]) {
		owner = 1
	}
	if ran(processes[0]) == ran(processes[1]) {
		t.Fatalf("the LoadLine was started by shard 0: %v, by shard 1: %v", ran(processes[0]), ran(processes[1]))
	}
	other := 1 - owner
	s.player.SetRate(160)
	s.waitReplicas(t, name, 3, 12)

	was := holder(owner)
	processes[owner].Kill()
	s.player.SetRate(300)
	cluster.Eventually(t, "the standby to take the lease", func() error {
		if now := holder(owner); now == was || now == "" {
			return fmt.Errorf("%q holds the lease", now)
		}
		return nil
	})
	s.waitReplicas(t, name, 5, 12)
	if !ran(standbys[owner]) {
		t.Error("the standby has not started the LoadLine")
	}
	if ran(processes[other]) || ran(standbys[other]) {
		t.Error("the other shard has started the LoadLine")
	}
	s.continuous(t, processes[owner], standbys[owner])
}
