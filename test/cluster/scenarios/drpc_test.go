package scenarios

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// patient are guards that do not switch to the rule during a minute of overload: students learn
// to add one replica at a time.
const patient = `  guard:
    data: {maxAge: 10s, holdFor: 5s, recovery: 5s, floorAfter: 30s}
    burn: {windows: [{short: 10s, long: 20s, rate: 1000}], recovery: 20s, longestRecovery: 1m, scaleInWindow: 10s}
    coolDown: {up: 0s, down: 6s}
    observed: {window: 10s}
    starting: {patience: 20s, settle: 1s}
`

// TestDRPC follows the user's steps with a teacher and its students: train, promote, follow.
// Decisions of the one service's student arrive in the stream of the embedded server and are
// counted by the teacher; a process that is killed and restarted counts nothing twice; a new
// promotion is used, with weights of a higher version.
func TestDRPC(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 60)
	dir := t.TempDir()
	registry := filepath.Join(dir, "models", "registry")
	trainAndPromote := func(seed int) {
		t.Helper()
		file := filepath.Join(dir, fmt.Sprintf("drpc-%d.safetensors", seed))
		loadlineCommand(t, "train", "--formulation", "drpc", "--app", "single", "--workload", "diurnal:low=100,high=1200,peak=15h",
			"--duration", "1d",
			"--steps", "12000", "--evaluate-every", "3000", "--episodes", "4", "--acting-steps", "100", "--price", "0", "--seed",
			strconv.Itoa(seed), "-o", file) // with a price it moves CPU, which is not among the resource's axes
		loadlineCommand(t, "promote", file, "--force", "--registry", registry)
	}
	trainAndPromote(1)
	twin, err := os.ReadFile("../../../internal/apps/single.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.twin(t, string(twin))
	s.c.ApplyYAML(t, s.ns, mayRead)

	// Several processes without shared servers report it.
	p := s.run(t, cluster.ProductOptions{Dir: dir, Flags: []string{"--controllers", "2"}})
	s.loadLine(t, v1alpha1.Act, learned+patient)
	s.waitCondition(t, "Fallback=True/NoFleet", "Fleet=False/NoFleet")
	p.Stop()

	one := cluster.ProductOptions{Dir: dir, Flags: []string{"--controllers", "1"}}
	p = s.run(t, one)
	s.waitCondition(t, "Ready=True", "Fallback=False/Following", "Fleet=True/InReach")
	if l := s.get(t); l.Status.Policy != "single version 1" {
		t.Errorf("%s is followed", l.Status.Policy)
	}
	s.player.SetRate(150)
	s.waitReplicas(t, "server", 2, 12)
	cluster.Eventually(t, "weights that were published are in force", func() error {
		if v := metric(t, p, "loadline_fleet_weights_version"); v < 2 {
			return fmt.Errorf("version %v", v)
		}
		return nil
	})
	first := s.counted(t, p, 0)
	version := metric(t, p, "loadline_fleet_teacher_version")

	// Paused, no decision is applied, so that the counters do not change.
	p.Kill()
	p = s.run(t, one)
	s.annotate(t, s.get(t), "false")
	s.waitCondition(t, "Fleet=True/InReach", "Fallback=False/Following")
	cluster.Eventually(t, "experience of the second process", func() error {
		if n := metric(t, p, "loadline_fleet_decisions_total"); n < 1 {
			return fmt.Errorf("%v decisions", n)
		}
		return nil
	})
	second := s.counted(t, p, first)

	s.annotate(t, s.get(t), "false")
	trainAndPromote(2)
	cluster.Eventually(t, "the new promotion with weights of a higher version", func() error {
		if l := s.get(t); l.Status.Policy != "single version 2" {
			return fmt.Errorf("%s is followed", l.Status.Policy)
		}
		if v := metric(t, p, "loadline_fleet_weights_version"); v <= version {
			return fmt.Errorf("version %v, was %v", v, version)
		}
		return nil
	})
	if second <= first {
		t.Errorf("%v decisions were counted by the second process, after %v by the first", second, first)
	}
	if p.Ended() {
		t.Error("the process ended")
	}
}

// counted pauses the application and waits until the teacher has counted what was
// counted before and every decision that the server acknowledged to this process.
func (s *fixture) counted(t *testing.T, p *cluster.Product, before float64) float64 {
	t.Helper()
	s.annotate(t, s.get(t), "true")
	s.waitCondition(t, "Paused=True")
	var counted float64
	cluster.Eventually(t, "every acknowledged decision is counted once", func() error {
		sent := metric(t, p, "loadline_fleet_decisions_total")
		waiting := metric(t, p, "loadline_fleet_waiting_decisions")
		counted = metric(t, p, "loadline_fleet_teacher_counted")
		if waiting > 0 || sent < 1 || counted != before+sent {
			return fmt.Errorf("%v before, %v acknowledged, %v waiting, %v counted", before, sent, waiting, counted)
		}
		return nil
	})
	return counted
}

// metric of a process, the sum over its series.
func metric(t *testing.T, p *cluster.Product, name string) float64 {
	t.Helper()
	answer, err := http.Get("http://" + p.Metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, name+"{") {
			continue
		}
		fields := strings.Fields(line)
		v, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sum += v
	}
	return sum
}
