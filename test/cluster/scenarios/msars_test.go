package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// TestMSARS follows the user's steps with MSARS: train on an application with fixed sizes,
// since the resource allows only replicas to change, promote, follow. Its reason states the
// part of the SLO.
func TestMSARS(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 60)
	dir := t.TempDir()
	twin, err := os.ReadFile("../../../internal/apps/single.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fixed := strings.Replace(string(twin), "cpu: [100m, 4], memory: [64Mi, 2Gi]", "cpu: [1, 1], memory: [256Mi, 512Mi]", 1)
	if fixed == string(twin) {
		t.Fatal("the application's bounds are not what they were")
	}
	app, file := filepath.Join(dir, "single.yaml"), filepath.Join(dir, "msars.safetensors")
	if err := os.WriteFile(app, []byte(fixed), 0o644); err != nil {
		t.Fatal(err)
	}
	loadlineCommand(t, "train", "--formulation", "msars", "--way", "parslo", "--app", app, "--workload",
		"diurnal:low=100,high=1200,peak=15h", "--duration", "1d",
		"--steps", "6000", "--evaluate-every", "3000", "--episodes", "8", "-o", file)
	loadlineCommand(t, "promote", file, "--app", app, "--force", "--registry", filepath.Join(dir, "models", "registry"))
	s.twin(t, fixed)
	s.c.ApplyYAML(t, s.ns, mayRead)

	s.run(t, cluster.ProductOptions{Dir: dir})
	s.loadLine(t, v1alpha1.Act, learned+patient)
	s.waitCondition(t, "Ready=True", "Fallback=False/Following")
	if l := s.get(t); l.Status.Policy != "single version 1" {
		t.Errorf("%s is followed", l.Status.Policy)
	}
	s.player.SetRate(150)
	s.waitReplicas(t, "server", 2, 12)
	text := loadlineCommand(t, "explain", s.ns+"/shop", "server", "--log", filepath.Join(dir, "decisions"))
	if !strings.Contains(text, "of its part p99 ") {
		t.Errorf("explain says: %s", text)
	}
}
