package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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

// runTwo starts two processes, of which one holds the lease.
func (s *fixture) runTwo(t *testing.T) (first, second *cluster.Product) {
	t.Helper()
	first = s.run(t, cluster.ProductOptions{LeaderElect: true})
	cluster.Eventually(t, "a leader", func() error {
		if s.holder(t) == "" {
			return fmt.Errorf("the lease has no holder")
		}
		return nil
	})
	return first, s.run(t, cluster.ProductOptions{LeaderElect: true})
}

// leading is which of two processes holds the lease: on a busy machine the first may have
// failed to renew it.
func (s *fixture) leading(t *testing.T, first, second *cluster.Product) (leader, standby *cluster.Product) {
	t.Helper()
	if strings.Contains(second.Log(t), s.holder(t)+" became leader") {
		return second, first
	}
	return first, second
}

// waitOtherLeader until another process than the given holds the lease.
func (s *fixture) waitOtherLeader(t *testing.T, was string) {
	t.Helper()
	cluster.Eventually(t, "another leader", func() error {
		if now := s.holder(t); now == was || now == "" {
			return fmt.Errorf("%q holds the lease", now)
		}
		return nil
	})
}

// TestLeaderIsKilled: another process takes the lease when it has run out, after 15 s,
// and acts at its next interval; nothing is applied twice.
func TestLeaderIsKilled(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 40)
	first, second := s.runTwo(t)
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, "")
	s.waitCondition(t, "Active=True/Acting")
	s.player.SetRate(160)
	s.waitReplicas(t, name, 3, 12)

	was := s.holder(t)
	if lasts := s.lease(t).Spec.LeaseDurationSeconds; lasts == nil || *lasts != 15 {
		t.Errorf("the lease lasts %v s, want 15 s", lasts)
	}
	leader, _ := s.leading(t, first, second)
	leader.Kill()
	left := s.lease(t).Spec
	s.player.SetRate(300)
	s.waitOtherLeader(t, was)
	taken := s.lease(t).Spec
	if held := taken.AcquireTime.Sub(left.RenewTime.Time); held < 15*time.Second {
		t.Errorf("the lease was taken %v after its renewal, and lasts 15 s", held)
	}
	if n := *taken.LeaseTransitions - *left.LeaseTransitions; n != 1 {
		t.Errorf("the lease has changed hands %d times, want once", n)
	}
	s.waitReplicas(t, name, 5, 12)
	s.continuous(t, first, second)
}

var applied = regexp.MustCompile(`msg=decided .*applied=true from=(\d+) to=(\d+)`)

// continuous: every change of any process starts from the result of the one before.
func (s *fixture) continuous(t *testing.T, processes ...*cluster.Product) {
	t.Helper()
	changes := s.changes(t, processes...)
	for i, c := range changes {
		if i > 0 && c.from != changes[i-1].to {
			t.Errorf("a change from %d to %d replicas follows one from %d to %d", c.from, c.to, changes[i-1].from, changes[i-1].to)
		}
	}
	if len(changes) < 2 {
		t.Errorf("%d changes in the logs, want at least two", len(changes))
	}
}

// change of replicas, by the log of a process.
type change struct{ from, to int }

// changes of replicas that some processes have applied, one after the other.
func (s *fixture) changes(t *testing.T, processes ...*cluster.Product) []change {
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
	var list []change
	for _, line := range lines {
		m := applied.FindStringSubmatch(line)
		from, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		to, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if from != to {
			list = append(list, change{from, to})
		}
	}
	return list
}
