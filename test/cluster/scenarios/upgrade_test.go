package scenarios

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
	"github.com/loadline/loadline/test/cluster/binaries"
)

const nextVersion = "0.1.1-next"

// next is the product of the present sources with another version, or the one that LOADLINE_NEXT names. It is built
// once for all tests.
var next struct {
	sync.Once
	path string
	err  error
}

func nextBinary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("LOADLINE_NEXT"); path != "" {
		return path
	}
	next.Do(func() {
		root, err := binaries.Repository(".")
		if err != nil {
			next.err = err
			return
		}
		dir, err := os.MkdirTemp("", "loadline-next-")
		if err != nil {
			next.err = err
			return
		}
		next.path = filepath.Join(dir, "loadline")
		cmd := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace", "-ldflags",
			"-s -w -X main.version="+nextVersion, "-o", next.path, "./cmd/loadline")
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			next.err = fmt.Errorf("build loadline %s: %w\n%s", nextVersion, err, out)
		}
	})
	if next.err != nil {
		t.Fatal(next.err)
	}
	return next.path
}

// TestRollMovesNothing: Loadline acts under a steady load and is replaced by another version, replica by replica as
// a Deployment does it, and then by the older version again. Neither moves anything; the next change of the load is
// followed from the replicas that the version before has set, and the decision record goes on.
func TestRollMovesNothing(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 120)
	name := s.app.Services[0].Name
	dir := filepath.Join(s.c.Dir(), "roll-"+s.ns)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	var all []*cluster.Product
	start := func(program string) *cluster.Product {
		p := s.run(t, cluster.ProductOptions{LeaderElect: true, Dir: dir, Program: program})
		all = append(all, p)
		return p
	}
	leads := func(p *cluster.Product) {
		t.Helper()
		cluster.Eventually(t, "the process to lead", func() error {
			if holder := s.holder(t); holder == "" || !strings.Contains(p.Log(t), holder+" became leader") {
				return fmt.Errorf("%q holds the lease", holder)
			}
			return nil
		})
	}
	old := start("")
	leads(old)
	oldStandby := start("")
	s.loadLine(t, v1alpha1.Act, "")
	s.waitCondition(t, "Active=True/Acting")
	s.waitReplicas(t, name, 2, 12)
	steady := s.replicas(t, name)
	cluster.Eventually(t, "steady replicas", func() error {
		if now := s.replicas(t, name); now != steady {
			steady = now
			return fmt.Errorf("%d replicas", now)
		}
		before := metric(t, old, passCount)
		cluster.Eventually(t, "eight passes", func() error {
			if n := metric(t, old, passCount) - before; n < 8 {
				return fmt.Errorf("%v passes", n)
			}
			return nil
		})
		if now := s.replicas(t, name); now != steady {
			return fmt.Errorf("%d replicas", now)
		}
		return nil
	})
	roll := func(what, program string, standby, leader *cluster.Product) (newStandby, newLeader *cluster.Product) {
		t.Helper()
		generation := s.deployment(t, name).Generation
		moved := func() error {
			if d := s.deployment(t, name); d.Generation != generation {
				return fmt.Errorf("%s: the Deployment was changed: %d replicas, it had %d; status: %s", what, *d.Spec.Replicas, steady, s.why(t))
			}
			return nil
		}
		first := start(program)
		standby.Stop()
		second := start(program)
		leader.Stop()
		began := map[*cluster.Product]float64{first: metric(t, first, passCount), second: metric(t, second, passCount)}
		cluster.StaysUntil(t, what, moved, func() error {
			for p, before := range began {
				if n := metric(t, p, passCount) - before; n >= 6 {
					return nil
				}
			}
			return fmt.Errorf("the new leader has not made six passes")
		})
		lead, wait := s.leading(t, first, second)
		return wait, lead
	}
	standby, leader := roll("upgrade", nextBinary(t), oldStandby, old)
	if log := leader.Log(t); !strings.Contains(log, nextVersion) {
		t.Errorf("the new leader is not of version %s", nextVersion)
	}
	roll("downgrade", "", standby, leader)
	s.player.SetRate(300)
	s.waitReplicas(t, name, steady+1, 12)
	s.continuous(t, all...)
	if text := loadlineCommand(t, "explain", s.ns+"/shop", name, "--log", filepath.Join(dir, "decisions")); !strings.Contains(text, name) {
		t.Errorf("explain says: %s", text)
	}
}
