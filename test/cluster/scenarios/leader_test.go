package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// holder of the lease; "" = none.
func (s *fixture) holder(t *testing.T) string {
	t.Helper()
	lease := s.lease(t)
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// lease of the process that decides; nil = none yet.
func (s *fixture) lease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	var lease coordinationv1.Lease
	if err := s.admin.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: "loadline.dev"}, &lease); err != nil {
		return nil
	}
	return &lease
}

// TestLeaderIsKilled: another process takes the lease when it has run out, after 15 s,
// and acts at its next interval; nothing is applied twice.
func TestLeaderIsKilled(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 40)
	first := s.run(t, cluster.ProductOptions{LeaderElect: true})
	cluster.Eventually(t, "a leader", func() error {
		if s.holder(t) == "" {
			return fmt.Errorf("the lease has no holder")
		}
		return nil
	})
	second := s.run(t, cluster.ProductOptions{LeaderElect: true})
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, "")
	s.waitCondition(t, "Active=True/Acting")
	s.player.SetRate(160)
	s.waitReplicas(t, name, 3, 12)

	was := s.holder(t)
	if lasts := s.lease(t).Spec.LeaseDurationSeconds; lasts == nil || *lasts != 15 {
		t.Errorf("the lease lasts %v s, want 15 s", lasts)
	}
	leader := first
	if strings.Contains(second.Log(t), was+" became leader") { // on a busy machine the first may have failed to renew the lease
		leader = second
	}
	leader.Kill()
	s.player.SetRate(300)
	cluster.Eventually(t, "another leader", func() error {
		if now := s.holder(t); now == was || now == "" {
			return fmt.Errorf("%q holds the lease", now)
		}
		return nil
	})
	s.waitReplicas(t, name, 5, 12)
	s.continuous(t, first, second)
}

var applied = regexp.MustCompile(`msg=decided .*applied=true from=(\d+) to=(\d+)`)

// continuous: every change of any process starts from the result of the one before.
func (s *fixture) continuous(t *testing.T, processes ...*cluster.Product) {
	t.Helper()
	var lines []string
	for _, p := range processes {
		for line := range strings.Lines(p.Log(t)) {
			if strings.Contains(line, s.ns+"/shop") && applied.MatchString(line) {
				lines = append(lines, line)
			}
		}
	}
	slices.Sort(lines) // each begins with its time
	last := ""
	changes := 0
	for _, line := range lines {
		m := applied.FindStringSubmatch(line)
		if m[1] == m[2] {
			continue
		}
		changes++
		if last != "" && m[1] != last {
			t.Errorf("a change begins at %s replicas, the one before ended at %s: %s", m[1], last, line)
		}
		last = m[2]
	}
	if changes < 2 {
		t.Errorf("%d changes in the logs, want at least two", changes)
	}
}
