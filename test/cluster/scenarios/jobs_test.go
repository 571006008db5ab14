package scenarios

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/test/cluster"
)

// researcher may what deploy/optional/jobs.yaml allows in the namespace of the Jobs, and no more.
var researcher = cluster.User{Name: "researcher"}

const (
	jobImage    = "loadline.dev/loadline:test"
	brokenImage = "loadline.dev/other:1"
)

// jobsWorld is a control plane with one node whose pods are processes of the product.
type jobsWorld struct {
	c          *cluster.Cluster
	node       *cluster.ProcessNode
	namespace  string
	volume     string
	kubeconfig string
}

func newJobsWorld(t *testing.T) *jobsWorld {
	c := cluster.Start(t, cluster.Options{NoNodes: true, Users: []cluster.User{researcher}})
	w := &jobsWorld{c: c, namespace: c.Namespace(t), volume: c.HostVolume(t, "jobs")}
	product := cluster.Binary(t)
	broken := filepath.Join(t.TempDir(), "broken")
	script := "#!/bin/sh\nif [ \"$2\" = work ]; then echo \"loadline: this build is another\" >&2; exit 2; fi\nexec " + product + " \"$@\"\n"
	if err := os.WriteFile(broken, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	w.node = c.ProcessNode(t, "worker", map[string]string{jobImage: product, brokenImage: broken})
	var err error
	if w.kubeconfig, err = c.Kubeconfig(researcher); err != nil {
		t.Fatal(err)
	}
	c.ApplyFile(t, w.namespace, "../../../deploy/optional/jobs.yaml")
	c.ApplyYAML(t, w.namespace, `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: researcher}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: loadline-jobs}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: researcher}]
`)
	return w
}

// comparison is long enough to be killed in the middle of: calibrations, and runs of an hour.
var comparison = []string{"bench", "--app", "shop.yaml", "--workload", "diurnal:low=20,high=60,period=1h", "--duration", "2h", "--policy", "hpa",
	"--policy", "kpa:target=4", "--policy", "hpa@calibrated", "--seeds", "8"}

// command of the product in a folder.
func command(t *testing.T, dir string, args ...string) (*exec.Cmd, output) {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "output")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	c := exec.Command(cluster.Binary(t), args...)
	c.Dir, c.Stdout, c.Stderr = dir, file, file
	return c, output(file.Name())
}

// output is the file of what a command has written.
type output string

func (o output) String() string {
	text, err := os.ReadFile(string(o))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (w *jobsWorld) onCluster(t *testing.T, dir, image string, more ...string) (*exec.Cmd, output) {
	t.Helper()
	args := slices.Concat(comparison, []string{"--out", "out", "--on", "kubernetes", "--on-workers", "2", "--on-image", image, "--on-namespace",
		w.namespace, "--on-kubeconfig", w.kubeconfig}, more)
	return command(t, dir, args...)
}

// folder with the application's model.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	show, out := command(t, dir, "apps", "show", "single", "--output", "yaml")
	if err := show.Run(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// repeatable is results.json without the one figure that no two runs share: the CPU time of decisions.
func repeatable(t *testing.T, dir string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "out", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, row := range all["rows"].([]any) {
		for _, of := range []string{"measures", "against"} {
			if m, found := row.(map[string]any)[of].(map[string]any); found {
				delete(m, "decision_us")
			}
		}
	}
	if text, err = json.MarshalIndent(all, "", " "); err != nil {
		t.Fatal(err)
	}
	return text
}

// TestBenchAsAJob: two workers share a comparison. The driver is interrupted and started again, one worker
// is killed and retried by Kubernetes, and the results are those of one process on this machine.
func TestBenchAsAJob(t *testing.T) {
	w := newJobsWorld(t)
	dir := folder(t)
	driver, out := w.onCluster(t, dir, jobImage)
	if err := driver.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- driver.Wait() }()
	running := func() (workers []string) {
		for _, name := range w.node.Running(w.namespace) {
			if !strings.HasSuffix(name, "-files") {
				workers = append(workers, name)
			}
		}
		return workers
	}
	made := func() int {
		files, _ := filepath.Glob(filepath.Join(w.volume, "*", "job-results", "runs", "*.json"))
		return len(files)
	}
	cluster.Eventually(t, "two workers and the first runs", func() error {
		if len(ended) > 0 {
			t.Fatalf("the driver has ended: %v\n%s", <-ended, out)
		}
		if n := len(running()); n != 2 || made() < 2 {
			return fmt.Errorf("%d workers, %d runs; the driver says: %s", n, made(), out)
		}
		return nil
	})
	if err := driver.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := <-ended; !errors.As(err, &exit) || exit.ExitCode() != 130 || !strings.Contains(out.String(), "the same command finds it") {
		t.Fatalf("an interrupted driver: %v\n%s", err, out)
	}
	w.node.Kill(t, running()[0])
	driver, out = w.onCluster(t, dir, jobImage, "--on-keep")
	if err := driver.Run(); err != nil {
		t.Fatalf("the driver that found the Job: %v\n%s", err, out)
	}
	if !strings.Contains(out.String(), "is found again") {
		t.Errorf("the driver says nothing of the Job that it found: %s", out)
	}
	var jobs batchv1.JobList
	if err := w.c.Client(t, cluster.Admin).List(t.Context(), &jobs, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	if len(jobs.Items) != 1 || jobs.Items[0].Status.Failed != 1 || jobs.Items[0].Status.Succeeded != 2 {
		t.Errorf("want one Job with a pod that failed and two that succeeded: %+v", jobs.Items)
	}
	alone := folder(t)
	here, said := command(t, alone, append(slices.Clone(comparison), "--out", "out")...)
	if err := here.Run(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if got, want := repeatable(t, dir), repeatable(t, alone); !bytes.Equal(got, want) {
		t.Errorf("the results of the Job differ from those of one process:\n%s\n%s", got, want)
	}
	count := func(dir string) int {
		files, _ := filepath.Glob(filepath.Join(dir, "out", "runs", "*.json"))
		return len(files)
	}
	if count(dir) != 24 || count(alone) != 24 {
		t.Errorf("%d runs, %d by one process, want 24", count(dir), count(alone))
	}

	// Without --on-keep everything goes with the Job.
	driver, out = w.onCluster(t, dir, jobImage)
	if err := driver.Run(); err != nil {
		t.Fatalf("the driver that found the finished Job: %v\n%s", err, out)
	}
	w.gone(t)
}

// gone waits until nothing of a Job is left.
func (w *jobsWorld) gone(t *testing.T) {
	t.Helper()
	cluster.Eventually(t, "the Job, its pods and its claim to go", func() error {
		for _, list := range []client.ObjectList{&batchv1.JobList{}, &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}} {
			if err := w.c.Client(t, cluster.Admin).List(t.Context(), list, client.InNamespace(w.namespace)); err != nil {
				return err
			}
			if text, err := json.Marshal(list); err != nil || !bytes.Contains(text, []byte(`"items":[]`)) && !bytes.Contains(text, []byte(`"items":null`)) {
				return fmt.Errorf("%T is left: %.300s, %v", list, text, err)
			}
		}
		return nil
	})
}

// TestAJobOfAnotherBuildFailsAtOnce: it is not retried, and the driver gives the pod's reason.
func TestAJobOfAnotherBuildFailsAtOnce(t *testing.T) {
	w := newJobsWorld(t)
	driver, out := w.onCluster(t, folder(t), brokenImage)
	done := make(chan error, 1)
	go func() { done <- driver.Run() }()
	var err error
	select {
	case err = <-done:
	case <-time.After(10 * time.Minute):
		_ = driver.Process.Kill()
		t.Fatalf("the driver waits: %s", out)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("%v", err)
	}
	for _, want := range []string{"failed", "exit code 2", "this build is another"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in: %s", want, out)
		}
	}
	w.gone(t)
}
