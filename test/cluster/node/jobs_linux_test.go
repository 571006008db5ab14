package node

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/test/cluster"
	"github.com/loadline/loadline/test/cluster/binaries"
)

// productImage is made by make node-image.
const productImage = "loadline.dev/loadline:node"

// importProduct loads the product's image and returns its program, so that the driver is of the same build.
func importProduct(t *testing.T) string {
	t.Helper()
	path, err := binaries.Repository(filepath.Join("out", "loadline-node.tar"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("there is no image %s: make test-node makes it", path)
	}
	root := t.TempDir()
	for _, args := range [][]string{{"images", "import", path}, {"images", "mount", productImage, root}} {
		args = append([]string{"-a", "/run/containerd-node.sock", "-n", "k8s.io"}, args...)
		if out, err := exec.Command("ctr", args...).CombinedOutput(); err != nil {
			t.Fatalf("ctr %v: %v: %s", args, err, out)
		}
	}
	t.Cleanup(func() { _ = exec.Command("umount", root).Run() })
	return filepath.Join(root, "loadline")
}

// A comparison is divided between two real pods. The process of one is killed, Kubernetes retries it, and
// the results are those of one process outside.
func TestBenchInRealPods(t *testing.T) {
	if missing == "" {
		if path, err := binaries.Repository(filepath.Join("out", "loadline-node.tar")); err == nil {
			if _, err := os.Stat(path); err != nil {
				t.Skipf("there is no image %s: make test-node makes it", path)
			}
		}
	}
	n := Start(t)
	program := importProduct(t)
	ns := n.Namespace(t)
	volume := n.HostVolume(t, "jobs")
	if err := os.Chown(volume, 65532, 65532); err != nil { // no fsGroup on a hostPath
		t.Fatal(err)
	}
	for dir := volume; dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o055 != 0o055 {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	kubeconfig, err := n.Kubeconfig(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	comparison := []string{"bench", "--app", "single", "--workload", "diurnal:low=20,high=60,period=1h", "--duration", "2h", "--policy", "hpa",
		"--policy", "kpa:target=4", "--policy", "hpa@calibrated", "--seeds", "6", "--out", "out"}
	there, here := t.TempDir(), t.TempDir()
	driver := exec.Command(program, append(slices.Clone(comparison), "--on", "kubernetes", "--on-workers", "2", "--on-image", productImage,
		"--on-namespace", ns, "--on-kubeconfig", kubeconfig, "--on-cpu", "300m", "--on-memory", "256Mi", "--on-keep")...)
	var said bytes.Buffer
	driver.Dir, driver.Stdout, driver.Stderr = there, &said, &said
	if err := driver.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- driver.Wait() }()
	cluster.Eventually(t, "two workers and the first runs", func() error {
		if len(ended) > 0 {
			t.Fatalf("the driver has ended: %v\n%s", <-ended, said.String())
		}
		files, _ := filepath.Glob(filepath.Join(volume, "*", "job-results", "runs", "*.json"))
		if workers := workersOf(t, n, ns); len(workers) != 2 || len(files) < 2 {
			return fmt.Errorf("%d workers run, %d runs are finished", len(workers), len(files))
		}
		return nil
	})
	kill(t, workersOf(t, n, ns)[0])
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	var jobs batchv1.JobList
	if err := n.Client(t, cluster.Admin).List(t.Context(), &jobs, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	if len(jobs.Items) != 1 || jobs.Items[0].Status.Failed != 1 || jobs.Items[0].Status.Succeeded != 2 {
		t.Errorf("want a Job with one pod that failed and two that succeeded: %+v", jobs.Items)
	}
	alone := exec.Command(program, comparison...)
	alone.Dir = here
	if out, err := alone.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	compare(t, filepath.Join(here, "out"), filepath.Join(there, "out"))
}

// compare two folders of results, but for the CPU time of decisions.
func compare(t *testing.T, here, there string) {
	t.Helper()
	var texts []string
	for _, dir := range []string{here, there} {
		r, err := bench.ReadResults(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Rows {
			delete(r.Rows[i].Measures, bench.DecisionUs)
			delete(r.Rows[i].Against, bench.DecisionUs)
		}
		var b strings.Builder
		if err := r.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, b.String())
	}
	if texts[0] != texts[1] {
		t.Errorf("the results of the pods differ from those of one process:\n%s\n%s", texts[1], texts[0])
	}
}

// workersOf a Job that are running.
func workersOf(t *testing.T, n *Node, ns string) (running []corev1.Pod) {
	t.Helper()
	var pods corev1.PodList
	if err := n.Client(t, cluster.Admin).List(t.Context(), &pods, client.InNamespace(ns), client.MatchingLabels{"loadline.dev/job-role": "worker"}); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		if p.Status.Phase == corev1.PodRunning {
			running = append(running, p)
		}
	}
	return running
}

// kill the process of a pod's container, as the kernel does when memory is short.
func kill(t *testing.T, pod corev1.Pod) {
	t.Helper()
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	out, err := exec.Command("ctr", "-a", "/run/containerd-node.sock", "-n", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", id).CombinedOutput()
	if err != nil {
		t.Fatalf("kill pod %s: %v: %s", pod.Name, err, out)
	}
}
