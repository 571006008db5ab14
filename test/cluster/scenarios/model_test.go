package scenarios

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// learned is a LoadLine with a trained policy, and the twin that it was trained on.
const learned = `  policy: {model: {folder: registry, application: single}}
  twin: {name: twin, key: twin.yaml}
  objectives: [{latency: 250ms}]
`

// mayRead lets the controller read the resource's references, as
// deploy/rbac/namespace-secrets.yaml does.
const mayRead = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: loadline-sources}
rules: [{apiGroups: [""], resources: [configmaps], resourceNames: [twin], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: loadline-sources}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: loadline-sources}
subjects: [{kind: ServiceAccount, name: loadline, namespace: loadline-system}]
`

// twin is what the resource names as the model of its application.
func (s *fixture) twin(t *testing.T, text string) {
	t.Helper()
	s.c.ApplyYAML(t, s.ns, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: twin}\ndata:\n  twin.yaml: |\n%s", indent(text)))
}

// TestModel follows the user's steps: train, evaluate, promote, follow. A model file that is
// torn while in use only causes an Event; a process that starts then uses the rule; and a new
// promotion is used without a restart.
func TestModel(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 60)
	dir := t.TempDir()
	run, registry := filepath.Join(dir, "run"), filepath.Join(dir, "models", "registry")
	loadlineCommand(t, "train", "--app", "single", "--workload", "diurnal:low=20,high=100,peak=15h", "--duration", "1d", "--candidates",
		"1", "--methods", "loadline-dqn", "--steps", "4000", "-o", run)
	evaluate(t, run, "--seeds", "1", "--stretch", "10m", "--neighbours", "use=0")
	loadlineCommand(t, "promote", run, "--candidate", "loadline-dqn-1", "--force", "--registry", registry)
	twin, err := os.ReadFile(filepath.Join(run, "twin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.twin(t, string(twin))

	p := s.run(t, cluster.ProductOptions{Dir: dir})
	s.loadLine(t, v1alpha1.Act, learned)
	s.waitCondition(t, "Ready=False/Forbidden")
	s.c.ApplyYAML(t, s.ns, mayRead)
	s.waitCondition(t, "Ready=True", "Fallback=False/Following")
	if l := s.get(t); l.Status.Policy != "single version 1" {
		t.Errorf("%s is followed", l.Status.Policy)
	}
	s.player.SetRate(160)
	s.waitReplicas(t, "server", 2, 12)
	cluster.Eventually(t, "the twin's expectation in the record", func() error {
		text, err := loadlineTry(t, "explain", s.ns+"/shop", "server", "--log", filepath.Join(dir, "decisions"))
		if err != nil || !strings.Contains(text, "expect p99 ") {
			return fmt.Errorf("explain says: %s %v", text, err)
		}
		return nil
	})

	model := filepath.Join(registry, "single", "0001", "model.safetensors")
	if err := os.Truncate(model, 1000); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "an Event that tells of the torn file", func() error {
		for _, e := range s.events(t, "Model") {
			if strings.Contains(e.Message, "stays in use") {
				return nil
			}
		}
		return fmt.Errorf("there is none")
	})
	// It is still followed. If the LoadLine was restarted meanwhile, since a write of its status took
	// too long, the torn file is noticed as after the restart below.
	cluster.Eventually(t, "the model to be followed, or found to be invalid", func() error {
		c := meta.FindStatusCondition(s.get(t).Status.Conditions, v1alpha1.ConditionFallback)
		if c == nil || c.Reason != "Following" && c.Reason != "ModelInvalid" {
			return fmt.Errorf("Fallback is %+v", c)
		}
		return nil
	})
	p.Stop()
	p = s.run(t, cluster.ProductOptions{Dir: dir})
	s.waitCondition(t, "Ready=True", "Fallback=True/ModelInvalid")
	loadlineCommand(t, "promote", run, "--candidate", "loadline-dqn-1", "--force", "--registry", registry)
	s.waitCondition(t, "Fallback=False/Following")
	if l := s.get(t); l.Status.Policy != "single version 2" {
		t.Errorf("%s is followed", l.Status.Policy)
	}
	if p.Ended() {
		t.Error("the process ended")
	}
}

// evaluate a run, and return what is printed. Any verdict will do: it is the exit code.
func evaluate(t *testing.T, run string, flags ...string) string {
	t.Helper()
	out, err := loadlineTry(t, append([]string{"evaluate", run}, flags...)...)
	var ended *exec.ExitError
	if err != nil && (!errors.As(err, &ended) || !slices.Contains([]int{3, 4, 5}, ended.ExitCode())) {
		t.Fatal(err)
	}
	if err != nil {
		return err.Error() // it has the output
	}
	return out
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}
